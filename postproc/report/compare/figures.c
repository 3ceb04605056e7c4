/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/compare/figures.h"

#include <math.h>
#include <string.h>

#include "report/model/coherence.h"
#include "report/model/communication_view.h"
#include "report/model/flow_totals.h"

/* Quantiles of Student's t at 97.5 %, by degrees of freedom from 1 on; beyond: nearly the normal.
 */
static double student(size_t freedom)
{
    static const double quantiles[] = {12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
                                       2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
                                       2.131, 2.120, 2.110, 2.101, 2.093, 2.086};
    size_t count = sizeof(quantiles) / sizeof(*quantiles);

    return freedom <= count ? quantiles[freedom - 1] : 2.086;
}

struct figure figure_divided(struct figure figure, double by)
{
    figure.value.value /= by;
    figure.value.lo /= by;
    figure.value.hi /= by;
    return figure;
}

/* Emulated and simulated runs take the time of their engine. */
static bool runs_by_itself(const struct profile *profile)
{
    const char *engine = profile_run_text(profile, "engine", "");

    return strcmp(engine, "exact") != 0 && strcmp(engine, "simulate") != 0;
}

static double time_of_file(const struct model *model, size_t profile)
{
    double sum = 0;

    if (!runs_by_itself(model->profiles[profile]))
        return 0;
    for (size_t i = 0; i < model->threads.count; i++)
        if (model->threads.items[i].profile == profile)
            sum += (double)model->threads.items[i].cpu_ns;
    return sum;
}

static struct figure time_of(struct model *model, bool per_file)
{
    double sum = 0, squares = 0, mean, half;
    size_t n = model->profile_count;

    if (model->options->region != NULL)
        return (struct figure){0};
    model_label_threads(model);
    for (size_t p = 0; p < n; p++) {
        double time = time_of_file(model, p);

        if (!(time > 0))
            return (struct figure){0};
        sum += time;
        squares += time * time;
    }
    if (!per_file)
        return (struct figure){.known = true, .value = {sum, sum, sum}};
    mean = sum / (double)n;
    if (n == 1)
        return (struct figure){.known = true, .once = true, .value = {mean, mean, mean}};
    half = student(n - 1) * sqrt(fmax(0, squares / (double)n - mean * mean) / (double)(n - 1));
    return (struct figure){.known = true, .value = {mean, fmax(0, mean - half), mean + half}};
}

static struct figure known(struct estimate value)
{
    return (struct figure){.known = isfinite(value.value), .value = value};
}

/* Transfers of the program's own code, by true and false sharing. */
static void count_transfers(struct model *model, struct run_figures *figures)
{
    struct communication_view *view = communication_view_of(model);
    struct flow_totals totals[FLOW_RUNTIME + 1];

    if (view->communication == NULL) {
        figures->why_no_transfers = view->message;
        return;
    }
    flow_totals_of(view->communication, view->place, FLOW_RUNTIME + 1, totals);
    figures->transfers = known(totals[FLOW_PROGRAM].of[MATRIX_ALL]);
    figures->true_sharing = known(totals[FLOW_PROGRAM].of[MATRIX_TRUE]);
    figures->false_sharing = known(totals[FLOW_PROGRAM].of[MATRIX_FALSE]);
}

struct figure figure_misses(const struct model *model, struct subset subset, size_t level)
{
    double bytes = (double)model->machine.caches[level].bytes;
    struct curve_point point;

    analysis_miss_ratio_curve(model->analysis, subset, &bytes, 1, &point);
    if (point.beyond)
        return (struct figure){0};
    return known(
        estimate_product(analysis_subset_accesses(model->analysis, subset), point.miss_ratio));
}

static void count_misses(struct model *model, struct run_figures *figures)
{
    struct curve_point curve[MODEL_SIZES_MAX];

    memcpy(curve, model->whole, sizeof(curve));
    coherence_add(model, curve, model->size_count);
    figures->levels = model->machine.levels;
    for (size_t i = 0; i < figures->levels; i++) {
        const struct curve_point *point = &curve[model->level_size[i]];
        const struct miss_split *split = &model->misses[i];
        struct estimate coherence;

        figures->level[i] = model->machine.caches[i].level;
        if (!point->beyond) {
            figures->miss_ratio[i] = known(point->miss_ratio);
            figures->misses[i] = known(estimate_product(model->accesses, point->miss_ratio));
        }
        if (split->beyond)
            continue;
        figures->cold[i] = known(split->cold);
        figures->capacity[i] = known(split->capacity);
        (void)coherence_of_level(model, i, &coherence);
        figures->coherence[i] = known(coherence);
    }
}

void figures_of(struct model *model, bool per_file, struct run_figures *figures)
{
    double files = per_file ? (double)model->profile_count : 1;

    memset(figures, 0, sizeof(*figures));
    figures->cpu_ns = time_of(model, per_file);
    if (!figures->cpu_ns.known)
        figures->why_no_time = model->options->region != NULL
                                   ? "CPU time is known of whole threads, not of a region"
                                   : "the engine did not measure the program's CPU time";
    figures->accesses = figure_divided(known(model->accesses), files);
    count_misses(model, figures);
    count_transfers(model, figures);
    for (size_t i = 0; i < figures->levels; i++)
        figures->misses[i] = figure_divided(figures->misses[i], files);
    figures->transfers = figure_divided(figures->transfers, files);
    figures->true_sharing = figure_divided(figures->true_sharing, files);
    figures->false_sharing = figure_divided(figures->false_sharing, files);
}

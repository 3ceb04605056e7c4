/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/kept.h"
#include "report/findings/findings.h"
#include "report/findings/modelled_pace.h"
#include "report/model/communication_view.h"
#include "report/model/shared_caches.h"

/* Sizes that stand in when nothing is known of the machine: common ones, named as assumed. */
static const struct machine common_machine = {
    .name = "assumed",
    .levels = 3,
    .caches = {{.level = 1, .bytes = 32 << 10, .line_size = 64, .ways = 8, .sharing_cpus = 1},
               {.level = 2, .bytes = 1 << 20, .line_size = 64, .ways = 16, .sharing_cpus = 1},
               {.level = 3, .bytes = 32 << 20, .line_size = 64, .ways = 16, .sharing_cpus = 0}},
};

static bool choose_machine(struct model *model, char *message, size_t size)
{
    if (model->options->machine != NULL)
        return machine_find(model->options->machine, &model->machine, message, size);
    if (machine_of_profile(model->profiles[0], &model->machine) && model->machine.levels > 0) {
        machine_take_kept_latencies(profile_run_text(model->profiles[0], "host", ""),
                                    &model->machine);
        return true;
    }
    model->machine = common_machine;
    model->machine_assumed = true;
    return true;
}

static uint32_t thread_id_of(const struct model *model, int32_t tid)
{
    for (size_t p = 0; p < model->profile_count; p++)
        for (size_t i = 0; i < model->profiles[p]->threads.count; i++)
            if (model->profiles[p]->threads.items[i].tid == tid)
                return model->profiles[p]->threads.items[i].thread_id;
    return 0;
}

/* Of several runs the one that followed the fewest lines. */
static uint32_t coarsest_rate(const struct model *model)
{
    uint32_t rate = 1;

    for (size_t p = 0; p < model->profile_count; p++)
        for (size_t i = 0; i < model->profiles[p]->histograms.count; i++)
            if (model->profiles[p]->histograms.items[i]->rate_denominator > rate)
                rate = model->profiles[p]->histograms.items[i]->rate_denominator;
    return rate;
}

static bool analyse(struct model *model, char *message, size_t size)
{
    struct analysis_options options = {.line_size = model->options->line_size,
                                       .all_bursts = model->options->all_bursts};

    if (model->options->line_size == 0 && model->options->machine != NULL &&
        model->machine.levels > 0 && line_size_is_valid(model->machine.caches[0].line_size))
        options.line_size = model->machine.caches[0].line_size;
    if (model->options->thread != 0) {
        options.thread_id = thread_id_of(model, model->options->thread);
        if (options.thread_id == 0) {
            snprintf(message, size, "%s: no thread %d in it (see --threads)",
                     model->profiles[0]->path, model->options->thread);
            return false;
        }
    }
    model->asked = options;
    model->analysis =
        analysis_create(model->profiles, model->profile_count, &options, message, size);
    if (model->analysis == NULL)
        return false;
    model->asked.like = model->analysis;
    model->exact = analysis_is_exact(model->analysis);
    model->line_rate = coarsest_rate(model);
    model->observations = model->exact ? analysis_histogram_count(model->analysis)
                                       : analysis_probe_count(model->analysis);
    modelled_paces_find(model);
    return true;
}

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

static void choose_sizes(struct model *model)
{
    double sizes[MODEL_SIZES_MAX];
    size_t count = ANALYSIS_CURVE_SIZES;

    analysis_curve_sizes(sizes);
    for (size_t i = 0; i < model->machine.levels; i++)
        sizes[count++] = (double)model->machine.caches[i].bytes;
    qsort(sizes, count, sizeof(*sizes), compare_doubles);
    for (size_t i = 0; i < count; i++)
        if (model->size_count == 0 || sizes[i] > model->sizes[model->size_count - 1])
            model->sizes[model->size_count++] = sizes[i];
    for (size_t i = 0; i < model->machine.levels; i++)
        while (model->sizes[model->level_size[i]] < (double)model->machine.caches[i].bytes)
            model->level_size[i]++;
}

/* The curve at all sizes by one question: what the analysis works out for a size serves every
 * subset. */
void model_evaluate_curve(const struct model *model, const struct analysis *analysis,
                          struct subset subset, struct curve_point whole[MODEL_SIZES_MAX],
                          struct curve_point octaves[MODEL_OCTAVES])
{
    double sizes[MODEL_SIZES_MAX + MODEL_OCTAVES];
    struct curve_point points[MODEL_SIZES_MAX + MODEL_OCTAVES];
    size_t count = 0, size = 0, octave = 0;

    memcpy(sizes, model->sizes, model->size_count * sizeof(*sizes));
    count = model->size_count;
    for (size_t i = 0; i < MODEL_OCTAVES; i++)
        sizes[count++] = ldexp(1024, (int)i);
    qsort(sizes, count, sizeof(*sizes), compare_doubles);
    analysis_miss_ratio_curve(analysis, subset, sizes, count, points);
    for (size_t i = 0; i < count; i++) {
        if (size < model->size_count && sizes[i] == model->sizes[size])
            whole[size++] = points[i];
        if (octave < MODEL_OCTAVES && sizes[i] == ldexp(1024, (int)octave))
            octaves[octave++] = points[i];
    }
}

void model_evaluate_levels(const struct model *model, const struct analysis *analysis, size_t first,
                           size_t count, struct miss_split *misses)
{
    double bytes[MACHINE_LEVELS_MAX];

    for (size_t i = 0; i < count; i++)
        bytes[i] = (double)model->machine.caches[first + i].bytes;
    analysis_misses_at(analysis, model_whole(model), bytes, count, misses);
}

/* What the engine that wrote the profile counted beside its bursts. Counts know no regions. */
static void evaluate_truth(struct model *model)
{
    struct analysis_options options = {.source = SOURCE_COUNTS,
                                       .line_size = analysis_line_size(model->analysis)};
    char message[256];
    struct analysis *truth;

    if (model->options->thread != 0)
        options.thread_id = thread_id_of(model, model->options->thread);
    if (model->exact || model->options->region != NULL ||
        !analysis_has_source(model->profiles, model->profile_count, SOURCE_COUNTS))
        return;
    truth =
        analysis_create(model->profiles, model->profile_count, &options, message, sizeof(message));
    if (truth == NULL)
        return;
    model->has_truth = true;
    model_evaluate_curve(model, truth, (struct subset){0}, model->true_whole, model->true_octaves);
    analysis_compare(model->analysis, truth, &model->comparison);
    analysis_free(truth);
}

static void evaluate_whole(struct model *model)
{
    model_evaluate_curve(model, model->analysis, model_whole(model), model->whole, model->octaves);
    model_evaluate_levels(model, model->analysis, 0, model->machine.levels, model->misses);
    model->accesses = analysis_subset_accesses(model->analysis, model_whole(model));
}

static bool code_has_function(struct model *model, size_t profile, uint64_t ip,
                              uint64_t monotonic_ns, bool after)
{
    uint32_t number = resolver_code(model->resolver, profile, ip, monotonic_ns, after);
    const struct location *location = resolver_location(model->resolver, number);

    for (size_t i = 0; i < location->frames.count; i++) {
        const char *function = location->frames.items[i].function;

        if (function != NULL && strcmp(function, model->options->region) == 0)
            return true;
    }
    return false;
}

/* Of an access whose context could not be taken the instruction is known. */
static bool context_has_function(struct model *model, size_t profile,
                                 const struct analysed_probe *probe, uint64_t monotonic_ns)
{
    const struct profile *file = model->profiles[profile];
    const struct record_context *context = profile_context(file, probe->context_id);
    bool leaf = true;

    if (context == NULL)
        return code_has_function(model, profile, probe->ip, monotonic_ns, false);
    for (; context != NULL; context = profile_context(file, context->parent_id)) {
        if (code_has_function(model, profile, context->ip, monotonic_ns, !leaf))
            return true;
        leaf = false;
    }
    return false;
}

static bool span_is_named(const struct model *model, size_t profile, uint32_t region_id)
{
    const struct record_region *region =
        region_id ? profile_region(model->profiles[profile], region_id) : NULL;

    return region != NULL && strcmp(region->name, model->options->region) == 0;
}

/* Probes: any frame of the context is in the function, or the program said so itself. */
static size_t label_sampled_region(struct model *model)
{
    struct intern_table *contexts = intern_table_create();
    ARRAY(bool) inside = {0};
    size_t found = 0;

    for (size_t i = 0; i < model->observations; i++) {
        struct {
            size_t profile;
            uint64_t context, ip;
        } key = {0};
        const struct analysed_probe *probe = analysis_probe(model->analysis, i, &key.profile);
        const struct record_burst *burst = analysis_probe_burst(model->analysis, i);
        uint32_t number;

        key.context = probe->context_id;
        key.ip = probe->context_id == 0 ? probe->ip : 0;
        number = intern_table_insert(contexts, &key, sizeof(key));
        if (number == inside.count)
            ARRAY_PUSH(&inside,
                       context_has_function(model, key.profile, probe, burst->monotonic_ns));
        bool within = inside.items[number] || span_is_named(model, key.profile, burst->region_id);

        model->region[i] = within ? 0 : GROUP_NONE;
        found += within;
    }
    free(inside.items);
    intern_table_free(contexts);
    return found;
}

/* Exact profiles: the histograms that were taken for the region. */
static size_t label_exact_region(struct model *model)
{
    size_t found = 0;

    for (size_t i = 0; i < model->observations; i++) {
        size_t profile;
        const struct record_histogram *histogram = analysis_histogram(model->analysis, i, &profile);
        const struct record_region *region =
            histogram->scope == SCOPE_REGION
                ? profile_region(model->profiles[profile], (uint32_t)histogram->key)
                : NULL;
        bool inside = region != NULL && strcmp(region->name, model->options->region) == 0;

        model->region[i] = inside ? 0 : GROUP_NONE;
        model->region_is_split |= span_is_named(model, profile, histogram->region_id);
        found += inside;
    }
    return found;
}

static bool label_region(struct model *model, char *message, size_t size)
{
    size_t found;

    if (model->options->region == NULL)
        return true;
    model->region = allocate_zeroed(model->observations, sizeof(*model->region));
    found = model->exact ? label_exact_region(model) : label_sampled_region(model);
    if (found == 0)
        snprintf(message, size, "%s: no access in a function or region '%s'",
                 model->profiles[0]->path, model->options->region);
    return found > 0;
}

struct model *model_create(const struct report_options *options,
                           const struct profile *const *profiles, size_t profile_count,
                           char *message, size_t message_size)
{
    struct model *model = allocate_zeroed(1, sizeof(*model));

    model->options = options;
    model->profiles = profiles;
    model->profile_count = profile_count;
    model->strings = intern_table_create();
    model->search = (struct file_search){.sysroot = options->sysroot,
                                         .debug_directories = options->debug_directories.items,
                                         .debug_directory_count = options->debug_directories.count};
    model->resolver = resolver_create(profiles, profile_count, &model->search, model->strings);
    model->namer = allocation_namer_create(&model->search, model->strings);
    if (!choose_machine(model, message, message_size) || !analyse(model, message, message_size) ||
        !label_region(model, message, message_size)) {
        model_free(model);
        return NULL;
    }
    if (!model->exact)
        model->bursts = analysis_burst_count(model->analysis, model_whole(model));
    choose_sizes(model);
    evaluate_whole(model);
    evaluate_truth(model);
    return model;
}

void grouping_free(struct grouping *grouping)
{
    free(grouping->labels);
    free(grouping->accesses);
    free(grouping->bursts);
    free(grouping->members);
    free(grouping->first);
    free(grouping->ranking.items);
}

void model_free(struct model *model)
{
    if (model == NULL)
        return;
    grouping_free(&model->by_line);
    grouping_free(&model->by_object);
    grouping_free(&model->by_context);
    grouping_free(&model->by_thread);
    for (size_t i = 0; i < model->contexts.count; i++)
        free(model->contexts.items[i].frames);
    free(model->contexts.items);
    free(model->lines.items);
    free(model->objects.items);
    free(model->object_offsets);
    communication_view_free(model->communication);
    findings_free(model->findings);
    shared_caches_free(model->shared.items, model->shared.count);
    free(model->threads.items);
    free(model->remarks.items);
    free(model->failure);
    free(model->region);
    free(model->watched);
    allocation_namer_free(model->namer);
    resolver_free(model->resolver);
    miss_totals_free(model->miss_totals);
    analysis_free(model->longer_lines);
    modelled_paces_free(model);
    analysis_free(model->analysis);
    intern_table_free(model->strings);
    free(model);
}

struct subset model_whole(const struct model *model)
{
    return (struct subset){.groups = model->region, .group = 0};
}

bool model_looks_at(const struct model *model, const struct profile *profile, uint32_t thread_id)
{
    const struct record_thread *thread;

    if (model->options->thread == 0)
        return true;
    thread = profile_thread(profile, thread_id);
    return thread != NULL && thread->tid == model->options->thread;
}

bool model_splits(const struct model *model)
{
    return !model->exact ||
           (model->options->thread == 0 && (model->region == NULL || model->region_is_split));
}

bool model_counts(const struct model *model, size_t profile,
                  const struct record_histogram *histogram)
{
    return model->options->region == NULL ? histogram->region_id == 0
                                          : span_is_named(model, profile, histogram->region_id);
}

struct timed_lines model_timed_lines(const struct model *model)
{
    return model->options->machine == NULL ? analysis_timed_lines(model->analysis)
                                           : (struct timed_lines){0};
}

size_t model_focus_level(const struct model *model)
{
    return model->machine.levels > 1 ? 1 : 0;
}

void model_shares_of_misses(struct model *model, struct subset part,
                            struct estimate shares[MACHINE_LEVELS_MAX])
{
    double bytes[MACHINE_LEVELS_MAX];

    for (size_t i = 0; i < model->machine.levels; i++)
        bytes[i] = model->sizes[model->level_size[i]];
    if (model->miss_totals == NULL)
        model->miss_totals =
            analysis_miss_totals(model->analysis, model_whole(model), bytes, model->machine.levels);
    analysis_shares_of_misses(model->analysis, model->miss_totals, part, shares);
}

enum median model_median_distance(const struct model *model, const struct curve_point *points,
                                  size_t from, double *bytes)
{
    double half = from < model->size_count ? points[from].miss_ratio.value / 2 : 0.5;

    for (size_t i = from < model->size_count ? from : 0; i < model->size_count; i++) {
        if (points[i].beyond)
            return MEDIAN_BEYOND;
        *bytes = model->sizes[i];
        if (points[i].miss_ratio.value <= half)
            return MEDIAN_KNOWN;
    }
    return MEDIAN_ABOVE;
}

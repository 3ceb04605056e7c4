/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A profile as numbers for those who own the machine: an exposition that is valid both as
 * OpenMetrics 1.0 and as Prometheus' text format 0.0.4, which differ in counters; there are none,
 * as an estimate may fall from one snapshot to the next.
 */
#include <math.h>
#include <string.h>

#include "path_name.h"
#include "report/compare/figures.h"
#include "report/export/export.h"

static void put_label_value(const char *text, FILE *stream)
{
    for (; *text != '\0'; text++)
        if (*text == '\n')
            fputs("\\n", stream);
        else if (*text == '\\' || *text == '"')
            fprintf(stream, "\\%c", *text);
        else
            fputc(*text, stream);
}

/* Those of the process, of what is the same in all processes of a merged profile; then `own`. */
static void put_labels(const struct model *model, const char *own, FILE *stream)
{
    static const char *const keys[] = {"program", "pid", "rank", "job", "host", "engine"};
    const char *separator = "{";

    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        const char *value = profile_run_text(model->profiles[0], keys[i], NULL);

        if (value == NULL)
            continue;
        fprintf(stream, "%s%s=\"", separator, keys[i]);
        put_label_value(i == 0 ? path_name(value) : value, stream);
        fputc('"', stream);
        separator = ",";
    }
    if (*own != '\0')
        fprintf(stream, "%s%s", separator, own);
    fputs(*separator == '{' && *own == '\0' ? "" : "}", stream);
}

static void put_family(const char *name, const char *help, FILE *stream)
{
    fprintf(stream, "# TYPE %s gauge\n# HELP %s %s\n", name, name, help);
}

/* What is not known has no line. */
static void put_value(const struct model *model, const char *name, const char *own, double value,
                      FILE *stream)
{
    if (!isfinite(value))
        return;
    fputs(name, stream);
    put_labels(model, own, stream);
    fprintf(stream, " %.10g\n", value);
}

static void put_single(const struct model *model, const char *name, const char *help, double value,
                       FILE *stream)
{
    put_family(name, help, stream);
    put_value(model, name, "", value, stream);
}

static double figure_value(const struct figure *figure)
{
    return figure->known ? figure->value.value : NAN;
}

static void put_miss_ratios(const struct model *model, const struct run_figures *figures,
                            FILE *stream)
{
    static const struct {
        const char *name, *help;
        size_t offset;
    } families[] = {
        {"reuse_miss_ratio",
         "Misses per access at a cache level, estimated for private LRU caches.",
         offsetof(struct estimate, value)},
        {"reuse_miss_ratio_low", "Lower end of its 95 % interval.", offsetof(struct estimate, lo)},
        {"reuse_miss_ratio_high", "Upper end of its 95 % interval.", offsetof(struct estimate, hi)},
    };

    bool enough = model->exact || model->bursts >= MODEL_BURSTS_MIN;

    for (size_t f = 0; f < sizeof(families) / sizeof(*families); f++) {
        put_family(families[f].name, families[f].help, stream);
        for (size_t level = 0; level < figures->levels; level++) {
            const struct figure *figure = &figures->miss_ratio[level];
            char own[32];
            double value;

            snprintf(own, sizeof(own), "level=\"%u\"", figures->level[level]);
            memcpy(&value, (const char *)&figure->value + families[f].offset, sizeof(value));
            put_value(model, families[f].name, own, figure->known && enough ? value : NAN, stream);
        }
    }
}

static void put_transfers(const struct model *model, const struct run_figures *figures,
                          FILE *stream)
{
    static const char name[] = "reuse_transfers";

    put_family(name, "Cache lines moved between threads so far, estimated.", stream);
    put_value(model, name, "sharing=\"all\"", figure_value(&figures->transfers), stream);
    put_value(model, name, "sharing=\"true\"", figure_value(&figures->true_sharing), stream);
    put_value(model, name, "sharing=\"false\"", figure_value(&figures->false_sharing), stream);
}

/* The profiler's CPU time over the program's; NAN: not known. */
static double overhead(const struct model *model)
{
    double taken = 0, program = 0;

    for (size_t p = 0; p < model->profile_count; p++)
        for (size_t i = 0; i < model->profiles[p]->totals.count; i++) {
            const struct record_totals *totals = &model->profiles[p]->totals.items[i];

            taken += (double)(totals->handler_ns + totals->besides_ns);
            program += profile_counts_accesses(model->profiles[p])
                           ? 0
                           : (double)totals->app_ns - (double)totals->besides_ns;
        }
    return program > 0 ? taken / program : NAN;
}

void export_openmetrics(struct model *model, FILE *stream)
{
    struct run_figures figures;
    bool running = false;

    for (size_t p = 0; p < model->profile_count; p++)
        running |= model->profiles[p]->being_written;
    figures_of(model, false, &figures);
    put_miss_ratios(model, &figures, stream);
    put_transfers(model, &figures, stream);
    put_single(model, "reuse_accesses", "Memory accesses so far, estimated.",
               figure_value(&figures.accesses), stream);
    put_single(model, "reuse_cpu_seconds", "CPU time so far, without the profiler's.",
               figure_value(&figures.cpu_ns) / 1e9, stream);
    put_single(model, "reuse_overhead_ratio", "CPU time that profiling took, per CPU time.",
               overhead(model), stream);
    put_single(model, "reuse_bursts", "Samples so far, each of thousands of accesses.",
               (double)model->bursts, stream);
    put_single(model, "reuse_running",
               "1 while the process writes its profile, 0 once it has ended.", running, stream);
    fputs("# EOF\n", stream);
}

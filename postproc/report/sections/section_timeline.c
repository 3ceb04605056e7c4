/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * --timeline: misses per access at each level, over the run.
 *
 * The time from the first burst to the last is cut into slices of one length; each slice is a
 * subset of the probes. What was watched over longer times belongs to the slice of its burst. A
 * slice is marked as a change where, at some level, its interval and that of the slice with which
 * the phase began do not meet.
 */
#include <langinfo.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/sections/section_support.h"
#include "report/sections/sections.h"

enum { SLICES_MAX = 60, FIXED_COLUMNS = 4 };

struct slices {
    uint64_t start_ns, length_ns, run_start_ns;
    size_t count;
    size_t bursts[SLICES_MAX];
    struct curve_point points[SLICES_MAX][MACHINE_LEVELS_MAX];
    bool changed[SLICES_MAX];
};

static size_t slice_of(const struct slices *slices, uint64_t time)
{
    size_t slice = (size_t)((time - slices->start_ns) / slices->length_ns);

    return slice < slices->count ? slice : slices->count - 1;
}

static void cut(const struct model *model, struct slices *slices)
{
    uint64_t first = UINT64_MAX, last = 0;

    for (size_t i = 0; i < model->observations; i++) {
        uint64_t time = analysis_probe_burst(model->analysis, i)->monotonic_ns;

        first = time < first ? time : first;
        last = time > last ? time : last;
    }
    slices->count = model->bursts / (2 * MODEL_BURSTS_MIN);
    slices->count = slices->count < 1 ? 1 : slices->count > SLICES_MAX ? SLICES_MAX : slices->count;
    slices->start_ns = first;
    slices->length_ns = (last - first) / slices->count + 1;
    slices->run_start_ns = profile_run_number(model->profiles[0], "start_monotonic_ns", first);
}

static void evaluate(const struct model *model, struct slices *slices)
{
    uint32_t *labels = allocate_zeroed(model->observations + 1, sizeof(*labels));
    double sizes[MACHINE_LEVELS_MAX];

    for (size_t level = 0; level < model->machine.levels; level++)
        sizes[level] = (double)model->machine.caches[level].bytes;
    for (size_t i = 0; i < model->observations; i++)
        labels[i] =
            model->region == NULL || model->region[i] == 0
                ? (uint32_t)slice_of(slices, analysis_probe_burst(model->analysis, i)->monotonic_ns)
                : GROUP_NONE;
    for (size_t s = 0; s < slices->count; s++) {
        struct subset subset = {.groups = labels, .group = (uint32_t)s};

        slices->bursts[s] = analysis_burst_count(model->analysis, subset);
        if (slices->bursts[s] >= MODEL_BURSTS_MIN)
            analysis_miss_ratio_curve(model->analysis, subset, sizes, model->machine.levels,
                                      slices->points[s]);
    }
    free(labels);
}

static bool is_known(const struct slices *slices, size_t slice, size_t level)
{
    return slices->bursts[slice] >= MODEL_BURSTS_MIN && !slices->points[slice][level].beyond;
}

static bool differ(const struct model *model, const struct slices *slices, size_t a, size_t b)
{
    for (size_t level = 0; level < model->machine.levels; level++) {
        struct estimate one = slices->points[a][level].miss_ratio;
        struct estimate other = slices->points[b][level].miss_ratio;

        if (is_known(slices, a, level) && is_known(slices, b, level) &&
            (one.lo > other.hi || one.hi < other.lo))
            return true;
    }
    return false;
}

/* Each slice is held against the one that its phase began with: a slice in between two phases has
 * something of both. */
static void mark_changes(const struct model *model, struct slices *slices)
{
    for (size_t s = 0, began = 0; s < slices->count; s++) {
        if (slices->bursts[began] < MODEL_BURSTS_MIN)
            began = s;
        slices->changed[s] = differ(model, slices, began, s);
        if (slices->changed[s])
            began = s;
    }
}

/* A character per slice, up to the largest value; blank where it is not known. */
static void add_spark(const struct model *model, struct document *document, struct section *section,
                      const struct slices *slices, size_t level)
{
    static const char *const blocks[] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                         "\u2585", "\u2586", "\u2587", "\u2588"};
    static const char *const plain[] = {"_", ".", "-", "~", "+", "*", "%", "#"};
    bool utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    char spark[4 * SLICES_MAX + 1] = "";
    double most = 0;
    char *text;

    for (size_t s = 0; s < slices->count; s++)
        if (is_known(slices, s, level))
            most = fmax(most, slices->points[s][level].miss_ratio.value);
    for (size_t s = 0; s < slices->count; s++) {
        double part = most > 0 ? slices->points[s][level].miss_ratio.value / most : 0;
        int step = (int)fmin(7, floor(8 * part));

        strcat(spark, !is_known(slices, s, level) ? " " : (utf8 ? blocks : plain)[step]);
    }
    text = format_string("%-4s %s 0 .. %.3g %%\n", level_name(model, document, level), spark,
                         100 * most);
    section_verbatim(document, section, NULL, text);
    free(text);
}

static struct column *make_columns(const struct model *model, struct document *document)
{
    struct column *columns = document_columns(document, FIXED_COLUMNS + MACHINE_LEVELS_MAX);

    columns[0] = (struct column){.key = "from", .heading = "from\n"};
    columns[1] = (struct column){.key = "to", .heading = "to\n"};
    columns[2] = (struct column){.key = "bursts", .heading = "bursts\n"};
    columns[3] = (struct column){.key = "changed", .heading = "change\n"};
    for (size_t level = 0; level < model->machine.levels; level++) {
        char *key = format_string("misses.level%zu", level + 1);
        char *heading = format_string("%s\n%%", level_name(model, document, level));

        columns[FIXED_COLUMNS + level] =
            (struct column){.key = document_string(document, key),
                            .heading = document_string(document, heading),
                            .interval = INTERVAL_SUFFIXED};
        free(key);
        free(heading);
    }
    return columns;
}

static void add_table(const struct model *model, struct document *document, struct section *section,
                      const struct slices *slices)
{
    struct table *table =
        document_table(document, "timeline", "Slices of the run", basis_text(model, document, ""),
                       make_columns(model, document), FIXED_COLUMNS + model->machine.levels);

    for (size_t s = 0; s < slices->count; s++) {
        struct row *row = table_row(table);
        double from = (double)(slices->start_ns - slices->run_start_ns) +
                      (double)s * (double)slices->length_ns;

        row->cells[0] = cell_value(CELL_TIME, from);
        row->cells[1] = cell_value(CELL_TIME, from + (double)slices->length_ns);
        row->cells[2] = cell_value(CELL_COUNT, (double)slices->bursts[s]);
        row->cells[3] = cell_truth(slices->changed[s]);
        for (size_t level = 0; level < model->machine.levels; level++)
            row->cells[FIXED_COLUMNS + level] =
                slices->bursts[s] < MODEL_BURSTS_MIN ? cell_empty()
                : slices->points[s][level].beyond
                    ? cell_share_between(slices->points[s][level].miss_ratio)
                    : cell_estimate(CELL_SHARE, slices->points[s][level].miss_ratio);
    }
    table_remark(document, table,
                 "Misses per access, estimated; each thread as if it had such a cache alone. A "
                 "change: at some level the interval does not meet that of the slice after the "
                 "last change, or the first. A slice with fewer than 20 bursts tells nothing.");
    section_table(section, table);
}

void section_timeline(struct model *model, struct document *document)
{
    struct section *section = document_section(document, "timeline", "Over the run", true);
    struct slices slices = {0};

    if (model->exact || model->observations == 0) {
        section_paragraph(document, section, NULL,
                          "Not known: counts of every access have no times. A sampled run has");
        return;
    }
    if (model->profile_count > 1 || model->profiles[0]->origins.count > 0) {
        section_paragraph(document, section, NULL,
                          "Not known: the profile is of several processes, whose clocks need not "
                          "agree. Name the profile of one");
        return;
    }
    cut(model, &slices);
    evaluate(model, &slices);
    mark_changes(model, &slices);
    for (size_t level = 0; level < model->machine.levels; level++)
        add_spark(model, document, section, &slices, level);
    add_table(model, document, section, &slices);
}

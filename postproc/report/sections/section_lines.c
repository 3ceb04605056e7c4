/* SPDX-License-Identifier: BSD-3-Clause */
/* --lines: source lines that reuse data late, what they touch, and who uses it next. */
#include <math.h>
#include <stdlib.h>

#include "report/findings/code_time.h"
#include "report/model/last_uses.h"
#include "report/sections/folded_rows.h"
#include "report/sections/section_support.h"
#include "report/sections/sections.h"

static const struct column before[] = {
    {.heading = "line", .flexible = true},
    {.key = "file"},
    {.key = "line"},
    {.key = "function"},
    {.key = "module"},
    {.key = "object"},
    {.key = "object_share"},
    {.key = "bursts", .heading = "bursts"},
    {.key = "accesses", .interval = INTERVAL_SUFFIXED},
    {.key = "accesses_share",
     .heading = "accesses\n%",
     .interval = INTERVAL_SUFFIXED,
     .optional = true},
    {.key = "time_share", .heading = "CPU time\n%", .interval = INTERVAL_SUFFIXED},
};

static const struct column after[] = {
    {.key = "late_distance_bytes",
     .heading = "late by\nmedian",
     .optional = true,
     .note = "late by: median stack distance of the accesses that miss in the first cache."},
    {.key = "median_distance_bytes"},
    {.key = "median_reuse_time"},
    {.key = "reuse_from"},
};

static const struct column use_columns[] = {
    {.key = "file"}, {.key = "line"}, {.key = "function"}, {.key = "share"}};

enum {
    PLACE,
    FILE_NAME,
    LINE,
    FUNCTION,
    MODULE,
    OBJECT,
    OBJECT_SHARE,
    BURSTS,
    ACCESSES,
    SHARE,
    TIME_SHARE
};
enum { LATE, MEDIAN, TIME, REUSE_FROM };

/* Median reuse time of a subset; false when more than half is never used again or beyond. */
static bool median_time(const struct model *model, struct subset subset, double *accesses)
{
    struct histogram_share *bins = NULL;
    size_t count = analysis_reuse_time_histogram(model->analysis, subset, &bins);
    double below = 0;
    bool found = false;

    for (size_t i = 0; i < count && isfinite(bins[i].hi); i++) {
        double share = bins[i].share.value;

        if (below + share >= 0.5 && share > 0) {
            double part = (0.5 - below) / share;

            *accesses = bins[i].lo * pow(bins[i].hi / bins[i].lo, part);
            found = true;
            break;
        }
        below += share;
    }
    free(bins);
    return found;
}

static struct table *use_table(struct document *document, const struct last_uses *uses)
{
    struct table *table = document_table(document, NULL, NULL, NULL, use_columns,
                                         sizeof(use_columns) / sizeof(*use_columns));

    for (size_t i = 0; i < uses->count; i++) {
        const struct code_line *line = &uses->uses[i].line;
        struct row *row = table_row(table);

        row->cells[0] = cell_text(document, line->file);
        row->cells[1] = line->line > 0 ? cell_value(CELL_NUMBER, line->line) : cell_empty();
        row->cells[2] = cell_text(document, line->function);
        row->cells[3] = cell_value(CELL_SHARE, uses->uses[i].share);
    }
    return table;
}

/* "in dot, on matrix; last used at a.c:16 (93 %), b.c:7 (5 %)" */
static void add_detail(struct model *model, struct document *document, struct row *row,
                       const struct code_line *line, const struct last_uses *uses)
{
    bool in = line->file != NULL, on = uses->object != GROUP_NONE;
    char *detail = format_string("%s%s%s%s%s", in ? "in " : "", in ? line->function : "",
                                 in && on ? ", " : "", on ? "on " : "",
                                 on ? model->objects.items[uses->object].name : ""),
         *longer;

    for (size_t i = 0; i < uses->count && i < 2; i++) {
        longer =
            format_string("%s%s%s (%.0f %%)", detail,
                          i > 0             ? ", "
                          : *detail != '\0' ? "; last used at "
                                            : "last used at ",
                          code_line_text(model, &uses->uses[i].line), 100 * uses->uses[i].share);
        free(detail);
        detail = longer;
    }
    if (*detail != '\0')
        row_detail(document, row, detail);
    free(detail);
}

static void add_line(struct model *model, struct document *document, struct table *table,
                     size_t levels, const struct ranked_group *ranked, const struct estimate *times)
{
    const struct code_line *line = &model->lines.items[ranked->group];
    struct subset subset = grouping_subset(&model->by_line, ranked->group);
    size_t tail = levels + model->machine.levels;
    struct row *row = table_row(table);
    struct last_uses uses;
    double time;

    last_uses_of(model, &model->by_line, ranked->group, &uses);
    row->cells[PLACE] = cell_text(document, code_line_text(model, line));
    row->cells[FILE_NAME] = cell_text(document, line->file);
    row->cells[LINE] = line->line > 0 ? cell_value(CELL_NUMBER, line->line) : cell_empty();
    row->cells[FUNCTION] = cell_text(document, line->function);
    row->cells[MODULE] = cell_text(document, line->module);
    if (uses.object != GROUP_NONE) {
        row->cells[OBJECT] = cell_text(document, model->objects.items[uses.object].name);
        row->cells[OBJECT_SHARE] = cell_value(CELL_SHARE, uses.object_share);
    }
    row->cells[BURSTS] = bursts_cell(model, &model->by_line, ranked->group);
    row->cells[ACCESSES] =
        cell_estimate(CELL_COUNT, analysis_subset_accesses(model->analysis, subset));
    row->cells[SHARE] =
        cell_estimate(CELL_SHARE, share_of_accesses(model, &model->by_line, ranked->group));
    if (times != NULL)
        row->cells[TIME_SHARE] = cell_estimate(CELL_SHARE, times[ranked->group]);
    fill_levels(model, document, table, row, levels, LEVELS_SHARE_OF_MISSES, ranked);
    row->cells[tail + LATE] = distance_cell(model, ranked->points, model->level_size[0]);
    row->cells[tail + MEDIAN] = distance_cell(model, ranked->points, MODEL_SIZES_MAX);
    if (median_time(model, subset, &time))
        row->cells[tail + TIME] = cell_value(CELL_COUNT, time);
    row->cells[tail + REUSE_FROM] = cell_table(use_table(document, &uses));
    add_detail(model, document, row, line, &uses);
}

void section_lines(struct model *model, struct document *document)
{
    struct section *section =
        document_section(document, "lines", "Source lines that reuse data late", true);
    const struct ranking *ranking;
    size_t levels, count;
    const struct column *columns = columns_with_levels(
        model, document, before, sizeof(before) / sizeof(*before), LEVELS_SHARE_OF_MISSES, after,
        sizeof(after) / sizeof(*after), &levels, &count);
    struct table *table;
    struct folded_rows folded = {0};
    struct estimate *times = code_time_of_lines(model);
    char *text, *left_out;

    model_label_lines(model);
    ranking = model_rank(model, &model->by_line);
    text = format_string("Part of all misses, most at %s first",
                         level_name(model, document, model_focus_level(model)));
    table = document_table(
        document, "lines", text,
        basis_text(model, document, times != NULL ? "; CPU time: where bursts began" : ""), columns,
        count);
    free(text);
    for (size_t i = 0; i < ranking->count; i++) {
        uint32_t line = ranking->items[i].group;
        struct estimate time = times != NULL ? times[line] : (struct estimate){0};

        if (!fold_line(model, i, line, time, &folded))
            add_line(model, document, table, levels, &ranking->items[i], times);
    }
    free(times);
    folded.beneath = model->by_line.count - ranking->count;
    left_out = folded_text(&folded, "line");
    text = format_string(
        "%s%s%s", left_out != NULL ? left_out : "", left_out != NULL && !model->exact ? " " : "",
        model->exact ? ""
                     : "Last used: before late reuses where watches saw some, else in bursts.");
    remark_few_bursts(document, table, BURSTS, *text != '\0' ? text : NULL);
    free(left_out);
    free(text);
    section_table(section, table);
    add_served_lines(model, document, section);
}

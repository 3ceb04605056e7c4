/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/sections/section_support.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "document/numbers.h"

/* Miss ratios below this are zero to the reader of a line. */
#define MISSES_MIN 0.0005

const char *level_name(const struct model *model, struct document *document, size_t level)
{
    const char *kept;
    char *text;

    if (model->machine_assumed)
        text = number_bytes((double)model->machine.caches[level].bytes);
    else
        text = format_string("L%u", model->machine.caches[level].level);
    kept = document_string(document, text);
    free(text);
    return kept;
}

/* Hands the text over to the document. */
static const char *keep(struct document *document, char *text)
{
    const char *kept = document_string(document, text);

    free(text);
    return kept;
}

const char *basis_text(const struct model *model, struct document *document, const char *what)
{
    return basis_of_bursts(model, document, model->bursts, what);
}

const char *basis_of_bursts(const struct model *model, struct document *document, size_t bursts,
                            const char *what)
{
    char *number = number_count((double)bursts);
    char *text = model->exact && model->line_rate > 1
                     ? format_string("Estimated from the accesses to 1 in %" PRIu32
                                     " lines (%.3g %% of them), each of which was counted%s.",
                                     model->line_rate, 100.0 / model->line_rate, what)
                 : model->exact ? format_string("Exact: every access was counted%s.", what)
                                : format_string("Estimated from %s burst%s%s; intervals at 95 %%.",
                                                number, bursts == 1 ? "" : "s", what);

    free(number);
    return keep(document, text);
}

/* The profile is evaluated for other lines than it was recorded with. */
static bool is_another_size(const struct model *model, unsigned *recorded, unsigned *asked)
{
    *recorded = (unsigned)profile_run_number(model->profiles[0], "line_size", LINE_SIZE_DEFAULT);
    *asked = analysis_line_size(model->analysis);
    return !model->exact && *asked != *recorded;
}

/* Whatever line sizes they tell. */
static size_t all_bursts(const struct model *model)
{
    return model->observations == 0
               ? 0
               : analysis_probe(model->analysis, model->observations - 1, NULL)->burst + 1;
}

const char *line_size_text(const struct model *model, struct document *document)
{
    size_t told = model->exact ? 0 : analysis_burst_count(model->analysis, (struct subset){0});
    unsigned recorded, asked;

    if (!is_another_size(model, &recorded, &asked))
        return NULL;
    return keep(
        document,
        asked > recorded
            ? format_string("Recorded with %u-byte lines: %zu of %zu bursts tell of %u-byte lines "
                            "as well. What the rest of such a line does after its burst was not "
                            "watched, and the intervals are that much wider. Record with "
                            "--line-size %u to narrow them.",
                            recorded, told, all_bursts(model), asked, asked)
            : format_string("Recorded with %u-byte lines: %zu of %zu bursts tell of %u-byte lines "
                            "as well. Watches of words in other %u-byte lines than the sampled one "
                            "do not count here. Record with --line-size %u to have all of both.",
                            recorded, told, all_bursts(model), asked, asked, asked));
}

const char *sharing_line_size_text(const struct model *model, struct document *document)
{
    unsigned recorded, asked;

    if (!is_another_size(model, &recorded, &asked))
        return NULL;
    return keep(document,
                format_string("Modelled: recorded with %u-byte lines, so who shares the rest of a "
                              "%u-byte line follows from samples, as if threads came to it in "
                              "random order. Record with --line-size %u to watch it.",
                              recorded, asked, asked));
}

const struct column *columns_with_levels(const struct model *model, struct document *document,
                                         const struct column *before, size_t before_count,
                                         enum level_columns what, const struct column *after,
                                         size_t after_count, size_t *levels, size_t *count)
{
    size_t n = model->machine.levels;
    struct column *columns = document_columns(document, before_count + n + after_count + 1);

    memcpy(columns, before, before_count * sizeof(*columns));
    for (size_t i = 0; i < n; i++) {
        char *heading = format_string("%s\n%s", level_name(model, document, i),
                                      what == LEVELS_MISS_RATIO ? "miss %" : "% of all");

        columns[before_count + i].heading = document_string(document, heading);
        columns[before_count + i].heat = true;
        free(heading);
    }
    if (after_count > 0)
        memcpy(columns + before_count + n, after, after_count * sizeof(*columns));
    columns[before_count + n + after_count].key = "misses";
    *levels = before_count;
    *count = before_count + n + after_count + 1;
    return columns;
}

static const struct column level_row_columns[] = {
    {.key = "level"},
    {.key = "bytes"},
    {.key = "miss_ratio", .interval = INTERVAL_SUFFIXED},
    {.key = "share", .interval = INTERVAL_SUFFIXED},
};

/* Of a total that may as well be zero or twice as large there are no shares. */
static struct cell share_cell(const struct model *model, const struct ranked_group *group,
                              size_t level)
{
    size_t size = model->level_size[level];
    const struct estimate *total = &model->whole[size].miss_ratio;

    if (group->points[size].beyond)
        return cell_beyond();
    if (!(total->value > 0) || total->hi > 2 * total->value)
        return cell_empty();
    return cell_estimate(CELL_SHARE, group->shares[level]);
}

void fill_levels(const struct model *model, struct document *document, struct table *table,
                 struct row *row, size_t levels, enum level_columns what,
                 const struct ranked_group *group)
{
    struct table *inner = document_table(document, NULL, NULL, NULL, level_row_columns,
                                         sizeof(level_row_columns) / sizeof(*level_row_columns));

    for (size_t i = 0; i < model->machine.levels; i++) {
        const struct curve_point *point = &group->points[model->level_size[i]];
        struct cell ratio = point->beyond ? cell_share_between(point->miss_ratio)
                                          : cell_estimate(CELL_SHARE, point->miss_ratio);
        struct cell share = share_cell(model, group, i);
        struct row *inner_row = table_row(inner);

        inner_row->cells[0] = cell_value(CELL_NUMBER, model->machine.caches[i].level);
        inner_row->cells[1] = cell_value(CELL_BYTES, (double)model->machine.caches[i].bytes);
        inner_row->cells[2] = ratio;
        inner_row->cells[3] = share;
        row->cells[levels + i] = what == LEVELS_MISS_RATIO ? ratio : share;
    }
    row->cells[table->column_count - 1] = cell_table(inner);
}

struct cell bursts_cell(const struct model *model, const struct grouping *grouping, uint32_t group)
{
    struct cell cell = cell_value(CELL_COUNT, (double)grouping->bursts[group]);

    if (model->exact)
        return cell_empty();
    cell.marked = grouping->bursts[group] < MODEL_BURSTS_MIN;
    return cell;
}

void remark_few_bursts(struct document *document, struct table *table, size_t column,
                       const char *remark)
{
    bool marked = false;
    char *text;

    for (size_t i = 0; i < table->rows.count; i++)
        marked |= table->rows.items[i].cells[column].marked;
    if (remark == NULL && !marked)
        return;
    text = format_string(
        "%s%s%s", remark != NULL ? remark : "", remark != NULL && marked ? " " : "",
        marked ? "*: in fewer than 20 bursts, too few for an interval to rely on." : "");
    table_remark(document, table, text);
    free(text);
}

struct estimate share_of_accesses(const struct model *model, const struct grouping *grouping,
                                  uint32_t group)
{
    return analysis_share_of_accesses(model->analysis, grouping_subset(grouping, group),
                                      model_whole(model));
}

static const struct column curve_columns[] = {
    {.key = "bytes"},
    {.key = "miss_ratio", .interval = INTERVAL_BARE},
    {.key = "beyond"},
    {.key = "truth"}, /* last: only where it is known */
};

struct table *curve_table(const struct model *model, struct document *document, const char *key,
                          const struct curve_point *points, const struct curve_point *truth)
{
    size_t columns = sizeof(curve_columns) / sizeof(*curve_columns);
    struct table *table = document_table(document, key, NULL, NULL, curve_columns,
                                         truth != NULL ? columns : columns - 1);

    for (size_t i = 0; i < model->size_count; i++) {
        struct row *row = table_row(table);

        row->cells[0] = cell_value(CELL_BYTES, model->sizes[i]);
        row->cells[1] = cell_estimate(CELL_SHARE, points[i].miss_ratio);
        row->cells[2] = cell_truth(points[i].beyond);
        if (truth != NULL)
            row->cells[3] = cell_value(CELL_SHARE, truth[i].miss_ratio.value);
    }
    return table;
}

struct cell distance_cell(const struct model *model, const struct curve_point *points, size_t from)
{
    double bytes = 0;

    /* Next to no misses have no median worth a number. */
    if (from < model->size_count && !points[from].beyond &&
        points[from].miss_ratio.value < MISSES_MIN)
        return cell_empty();
    switch (model_median_distance(model, points, from, &bytes)) {
    case MEDIAN_KNOWN:
        return cell_value(CELL_BYTES, bytes);
    case MEDIAN_ABOVE:
        return cell_above(bytes);
    case MEDIAN_BEYOND:
        break;
    }
    return cell_beyond();
}

/* Whoever calls these is not the program. */
static bool is_outermost(const char *function)
{
    return strcmp(function, "main") == 0 || strcmp(function, "start_thread") == 0;
}

char *context_text(struct model *model, const struct calling_context *context)
{
    char *text = copy_string(context->count > 0 ? context->frames[0].function : ""), *longer;

    for (size_t i = 1; i < context->count && !is_outermost(context->frames[i - 1].function); i++) {
        const struct code_line *line = &context->frames[i];
        const char *place = place_text(model->strings, line->file, line->line);

        longer = format_string("%s < %s%s%s%s", text, line->function, place != NULL ? " (" : "",
                               place != NULL ? place : "", place != NULL ? ")" : "");
        free(text);
        text = longer;
    }
    return text;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* --contexts: calling contexts, those with most misses first. */
#include <stdlib.h>

#include "report/model/last_uses.h"
#include "report/sections/section_support.h"
#include "report/sections/sections.h"

static const struct column before[] = {
    {.heading = "innermost line", .flexible = true},
    {.key = "bursts", .heading = "bursts"},
    {.key = "accesses", .interval = INTERVAL_SUFFIXED},
    {.key = "accesses_share", .heading = "accesses\n%", .interval = INTERVAL_SUFFIXED},
};

static const struct column after[] = {
    {.key = "late_distance_bytes",
     .heading = "late by\nmedian",
     .optional = true,
     .note = "late by: median stack distance of the accesses that miss in the first cache."},
    {.key = "frames"},
};

static const struct column frame_columns[] = {
    {.key = "function"}, {.key = "file"}, {.key = "line"}, {.key = "module"}};

enum { PLACE, BURSTS, ACCESSES, SHARE };
enum { LATE, FRAMES };

static struct table *frame_table(struct document *document, const struct calling_context *context)
{
    struct table *table = document_table(document, NULL, NULL, NULL, frame_columns,
                                         sizeof(frame_columns) / sizeof(*frame_columns));

    for (size_t i = 0; i < context->count; i++) {
        const struct code_line *line = &context->frames[i];
        struct row *row = table_row(table);

        row->cells[0] = cell_text(document, line->function);
        row->cells[1] = cell_text(document, line->file);
        row->cells[2] = line->line > 0 ? cell_value(CELL_NUMBER, line->line) : cell_empty();
        row->cells[3] = cell_text(document, line->module);
    }
    return table;
}

static void add_detail(struct model *model, struct document *document, struct row *row,
                       const struct calling_context *context)
{
    char *detail = context_text(model, context);

    row_detail(document, row, detail);
    free(detail);
}

static void add_context(struct model *model, struct document *document, struct table *table,
                        size_t levels, const struct ranked_group *ranked)
{
    const struct calling_context *context = &model->contexts.items[ranked->group];
    struct subset subset = grouping_subset(&model->by_context, ranked->group);
    size_t tail = levels + model->machine.levels;
    struct row *row = table_row(table);

    if (context->count > 0)
        row->cells[PLACE] = cell_text(document, code_line_text(model, &context->frames[0]));
    row->cells[BURSTS] = bursts_cell(model, &model->by_context, ranked->group);
    row->cells[ACCESSES] =
        cell_estimate(CELL_COUNT, analysis_subset_accesses(model->analysis, subset));
    row->cells[SHARE] =
        cell_estimate(CELL_SHARE, share_of_accesses(model, &model->by_context, ranked->group));
    fill_levels(model, document, table, row, levels, LEVELS_SHARE_OF_MISSES, ranked);
    row->cells[tail + LATE] = distance_cell(model, ranked->points, model->level_size[0]);
    row->cells[tail + FRAMES] = cell_table(frame_table(document, context));
    add_detail(model, document, row, context);
}

void section_contexts(struct model *model, struct document *document)
{
    struct section *section = document_section(document, "contexts", "Calling contexts", true);
    const struct ranking *ranking;
    size_t levels, count;
    const struct column *columns = columns_with_levels(
        model, document, before, sizeof(before) / sizeof(*before), LEVELS_SHARE_OF_MISSES, after,
        sizeof(after) / sizeof(*after), &levels, &count);
    struct table *table;
    char *title;

    model_label_contexts(model);
    ranking = model_rank(model, &model->by_context);
    title = format_string("Part of all misses, most at %s first",
                          level_name(model, document, model_focus_level(model)));
    table = document_table(document, "contexts", title, basis_text(model, document, ""), columns,
                           count);
    free(title);
    for (size_t i = 0; i < ranking->count; i++)
        add_context(model, document, table, levels, &ranking->items[i]);
    remark_few_bursts(document, table, BURSTS,
                      model->exact ? "An exact profile counts by line, object and region, not "
                                     "by calling context."
                                   : NULL);
    section_table(section, table);
}

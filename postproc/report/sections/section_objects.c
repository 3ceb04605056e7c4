/* SPDX-License-Identifier: BSD-3-Clause */
/* --objects: data objects, those with most misses first. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "document/numbers.h"
#include "report/findings/object_time.h"
#include "report/sections/folded_rows.h"
#include "report/sections/section_support.h"
#include "report/sections/sections.h"

static const struct column before[] = {
    {.key = "name", .heading = "object", .flexible = true},
    {.key = "kind"},
    {.key = "size", .heading = "size", .optional = true},
    {.key = "blocks"},
    {.key = "alloc.function"},
    {.key = "alloc.file"},
    {.key = "alloc.line"},
    {.key = "bursts", .heading = "bursts"},
    {.key = "accesses", .interval = INTERVAL_SUFFIXED},
    {.key = "accesses_share",
     .heading = "accesses\n%",
     .interval = INTERVAL_SUFFIXED,
     .optional = true},
    {.key = "time_share", .heading = "modelled\ntime %", .interval = INTERVAL_SUFFIXED},
};

static const struct column after[] = {
    {.heading = "misses\n% of all", .heat = true, .optional = true},
    {.key = "mrc"},
};

enum { NAME, KIND, SIZE, BLOCKS, FUNCTION, FILE_NAME, LINE, BURSTS, ACCESSES, SHARE, TIME_SHARE };

/* ", 1.00 M blocks of up to 48 B, at most 45.8 MiB at once"; empty for a single one. The caller
 * frees it. */
static char *blocks_text(const struct data_object *object)
{
    char *blocks, *each, *all, *text;

    if (object->blocks <= 1)
        return copy_string("");
    blocks = number_count((double)object->blocks);
    each = number_bytes((double)object->size);
    all = number_bytes(data_object_extent(object));
    text =
        object->size == 0
            ? format_string(", %s blocks", blocks)
            : format_string(", %s blocks of up to %s, %s %s", blocks, each,
                            object->peak_bytes > 0 ? "at once at most" : "allocated in all:", all);
    free(all);
    free(each);
    free(blocks);
    return text;
}

static void add_detail(struct model *model, struct document *document, struct row *row,
                       const struct data_object *object)
{
    const char *place = place_text(model->strings, object->file, object->line);
    bool global = strcmp(object->kind, "global") == 0;
    char *blocks = blocks_text(object);
    char *detail = format_string("%s%s%s%s%s%s", object->kind, blocks,
                                 place == NULL ? ""
                                 : global      ? ", declared at "
                                               : ", allocated at ",
                                 place != NULL ? place : "", object->function != NULL ? " in " : "",
                                 object->function != NULL ? object->function : "");

    row_detail(document, row, detail);
    free(blocks);
    free(detail);
}

static void add_object(struct model *model, struct document *document, struct table *table,
                       size_t levels, const struct ranked_group *ranked,
                       const struct estimate *time)
{
    const struct data_object *object = &model->objects.items[ranked->group];
    struct subset subset = grouping_subset(&model->by_object, ranked->group);
    struct row *row = table_row(table);

    row->cells[NAME] = cell_text(document, object->name);
    row->cells[KIND] = cell_text(document, object->kind);
    row->cells[SIZE] =
        object->size > 0 ? cell_value(CELL_BYTES, (double)object->size) : cell_empty();
    row->cells[BLOCKS] =
        object->blocks > 0 ? cell_value(CELL_COUNT, (double)object->blocks) : cell_empty();
    row->cells[FUNCTION] = cell_text(document, object->function);
    row->cells[FILE_NAME] = cell_text(document, object->file);
    row->cells[LINE] = object->line > 0 ? cell_value(CELL_NUMBER, object->line) : cell_empty();
    row->cells[BURSTS] = bursts_cell(model, &model->by_object, ranked->group);
    row->cells[ACCESSES] =
        cell_estimate(CELL_COUNT, analysis_subset_accesses(model->analysis, subset));
    row->cells[SHARE] =
        cell_estimate(CELL_SHARE, share_of_accesses(model, &model->by_object, ranked->group));
    if (time != NULL)
        row->cells[TIME_SHARE] = cell_estimate(CELL_SHARE, *time);
    fill_levels(model, document, table, row, levels, LEVELS_MISS_RATIO, ranked);
    row->cells[levels + model->machine.levels] =
        cell_estimate(CELL_SHARE, ranked->shares[model_focus_level(model)]);
    row->cells[levels + model->machine.levels + 1] =
        cell_table(curve_table(model, document, NULL, ranked->points, NULL));
    add_detail(model, document, row, object);
}

void section_objects(struct model *model, struct document *document)
{
    struct section *section = document_section(document, "objects", "Data objects", true);
    const struct ranking *ranking;
    size_t levels, count;
    const struct column *columns = columns_with_levels(
        model, document, before, sizeof(before) / sizeof(*before), LEVELS_MISS_RATIO, after,
        sizeof(after) / sizeof(*after), &levels, &count);
    struct table *table;
    struct folded_rows folded = {0};
    struct estimate *times;
    char *title, *left_out;

    model_label_objects(model);
    ranking = model_rank(model, &model->by_object);
    times = object_time_of_ranking(model, ranking);
    title = format_string("Most misses at %s first",
                          level_name(model, document, model_focus_level(model)));
    table = document_table(document, "objects", title,
                           basis_text(model, document,
                                      times != NULL ? "; miss: misses per access of the object; "
                                                      "time: what its accesses take"
                                                    : "; miss: misses per access of the object"),
                           columns, count);
    free(title);
    for (size_t i = 0; i < ranking->count; i++)
        if (!fold_object(model, i, ranking->items[i].group, &folded))
            add_object(model, document, table, levels, &ranking->items[i],
                       times != NULL ? &times[i] : NULL);
    free(times);
    folded.beneath = model->by_object.count - ranking->count;
    left_out = folded_text(&folded, "object");
    remark_few_bursts(document, table, BURSTS, left_out);
    free(left_out);
    section_table(section, table);
    add_served_objects(model, document, section);
}

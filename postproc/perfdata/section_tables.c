/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects and source lines of a perf.data file, by sampled accesses. */
#include <stdlib.h>

#include "path_name.h"
#include "perfdata/sections.h"
#include "report/model/tally.h"

static const struct column object_columns[] = {
    {.key = "name", .heading = "object", .flexible = true},
    {.key = "kind", .heading = "kind"},
    {.key = "module"},
    TALLY_COLUMNS};
static const struct column line_columns[] = {
    {.heading = "line", .flexible = true},
    {.key = "file"},
    {.key = "line"},
    {.key = "function", .heading = "function", .flexible = true},
    {.key = "module"},
    TALLY_COLUMNS};

/* Accesses by what a key says of them. Keys have no padding bytes that differ. */
struct grouping {
    struct intern_table *keys;
    ARRAY(struct tally) tallies;
    ARRAY(size_t) first; /* an access of the group */
};

static void group_add(struct grouping *grouping, const void *key, size_t size, size_t access,
                      const struct access_record *record)
{
    uint32_t group = intern_table_insert(grouping->keys, key, size);

    if (group == grouping->tallies.count) {
        struct tally fresh = {0};

        ARRAY_PUSH(&grouping->tallies, fresh);
        ARRAY_PUSH(&grouping->first, access);
    }
    tally_add(&grouping->tallies.items[group], record);
}

static void grouping_free(struct grouping *grouping)
{
    for (size_t i = 0; i < grouping->tallies.count; i++)
        tally_free(&grouping->tallies.items[i]);
    free(grouping->tallies.items);
    free(grouping->first.items);
    intern_table_free(grouping->keys);
}

/* Cells of an access's place; returns how many. */
typedef size_t (*put_place)(const struct perfdata_view *, struct document *, size_t access,
                            struct cell *);

/* A row for each of the groups with most accesses, as many as the options want, and frees them. */
static void list_groups(const struct perfdata_view *view, struct document *document,
                        struct table *table, struct grouping *grouping, put_place put)
{
    size_t ranked;
    uint32_t *order = tally_ranking(grouping->tallies.items, grouping->tallies.count,
                                    view->options->top, &ranked);

    for (size_t i = 0; i < ranked; i++) {
        struct row *row = table_row(table);
        size_t cells = put(view, document, grouping->first.items[order[i]], row->cells);

        tally_cells(&grouping->tallies.items[order[i]], (double)view->count, row->cells + cells);
    }
    free(order);
    grouping_free(grouping);
}

static size_t put_object(const struct perfdata_view *view, struct document *document, size_t access,
                         struct cell *cells)
{
    const struct data_place *place = &view->places->data[access];

    cells[0] = cell_text(document, place->name);
    cells[1] = cell_text(document, place_kind_name(place->kind));
    cells[2] = cell_text(document, place->module);
    return 3;
}

void perfdata_objects(const struct perfdata_view *view, struct document *document)
{
    struct section *section =
        document_section(document, "objects", "Data objects by sampled accesses", true);
    struct table *table = document_table(document, "objects", "Most sampled first",
                                         "Counts of samples; latency in cycles.", object_columns,
                                         sizeof object_columns / sizeof object_columns[0]);
    struct grouping grouping = {.keys = intern_table_create()};

    for (size_t i = 0; i < view->recording->accesses.count; i++) {
        const struct data_place *place = &view->places->data[i];
        const void *key[2] = {place->name, place->module};

        if (view->wanted[i])
            group_add(&grouping, key, sizeof key, i, &view->recording->accesses.items[i]);
    }
    list_groups(view, document, table, &grouping, put_object);
    table_remark(document, table,
                 "Variables by symbol. perf.data does not tell heap blocks apart: reuse-run does.");
    section_table(section, table);
}

char *perfdata_line_text(const struct code_place *place)
{
    if (place->file)
        return format_string("%s:%u", path_name(place->file), place->line);
    return format_string("%s", place->module ? place->module : "(unknown)");
}

static size_t put_line(const struct perfdata_view *view, struct document *document, size_t access,
                       struct cell *cells)
{
    const struct code_place *place = &view->places->code[access];
    char *text = perfdata_line_text(place);

    cells[0] = cell_text(document, text);
    free(text);
    cells[1] = cell_text(document, place->file);
    cells[2] = place->line ? cell_value(CELL_NUMBER, place->line) : cell_empty();
    cells[3] = cell_text(document, place->function);
    cells[4] = cell_text(document, place->module);
    return 5;
}

void perfdata_lines(const struct perfdata_view *view, struct document *document)
{
    struct section *section =
        document_section(document, "lines", "Source lines by sampled accesses", true);
    struct table *table = document_table(document, "lines", "Most sampled first",
                                         "Counts of samples; latency in cycles.", line_columns,
                                         sizeof line_columns / sizeof line_columns[0]);
    struct grouping grouping = {.keys = intern_table_create()};

    for (size_t i = 0; i < view->recording->accesses.count; i++) {
        const struct code_place *place = &view->places->code[i];
        const void *key[4] = {place->function, place->file, place->module,
                              (const void *)(uintptr_t)place->line};

        if (view->wanted[i])
            group_add(&grouping, key, sizeof key, i, &view->recording->accesses.items[i]);
    }
    list_groups(view, document, table, &grouping, put_line);
    section_table(section, table);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/structs/struct_tables.h"

#include <inttypes.h>
#include <stdlib.h>

/* The same columns in text, with rows for holes and line ends, and in JSON, without. */
static const struct column member_columns[] = {
    {.key = "offset", .heading = "byte"},
    {.key = "size", .heading = "size"},
    {.key = "name", .heading = "member", .flexible = true},
    {.key = "kind"},
    {.key = "type"},
    {.key = "alignment"},
    {.key = "accesses"},
    {.key = "accesses_share", .heading = "accesses\n%"},
    {.key = "misses_share", .heading = "misses\n%", .interval = INTERVAL_SUFFIXED, .heat = true},
    {.key = "stores_share", .heading = "stores\n%"},
    {.key = "readers"},
    {.key = "writers"},
    {.heading = "threads\nread/write", .optional = true},
    {.key = "hole_after"},
    {.key = "proposed_offset", .heading = "then\nbyte"}, /* last: left out where there is none */
};

enum {
    OFFSET,
    SIZE,
    NAME,
    KIND,
    TYPE,
    ALIGNMENT,
    ACCESSES,
    SHARE,
    MISSES,
    STORES,
    READERS,
    WRITERS,
    THREADS,
    HOLE,
    THEN,
    MEMBER_COLUMNS
};

static const struct column pair_columns[] = {{.key = "member"}, {.key = "with"}, {.key = "share"}};

#define COLUMNS(columns) columns, sizeof(columns) / sizeof(*(columns))

static const char *const kind_names[] = {
    [MEMBER_PLAIN] = "plain", [MEMBER_BITS] = "bits",   [MEMBER_BASE] = "base",
    [MEMBER_TABLE] = "table", [MEMBER_UNION] = "union", [MEMBER_OPEN] = "open array",
};

static uint64_t end_of(const struct type_member *member)
{
    return member->offset + member->size;
}

/* Bytes between a member and what follows it, or the structure's end. */
static uint64_t hole_after(const struct type_members *members, size_t member)
{
    const struct type_member *items = members->items.items;
    uint64_t next = member + 1 < members->items.count ? items[member + 1].offset : members->size;

    return items[member].kind != MEMBER_OPEN && next > end_of(&items[member])
               ? next - end_of(&items[member])
               : 0;
}

uint64_t struct_padding(const struct type_members *members)
{
    uint64_t sum = members->items.items[0].offset;

    for (size_t i = 0; i < members->items.count && !members->is_union; i++)
        sum += hole_after(members, i);
    return sum;
}

static void fill_member(const struct shown_type *shown, struct document *document, struct row *row,
                        size_t i)
{
    const struct used_type *used = shown->used;
    const struct type_member *member = &used->members.items.items[i];
    const struct member_use *use = &used->uses[i];
    char *threads = format_string("%zu/%zu", member_use_readers(use), member_use_writers(use));
    uint64_t hole = used->members.is_union ? 0 : hole_after(&used->members, i);

    row->cells[OFFSET] = cell_value(CELL_NUMBER, (double)member->offset);
    row->cells[SIZE] = cell_value(CELL_NUMBER, (double)member->size);
    row->cells[NAME] = cell_text(document, member->name);
    row->cells[KIND] = cell_text(document, kind_names[member->kind]);
    row->cells[TYPE] = cell_text(document, member->type);
    row->cells[ALIGNMENT] = cell_value(CELL_NUMBER, (double)member->alignment);
    row->cells[ACCESSES] = cell_value(CELL_COUNT, use->accesses);
    row->cells[SHARE] =
        cell_value(CELL_SHARE, used->accesses > 0 ? use->accesses / used->accesses : 0);
    row->cells[HOLE] = cell_value(CELL_NUMBER, (double)hole);
    row->cells[READERS] = cell_value(CELL_NUMBER, (double)member_use_readers(use));
    row->cells[WRITERS] = cell_value(CELL_NUMBER, (double)member_use_writers(use));
    if (use->accesses > 0) {
        row->cells[MISSES] = cell_estimate(CELL_SHARE, shown->member_misses[i]);
        row->cells[STORES] = cell_value(CELL_SHARE, use->stores / use->accesses);
        row->cells[THREADS] = cell_text(document, threads);
    }
    if (shown->advice.kind == STRUCT_REORDER)
        row->cells[THEN] = cell_value(CELL_NUMBER, (double)shown->advice.order.offsets[i]);
    free(threads);
}

/* Where lines end, counted from the structure's first byte, and how long the hole is. */
static void add_ruler(struct document *document, struct table *table, const struct used_type *used,
                      size_t i)
{
    uint64_t line = used->starts.line, from = used->members.items.items[i].offset;
    uint64_t hole = hole_after(&used->members, i);
    uint64_t next = i + 1 < used->members.items.count ? used->members.items.items[i + 1].offset
                                                      : used->members.size;

    if (hole > 0 && !used->members.is_union) {
        struct row *row = table_row(table);

        row->cells[OFFSET] = cell_value(CELL_NUMBER, (double)end_of(&used->members.items.items[i]));
        row->cells[SIZE] = cell_value(CELL_NUMBER, (double)hole);
        row->cells[NAME] = cell_text(document, "(hole)");
    }
    if (next < used->members.size && next / line > from / line) {
        char *text = format_string("---- %" PRIu64 " ----", next / line * line);

        table_row(table)->cells[NAME] = cell_text(document, text);
        free(text);
    }
}

struct table *struct_member_table(const struct shown_type *shown, struct document *document,
                                  const char *title, const char *basis)
{
    const struct type_members *members = &shown->used->members;
    size_t left_out = title != NULL && shown->advice.kind != STRUCT_REORDER;
    struct table *table =
        document_table(document, NULL, title, basis, member_columns, MEMBER_COLUMNS - left_out);

    for (size_t i = 0; i < members->items.count; i++) {
        fill_member(shown, document, table_row(table), i);
        if (title != NULL)
            add_ruler(document, table, shown->used, i);
    }
    return table;
}

struct table *struct_pair_table(const struct used_type *used, struct document *document)
{
    struct table *table = document_table(document, NULL, NULL, NULL, COLUMNS(pair_columns));

    for (size_t i = 0; i < used->members.items.count; i++)
        for (size_t k = i + 1; k < used->members.items.count; k++) {
            double share = type_uses_together(used, i, k);
            struct row *row;

            if (!(share > 0))
                continue;
            row = table_row(table);
            row->cells[0] = cell_text(document, used->members.items.items[i].name);
            row->cells[1] = cell_text(document, used->members.items.items[k].name);
            row->cells[2] = cell_value(CELL_SHARE, share);
        }
    return table;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "document/document.h"

#include <stdlib.h>
#include <string.h>

#include "document/numbers.h"
#include "support/utf8.h"

struct document *document_create(void)
{
    struct document *document = allocate_zeroed(1, sizeof(*document));

    document->strings = intern_table_create();
    return document;
}

void document_free(struct document *document)
{
    if (document == NULL)
        return;
    for (size_t i = 0; i < document->sections.count; i++) {
        struct section *section = &document->sections.items[i];

        for (size_t k = 0; k < section->blocks.count; k++) {
            free(section->blocks.items[k].facts.items);
            free(section->blocks.items[k].tones.items);
        }
        free(section->blocks.items);
    }
    free(document->sections.items);
    for (size_t i = 0; i < document->tables.count; i++) {
        struct table *table = document->tables.items[i];

        for (size_t k = 0; k < table->rows.count; k++)
            free(table->rows.items[k].cells);
        free(table->rows.items);
        free(table);
    }
    free(document->tables.items);
    for (size_t i = 0; i < document->grids.count; i++) {
        free(document->grids.items[i]->values);
        free(document->grids.items[i]->labels);
        free(document->grids.items[i]);
    }
    free(document->grids.items);
    for (size_t i = 0; i < document->columns.count; i++)
        free(document->columns.items[i]);
    free(document->columns.items);
    intern_table_free(document->strings);
    free(document);
}

static const char *kept(struct document *document, const char *text)
{
    const char *string;
    char *valid;

    if (text == NULL)
        return NULL;
    valid = valid_utf8(text);
    string = intern_table_string(document->strings, valid);
    free(valid);
    return string;
}

struct section *document_section(struct document *document, const char *name, const char *title,
                                 bool shown)
{
    struct section section = {.name = name, .title = title, .shown = shown};

    ARRAY_PUSH(&document->sections, section);
    return &document->sections.items[document->sections.count - 1];
}

static void push_fact(struct section *section, struct fact fact)
{
    struct block facts = {.kind = BLOCK_FACTS};
    size_t count = section->blocks.count;

    if (count == 0 || section->blocks.items[count - 1].kind != BLOCK_FACTS)
        ARRAY_PUSH(&section->blocks, facts);
    ARRAY_PUSH(&section->blocks.items[section->blocks.count - 1].facts, fact);
}

void section_fact(struct section *section, const char *key, const char *label,
                  enum interval_keys interval, struct cell cell)
{
    push_fact(section,
              (struct fact){.key = key, .label = label, .interval = interval, .cell = cell});
}

void section_fact_as(struct document *document, struct section *section, const char *key,
                     const char *label, enum interval_keys interval, struct cell cell,
                     const char *text)
{
    push_fact(section, (struct fact){.key = key,
                                     .label = label,
                                     .interval = interval,
                                     .cell = cell,
                                     .text = kept(document, text)});
}

void section_table(struct section *section, struct table *table)
{
    struct block block = {.kind = BLOCK_TABLE, .table = table};

    ARRAY_PUSH(&section->blocks, block);
}

void section_grid(struct document *document, struct section *section, struct grid grid)
{
    struct block block = {.kind = BLOCK_GRID, .grid = allocate_zeroed(1, sizeof(grid))};

    grid.key = kept(document, grid.key);
    grid.title = kept(document, grid.title);
    grid.text = kept(document, grid.text);
    *block.grid = grid;
    ARRAY_PUSH(&document->grids, block.grid);
    ARRAY_PUSH(&section->blocks, block);
}

void section_paragraph(struct document *document, struct section *section, const char *key,
                       const char *text)
{
    struct block block = {.kind = BLOCK_PARAGRAPH, .key = key, .paragraph = kept(document, text)};

    ARRAY_PUSH(&section->blocks, block);
}

void section_verbatim(struct document *document, struct section *section, const char *key,
                      const char *text)
{
    struct block block = {.kind = BLOCK_VERBATIM, .key = key, .paragraph = kept(document, text)};

    ARRAY_PUSH(&section->blocks, block);
}

void section_verbatim_toned(struct document *document, struct section *section, const char *text,
                            const enum tone *tones, size_t lines)
{
    struct block *block;

    section_verbatim(document, section, NULL, text);
    block = &section->blocks.items[section->blocks.count - 1];
    for (size_t i = 0; i < lines; i++)
        ARRAY_PUSH(&block->tones, tones[i]);
}

struct table *document_table(struct document *document, const char *key, const char *title,
                             const char *basis, const struct column *columns, size_t column_count)
{
    struct table *table = allocate_zeroed(1, sizeof(*table));

    table->key = kept(document, key);
    table->title = kept(document, title);
    table->basis = kept(document, basis);
    table->columns = columns;
    table->column_count = column_count;
    ARRAY_PUSH(&document->tables, table);
    return table;
}

struct column *document_columns(struct document *document, size_t count)
{
    struct column *columns = allocate_zeroed(count, sizeof(*columns));

    ARRAY_PUSH(&document->columns, columns);
    return columns;
}

const char *document_string(struct document *document, const char *text)
{
    return kept(document, text);
}

void table_remark(struct document *document, struct table *table, const char *remark)
{
    table->remark = kept(document, remark);
}

struct row *table_row(struct table *table)
{
    struct row row = {.cells = allocate_zeroed(table->column_count, sizeof(*row.cells))};

    ARRAY_PUSH(&table->rows, row);
    return &table->rows.items[table->rows.count - 1];
}

void row_detail(struct document *document, struct row *row, const char *detail)
{
    row->detail = kept(document, detail);
}

void row_prose(struct document *document, struct row *row, const char *detail)
{
    row_detail(document, row, detail);
    row->prose = true;
}

struct cell cell_empty(void)
{
    return (struct cell){.kind = CELL_EMPTY};
}

struct cell cell_text(struct document *document, const char *text)
{
    if (text == NULL)
        return cell_empty();
    return (struct cell){.kind = CELL_TEXT, .text = kept(document, text)};
}

struct cell cell_value(enum cell_kind kind, double value)
{
    return (struct cell){.kind = kind, .value = {value, value, value}};
}

struct cell cell_estimate(enum cell_kind kind, struct estimate estimate)
{
    return (struct cell){.kind = kind, .interval = true, .value = estimate};
}

struct cell cell_beyond(void)
{
    return (struct cell){.kind = CELL_BEYOND};
}

/* Ends farther apart say nothing. curve.js draws what says something. */
#define WIDEST_SHARE 0.5

struct cell cell_share_between(struct estimate ends)
{
    struct cell cell = cell_estimate(CELL_SHARE, ends);

    if (ends.hi - ends.lo > WIDEST_SHARE)
        return cell_beyond();
    cell.range = true;
    return cell;
}

struct cell cell_above(double bytes)
{
    return cell_value(CELL_ABOVE, bytes);
}

struct cell cell_below(enum cell_kind kind, struct estimate estimate)
{
    return (struct cell){.kind = kind, .interval = true, .bound = true, .value = estimate};
}

struct cell cell_table(struct table *table)
{
    return (struct cell){.kind = CELL_TABLE, .table = table};
}

struct cell cell_truth(bool truth)
{
    return (struct cell){.kind = CELL_TRUTH, .value = {truth, truth, truth}};
}

char *cell_range_text(enum cell_kind kind, double lo, double hi)
{
    char *low, *high, *text;

    switch (kind) {
    case CELL_COUNT:
        return number_count_range(lo, hi);
    case CELL_BYTES:
        return number_bytes_range(lo, hi);
    case CELL_TIME:
        return number_time_range(lo, hi);
    default:
        low = cell_number_text(kind, lo);
        high = cell_number_text(kind, hi);
        text = strcmp(low, high) != 0 ? format_string("%s to %s", low, high) : copy_string(high);
        free(high);
        free(low);
        return text;
    }
}

char *cell_number_text(enum cell_kind kind, double value)
{
    switch (kind) {
    case CELL_COUNT:
        return number_count(value);
    case CELL_BYTES:
        return number_bytes(value);
    case CELL_SHARE:
        return number_percent(value);
    case CELL_TIME:
        return number_time(value);
    case CELL_FACTOR:
        return format_string("%.2f", value);
    default:
        return format_string("%.0f", value);
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/html/lookup.h"

#include <math.h>
#include <string.h>

const struct table *lookup_table(const struct document *document, const char *key)
{
    for (size_t i = 0; i < document->sections.count; i++) {
        const struct section *section = &document->sections.items[i];

        for (size_t k = 0; k < section->blocks.count; k++) {
            const struct block *block = &section->blocks.items[k];

            if (block->kind == BLOCK_TABLE && block->table->key != NULL &&
                strcmp(block->table->key, key) == 0)
                return block->table;
        }
    }
    return NULL;
}

static const struct fact *fact_of_section(const struct section *section, const char *key)
{
    for (size_t k = 0; k < section->blocks.count; k++) {
        const struct block *block = &section->blocks.items[k];

        for (size_t f = 0; f < block->facts.count; f++)
            if (block->facts.items[f].key != NULL && strcmp(block->facts.items[f].key, key) == 0)
                return &block->facts.items[f];
    }
    return NULL;
}

const struct fact *lookup_fact(const struct document *document, const char *key)
{
    for (size_t i = 0; i < document->sections.count; i++) {
        const struct fact *fact = fact_of_section(&document->sections.items[i], key);

        if (fact != NULL)
            return fact;
    }
    return NULL;
}

const struct cell *lookup_cell(const struct table *table, size_t row, const char *key)
{
    static const struct cell empty = {.kind = CELL_EMPTY};

    for (size_t k = 0; k < table->column_count; k++)
        if (table->columns[k].key != NULL && strcmp(table->columns[k].key, key) == 0)
            return &table->rows.items[row].cells[k];
    return &empty;
}

const char *lookup_text(const struct table *table, size_t row, const char *key)
{
    const struct cell *cell = lookup_cell(table, row, key);

    return cell->kind == CELL_TEXT ? cell->text : NULL;
}

bool cell_is_number(const struct cell *cell)
{
    switch (cell->kind) {
    case CELL_NUMBER:
    case CELL_COUNT:
    case CELL_BYTES:
    case CELL_SHARE:
    case CELL_FACTOR:
    case CELL_TIME:
        return !cell->bound && isfinite(cell->value.value);
    default:
        return false;
    }
}

double lookup_number(const struct table *table, size_t row, const char *key, double otherwise)
{
    const struct cell *cell = lookup_cell(table, row, key);

    return cell_is_number(cell) ? cell->value.value : otherwise;
}

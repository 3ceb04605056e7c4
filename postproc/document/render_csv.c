/* SPDX-License-Identifier: BSD-3-Clause */
/* Comma-separated values as RFC 4180 describes them, with \n at the end of a line. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "document/render.h"

static void put_text(const char *text, FILE *stream)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, stream);
        return;
    }
    fputc('"', stream);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            fputc('"', stream);
        fputc(*text, stream);
    }
    fputc('"', stream);
}

static void put_number(double value, FILE *stream)
{
    if (isfinite(value))
        fprintf(stream, "%.10g", value);
}

static void put_cell(const struct cell *cell, FILE *stream)
{
    switch (cell->kind) {
    case CELL_TEXT:
        put_text(cell->text, stream);
        break;
    case CELL_EMPTY:
    case CELL_TABLE:
        break;
    case CELL_BEYOND:
    case CELL_ABOVE:
        fputs("beyond", stream);
        break;
    default:
        put_number(cell->bound ? NAN : cell->value.value, stream);
        break;
    }
}

static void put_interval(const struct cell *cell, FILE *stream)
{
    bool known = cell->kind != CELL_EMPTY && cell->kind != CELL_BEYOND && cell->kind != CELL_ABOVE;

    fputc(',', stream);
    put_number(known ? cell->value.lo : NAN, stream);
    fputc(',', stream);
    put_number(known ? cell->value.hi : NAN, stream);
}

static void put_header(const struct table *table, const char *parent, FILE *stream)
{
    fputs(parent != NULL ? "table,row" : "table", stream);
    for (size_t k = 0; k < table->column_count; k++) {
        const struct column *column = &table->columns[k];

        if (column->key == NULL)
            continue;
        fprintf(stream, ",%s", column->key);
        if (column->interval == INTERVAL_SUFFIXED)
            fprintf(stream, ",%s_lo,%s_hi", column->key, column->key);
        else if (column->interval == INTERVAL_BARE)
            fputs(",lo,hi", stream);
    }
    fputc('\n', stream);
}

/* Rows of a table within row `parent_row` of another carry that row's number. */
static void put_rows(const struct table *table, const char *name, const char *parent,
                     size_t parent_row, FILE *stream)
{
    for (size_t i = 0; i < table->rows.count; i++) {
        put_text(name, stream);
        if (parent != NULL)
            fprintf(stream, ",%zu", parent_row + 1);
        for (size_t k = 0; k < table->column_count; k++) {
            const struct cell *cell = &table->rows.items[i].cells[k];

            if (table->columns[k].key == NULL)
                continue;
            fputc(',', stream);
            put_cell(cell, stream);
            if (table->columns[k].interval != INTERVAL_NONE)
                put_interval(cell, stream);
        }
        fputc('\n', stream);
    }
}

/* The tables that column k of a table holds, as one table. */
static void put_inner(const struct table *table, size_t column, FILE *stream)
{
    char *name = format_string("%s.%s", table->key, table->columns[column].key);
    bool started = false;

    for (size_t i = 0; i < table->rows.count; i++) {
        const struct cell *cell = &table->rows.items[i].cells[column];

        if (cell->kind != CELL_TABLE)
            continue;
        if (!started) {
            fputc('\n', stream);
            put_header(cell->table, table->key, stream);
        }
        started = true;
        put_rows(cell->table, name, table->key, i, stream);
    }
    free(name);
}

static void put_facts(const struct section *section, const struct block *block, bool *started,
                      FILE *stream)
{
    if (*started)
        fputc('\n', stream);
    *started = true;
    fputs("table,key,value,lo,hi\n", stream);
    for (size_t f = 0; f < block->facts.count; f++) {
        const struct fact *fact = &block->facts.items[f];

        if (fact->key == NULL)
            continue;
        fprintf(stream, "%s,%s,", section->name, fact->key);
        put_cell(&fact->cell, stream);
        if (fact->interval != INTERVAL_NONE)
            put_interval(&fact->cell, stream);
        else
            fputs(",,", stream);
        fputc('\n', stream);
    }
}

/* A header with the columns' labels, and a line per row that begins with the row's. */
static void put_grid(const struct grid *grid, FILE *stream)
{
    fprintf(stream, "table,%s", grid->row_name);
    for (size_t k = 0; k < grid->columns; k++) {
        fputc(',', stream);
        put_number(grid->labels[k], stream);
    }
    fputc('\n', stream);
    for (size_t i = 0; i < grid->rows; i++) {
        fprintf(stream, "%s,", grid->key);
        put_number(grid->labels[i], stream);
        for (size_t k = 0; k < grid->columns; k++) {
            fputc(',', stream);
            put_number(grid->values[i * grid->columns + k], stream);
        }
        fputc('\n', stream);
    }
}

void render_csv(const struct document *document, FILE *stream)
{
    bool started = false;

    for (size_t i = 0; i < document->sections.count; i++) {
        const struct section *section = &document->sections.items[i];

        for (size_t k = 0; section->shown && k < section->blocks.count; k++) {
            const struct block *block = &section->blocks.items[k];
            const struct table *table = block->table;

            if (block->kind == BLOCK_FACTS)
                put_facts(section, block, &started, stream);
            if (block->kind == BLOCK_GRID && block->grid->labels != NULL) {
                if (started)
                    fputc('\n', stream);
                started = true;
                put_grid(block->grid, stream);
            }
            if (block->kind != BLOCK_TABLE || table->key == NULL)
                continue;
            if (started)
                fputc('\n', stream);
            started = true;
            put_header(table, NULL, stream);
            put_rows(table, table->key, NULL, 0, stream);
            for (size_t c = 0; c < table->column_count; c++)
                if (table->columns[c].key != NULL)
                    put_inner(table, c, stream);
        }
    }
}

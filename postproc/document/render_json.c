/* SPDX-License-Identifier: BSD-3-Clause */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "document/document_json.h"
#include "document/render.h"

/* The object that a dotted key's last part belongs to; *last is that part. */
static json_t *holder_of(json_t *object, const char *key, const char **last)
{
    const char *dot;

    while ((dot = strchr(key, '.')) != NULL) {
        char *part = format_string("%.*s", (int)(dot - key), key);
        json_t *next = json_object_get(object, part);

        if (!json_is_object(next)) {
            next = json_object();
            json_object_set_new(object, part, next);
        }
        free(part);
        object = next;
        key = dot + 1;
    }
    *last = key;
    return object;
}

static json_t *number(double value)
{
    if (!isfinite(value))
        return json_null();
    if (value == floor(value) && fabs(value) < 9007199254740992.0)
        return json_integer((json_int_t)value);
    return json_real(value);
}

static json_t *table_value(const struct table *table);

static json_t *cell_json(const struct cell *cell)
{
    switch (cell->kind) {
    case CELL_TEXT:
        return json_string(cell->text);
    case CELL_TABLE:
        return table_value(cell->table);
    case CELL_TRUTH:
        return json_boolean(cell->value.value != 0);
    case CELL_EMPTY:
    case CELL_BEYOND:
    case CELL_ABOVE:
        return json_null();
    default:
        return number(cell->bound ? NAN : cell->value.value);
    }
}

static void set_suffixed(json_t *object, const char *key, const char *suffix, double value)
{
    char *name = format_string("%s%s", key, suffix);

    json_object_set_new(object, name, number(value));
    free(name);
}

static void set_cell(json_t *object, const char *key, enum interval_keys interval,
                     const struct cell *cell)
{
    const char *last;
    json_t *holder = holder_of(object, key, &last);
    bool known = cell->kind != CELL_EMPTY && cell->kind != CELL_BEYOND && cell->kind != CELL_ABOVE;
    double lo = known ? cell->value.lo : NAN, hi = known ? cell->value.hi : NAN;

    if (interval == INTERVAL_OBJECT) {
        json_t *estimate = json_object();

        json_object_set_new(estimate, "value", cell_json(cell));
        json_object_set_new(estimate, "lo", number(lo));
        json_object_set_new(estimate, "hi", number(hi));
        json_object_set_new(holder, last, estimate);
        return;
    }
    json_object_set_new(holder, last, cell_json(cell));
    if (interval == INTERVAL_SUFFIXED) {
        set_suffixed(holder, last, "_lo", lo);
        set_suffixed(holder, last, "_hi", hi);
    } else if (interval == INTERVAL_BARE) {
        json_object_set_new(holder, "lo", number(lo));
        json_object_set_new(holder, "hi", number(hi));
    }
}

static json_t *table_value(const struct table *table)
{
    json_t *array = json_array();

    for (size_t i = 0; i < table->rows.count; i++) {
        json_t *object = json_object();

        for (size_t k = 0; k < table->column_count; k++)
            if (table->columns[k].key != NULL)
                set_cell(object, table->columns[k].key, table->columns[k].interval,
                         &table->rows.items[i].cells[k]);
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *numbers(const double *values, size_t count)
{
    json_t *array = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, number(values[i]));
    return array;
}

static json_t *grid_value(const struct grid *grid)
{
    json_t *array;

    if (grid->vector)
        return numbers(grid->values, grid->columns);
    array = json_array();
    for (size_t i = 0; i < grid->rows; i++)
        json_array_append_new(array, numbers(grid->values + i * grid->columns, grid->columns));
    return array;
}

static void append_text(json_t *root, const char *key, const char *text)
{
    const char *last;
    json_t *holder = holder_of(root, key, &last);
    json_t *array = json_object_get(holder, last);

    if (!json_is_array(array)) {
        array = json_array();
        json_object_set_new(holder, last, array);
    }
    json_array_append_new(array, json_string(text));
}

json_t *document_json(const struct document *document)
{
    json_t *root = json_object();

    for (size_t i = 0; i < document->sections.count; i++) {
        const struct section *section = &document->sections.items[i];

        for (size_t k = 0; k < section->blocks.count; k++) {
            const struct block *block = &section->blocks.items[k];

            for (size_t f = 0; f < block->facts.count; f++)
                if (block->facts.items[f].key != NULL)
                    set_cell(root, block->facts.items[f].key, block->facts.items[f].interval,
                             &block->facts.items[f].cell);
            if (block->kind == BLOCK_TABLE && block->table->key != NULL) {
                const char *last;
                json_t *holder = holder_of(root, block->table->key, &last);

                json_object_set_new(holder, last, table_value(block->table));
            }
            if (block->kind == BLOCK_GRID && block->grid->key != NULL) {
                const char *last;
                json_t *holder = holder_of(root, block->grid->key, &last);

                json_object_set_new(holder, last, grid_value(block->grid));
            }
            if ((block->kind == BLOCK_PARAGRAPH || block->kind == BLOCK_VERBATIM) &&
                block->key != NULL)
                append_text(root, block->key, block->paragraph);
        }
    }
    return root;
}

void render_json(const struct document *document, FILE *stream)
{
    json_t *root = document_json(document);

    json_dumpf(root, stream, JSON_INDENT(1) | JSON_REAL_PRECISION(10));
    fputc('\n', stream);
    json_decref(root);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/html/cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "document/cell_text.h"
#include "document/numbers.h"
#include "report/html/escape.h"
#include "report/html/lookup.h"
#include "support/memory.h"

/* Names up to NAME_WHOLE bytes are shown whole, of others so much of both ends. */
enum { NAME_WHOLE = 320, NAME_HEAD = 60, NAME_TAIL = 60 };

static void put_number(enum cell_kind kind, double value, FILE *stream)
{
    char *text = cell_number_text(kind, value);

    fputs(text, stream);
    free(text);
}

/* An interval that is so many times the value tells its reader as much without a number. */
#define NOTHING_KNOWN 1e4

static void put_interval(const struct cell *cell, FILE *stream)
{
    const struct estimate *value = &cell->value;
    double half = fmax(value->hi - value->value, value->value - value->lo);
    char *range, *high;

    if (!cell->interval || !(half > 0))
        return;
    if (!isfinite(half) || (cell->kind != CELL_SHARE && half > NOTHING_KNOWN * value->value)) {
        fputs("<small>not known well</small>", stream);
        return;
    }
    range = cell_range_text(cell->kind, fmax(value->lo, 0), value->hi);
    high = cell_number_text(cell->kind, value->hi);
    if (strcmp(range, high) != 0)
        fprintf(stream, "<small>%s</small>", range);
    free(high);
    free(range);
}

void html_value(const struct cell *cell, bool unit, FILE *stream)
{
    switch (cell->kind) {
    case CELL_TEXT:
        html_name(cell->text, stream);
        return;
    case CELL_BEYOND:
        fputs("beyond", stream);
        return;
    case CELL_ABOVE:
        fputs("&gt; ", stream);
        put_number(CELL_BYTES, cell->value.value, stream);
        return;
    case CELL_TRUTH:
        fputs(cell->value.value != 0 ? "yes" : "no", stream);
        return;
    default:
        break;
    }
    if (cell->bound && isfinite(cell->value.hi)) {
        fputs("&lt; ", stream);
        put_number(cell->kind, cell->value.hi, stream);
        return;
    }
    if (cell->range) {
        char *text = cell_string(cell);

        fputs(text, stream);
        if (unit)
            fputs(" %", stream);
        free(text);
        return;
    }
    if (!cell_is_number(cell)) {
        fputs("<span class=\"none\">–</span>", stream);
        return;
    }
    put_number(cell->kind, cell->value.value, stream);
    if (cell->kind == CELL_SHARE && unit)
        fputs(" %", stream);
    if (cell->marked)
        fputc('*', stream);
    put_interval(cell, stream);
}

void html_number_attribute(const struct cell *cell, FILE *stream)
{
    if (cell_is_number(cell))
        fprintf(stream, " data-v=\"%.10g\"", cell->value.value);
}

/* The first byte of the character that byte i is part of. */
static size_t character_start(const char *text, size_t i)
{
    while (i > 0 && ((unsigned char)text[i] & 0xc0) == 0x80)
        i--;
    return i;
}

void html_name(const char *name, FILE *stream)
{
    size_t length = strlen(name), head, tail;

    if (length <= NAME_WHOLE) {
        html_text(name, stream);
        return;
    }
    head = character_start(name, NAME_HEAD);
    tail = character_start(name, length - NAME_TAIL);
    fputs("<details class=\"long\"><summary>", stream);
    html_text_part(name, head, stream);
    fputs("…", stream);
    html_text(name + tail, stream);
    fputs("</summary>", stream);
    html_text(name, stream);
    fputs("</details>", stream);
}

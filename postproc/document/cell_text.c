/* SPDX-License-Identifier: BSD-3-Clause */
#include "document/cell_text.h"

#include <langinfo.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "document/numbers.h"

static const char *plus_minus(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? "\u00b1" : "+-";
}

/* An interval that is so many times the value tells its reader as much without a number. */
#define NOTHING_KNOWN 1e4

/* The end of a range of shares, in percent, short. */
static char *share_end(double value)
{
    return format_string(value <= 0 || value >= 0.0995 ? "%.0f" : "%.1f", 100 * value);
}

/* A lower end at less than this part of the value: it is hard to see how little it is. */
#define NEXT_TO_NOTHING 0.1

/* 12.3+-0.5 would go below zero or above all, or says less than its two ends. */
static bool is_better_as_range(const struct cell *cell, double half)
{
    const struct estimate *value = &cell->value;

    if (cell->kind == CELL_SHARE)
        return half >= 0.0005 &&
               (value->value - half < NEXT_TO_NOTHING * value->value || value->value + half > 1);
    return half >= value->value;
}

/* What is more than nothing is not 0.0 at the upper end. */
#define LEAST_SHARE 0.001

/* 0 to 3; the caller frees it. */
static char *number_range(const struct cell *cell)
{
    double most = cell->value.hi;
    char *lo, *hi, *text;

    if (cell->kind != CELL_SHARE)
        return cell_range_text(cell->kind, cell->value.lo, most);
    lo = share_end(cell->value.lo);
    hi = share_end(most > 0 && most < LEAST_SHARE ? LEAST_SHARE : most);
    text = format_string("%s to %s", lo, hi);
    free(lo);
    free(hi);
    return text;
}

/* 12.3+-0.5: the larger half of the interval stands for both. */
static char *number_with_interval(const struct cell *cell)
{
    const struct estimate *value = &cell->value;
    double half = fmax(value->hi - value->value, value->value - value->lo);
    char *number = cell_number_text(cell->kind, value->value), *spread, *text;

    if (cell->bound) {
        free(number);
        number = cell_number_text(cell->kind, value->hi);
        text = format_string("< %s", number);
        free(number);
        return text;
    }
    if (!cell->interval || !(half > 0))
        return number;
    if (!isfinite(half) ||
        (cell->kind != CELL_SHARE && value->value > 0 && half > NOTHING_KNOWN * value->value)) {
        text = value->value > 0 ? format_string("about %s", number) : copy_string("not known");
        free(number);
        return text;
    }
    if (cell->range || is_better_as_range(cell, half)) {
        free(number);
        return number_range(cell);
    }
    spread = cell->kind == CELL_SHARE ? format_string("%.1f", fmax(100 * half, 0.1))
                                      : cell_number_text(cell->kind, half);
    text = format_string("%s%s%s", number, plus_minus(), spread);
    free(spread);
    free(number);
    return text;
}

static char *plain_string(const struct cell *cell)
{
    char *number, *text;

    switch (cell->kind) {
    case CELL_TEXT:
        return copy_string(cell->text);
    case CELL_EMPTY:
    case CELL_TABLE:
        return copy_string("-");
    case CELL_BEYOND:
        return copy_string("beyond");
    case CELL_ABOVE:
        number = number_bytes(cell->value.value);
        text = format_string("> %s", number);
        free(number);
        return text;
    case CELL_TRUTH:
        return copy_string(cell->value.value != 0 ? "yes" : "no");
    default:
        if (!isfinite(cell->value.value))
            return copy_string("-");
        return number_with_interval(cell);
    }
}

char *cell_string(const struct cell *cell)
{
    char *plain = plain_string(cell), *text;

    if (!cell->marked)
        return plain;
    text = format_string("%s*", plain);
    free(plain);
    return text;
}

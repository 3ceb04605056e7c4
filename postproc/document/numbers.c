/* SPDX-License-Identifier: BSD-3-Clause */
#include "document/numbers.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "support/memory.h"

/* What is left of zero where shares were added and subtracted. */
#define ROUNDING_PERCENT 1e-10

/* The units of a quantity, each so many times the one before. */
struct scale {
    double step;
    const char *const *units;
    size_t count;
};

#define SCALE(step, ...)                                                                           \
    {                                                                                              \
        step, (const char *const[]){__VA_ARGS__},                                                  \
            sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *)                            \
    }
static const struct scale counts = SCALE(1000, "", "k", "M", "G", "T", "P", "E");
static const struct scale sizes = SCALE(1024, "B", "KiB", "MiB", "GiB", "TiB", "PiB");
static const struct scale times = SCALE(1000, "ns", "us", "ms", "s");

/* Up to here a count has no unit. */
enum { PLAIN_COUNT = 10000 };

/* Three significant digits of a number below 1000 (or 1024), without trailing zeros after a point
 * that say nothing. */
static char *three_digits(double value)
{
    int decimals = fabs(value) < 9.995 ? 2 : fabs(value) < 99.95 ? 1 : 0;

    if (fabs(value) < 0.005)
        return copy_string("0");
    return format_string("%.*f", value == floor(value) ? 0 : decimals, value);
}

static size_t unit_of(const struct scale *scale, double value)
{
    size_t unit = 0;

    if (scale == &counts && fabs(value) < PLAIN_COUNT)
        return 0;
    for (; unit + 1 < scale->count && fabs(value) >= scale->step * 0.9995; unit++)
        value /= scale->step;
    return unit;
}

/* Without the unit. There are no parts of the smallest ones. */
static char *in_unit(const struct scale *scale, size_t unit, double value)
{
    return three_digits(unit == 0 ? round(value) : value / pow(scale->step, (double)unit));
}

static char *with_unit(const struct scale *scale, size_t unit, char *number)
{
    const char *name = scale->units[unit];
    char *text = format_string("%s%s%s", number, *name != '\0' ? " " : "", name);

    free(number);
    return text;
}

static char *scaled(const struct scale *scale, double value)
{
    size_t unit = unit_of(scale, value);

    return with_unit(scale, unit, in_unit(scale, unit, value));
}

static char *range(const struct scale *scale, double lo, double hi)
{
    size_t unit = unit_of(scale, hi);
    char *low = in_unit(scale, unit, lo), *high = in_unit(scale, unit, hi), *text;

    text = lo < hi && strcmp(low, high) != 0 ? format_string("%s to %s", low, high)
                                             : copy_string(high);
    free(high);
    free(low);
    return with_unit(scale, unit, text);
}

char *number_count(double count)
{
    return scaled(&counts, count);
}

char *number_bytes(double bytes)
{
    return scaled(&sizes, bytes);
}

char *number_time(double ns)
{
    return scaled(&times, ns);
}

char *number_count_range(double lo, double hi)
{
    return range(&counts, lo, hi);
}

char *number_bytes_range(double lo, double hi)
{
    return range(&sizes, lo, hi);
}

char *number_time_range(double lo, double hi)
{
    return range(&times, lo, hi);
}

char *number_percent(double share)
{
    double percent = 100 * share;

    if (percent > ROUNDING_PERCENT && percent < 0.005)
        return format_string("<0.01");
    if (percent < 0.995)
        return format_string("%.2f", percent);
    return format_string("%.1f", percent);
}

int number_heat(double share)
{
    int shade = (int)lround(9 * sqrt(fmin(fmax(share, 0), 1)));

    return share > 0.0005 && shade == 0 ? 1 : shade;
}

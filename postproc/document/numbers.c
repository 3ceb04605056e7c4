/* SPDX-License-Identifier: BSD-3-Clause */
#include "document/numbers.h"

#include <math.h>
#include <stddef.h>

#include "support/memory.h"

/* What is left of zero where shares were added and subtracted. */
#define ROUNDING_PERCENT 1e-10

/* Three significant digits of a number below 1000 (or 1024), without trailing zeros after a point
 * that say nothing. */
static char *three_digits(double value, const char *unit)
{
    int decimals = fabs(value) < 9.995 ? 2 : fabs(value) < 99.95 ? 1 : 0;
    char *text;

    if (value == floor(value))
        decimals = 0;
    text = format_string("%.*f%s%s", decimals, value, *unit != '\0' ? " " : "", unit);
    return text;
}

static char *scaled(double value, double step, const char *const *units, size_t count)
{
    size_t unit = 0;

    while (unit + 1 < count && fabs(value) >= step * 0.9995) {
        value /= step;
        unit++;
    }
    return three_digits(value, units[unit]);
}

char *number_count(double count)
{
    static const char *const units[] = {"", "k", "M", "G", "T", "P", "E"};

    if (fabs(count) < 10000)
        return three_digits(round(count), "");
    return scaled(count, 1000, units, sizeof(units) / sizeof(*units));
}

char *number_bytes(double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};

    return scaled(bytes < 1024 ? round(bytes) : bytes, 1024, units, sizeof(units) / sizeof(*units));
}

char *number_time(double ns)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};

    return scaled(ns < 1000 ? round(ns) : ns, 1000, units, sizeof(units) / sizeof(*units));
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

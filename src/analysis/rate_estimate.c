/* SPDX-License-Identifier: BSD-3-Clause */
#include "analysis/rate_estimate.h"

#include <math.h>
#include <stdlib.h>

/* Readings within this factor of each other agree. */
#define AGREEMENT 1.15
/* A single reading's deviation of ln(rate) when too few are there to tell, and the least standard
 * error that is believed: timer and counting noise that readings of one run share. */
#define SINGLE_DEVIATION 0.25
#define LEAST_ERROR 0.01
/* Readings further above the middle than this are mistakes. */
#define STRAY 5.0
/* A reading says something of the order of magnitude, however short it was. */
#define NOISE_MAX 1.0
/* What all readings may have in common, of ln(rate): clocks, and the frequency of a processor that
 * changes with what it does. */
#define SHARED_DEVIATION 0.06
/* Fewer than this share of at least so many that agree: the code varies, or readings are wrong. */
#define AGREEING_LEAST 0.35
enum { AGREEING_OF = 4 };

static int compare_readings(const void *a, const void *b)
{
    const struct rate_reading *x = a, *y = b;

    return (x->per_ns > y->per_ns) - (x->per_ns < y->per_ns);
}

/* By how well it can tell. Errors of time are taken at the middle rate, not at its own. */
static double weight_of(const struct rate_reading *reading, double middle)
{
    double noise = fmin(NOISE_MAX, reading->noise * middle);

    return 1 / (SINGLE_DEVIATION * SINGLE_DEVIATION + noise * noise +
                reading->deviation * reading->deviation);
}

/* Of sorted readings, the middle one by weight. */
static double middle_of(const struct rate_reading *readings, size_t n)
{
    double all = 0, below = 0, middle = readings[n / 2].per_ns;
    size_t i = 0;

    for (size_t k = 0; k < n; k++)
        all += weight_of(&readings[k], middle);
    for (; i + 1 < n; i++) {
        below += weight_of(&readings[i], middle);
        if (below >= all / 2)
            break;
    }
    return readings[i].per_ns;
}

struct mean {
    double value, error; /* of the mean */
    double common;       /* relative, in common with other loops */
};

static struct mean mean_of(const struct rate_reading *readings, size_t n)
{
    struct mean mean = {0};
    double weights = 0, squared_weights = 0, squares = 0, common = 0;
    double middle = middle_of(readings, n);

    for (size_t i = 0; i < n; i++) {
        double value = fmin(readings[i].per_ns, STRAY * middle);
        double weight = weight_of(&readings[i], middle);

        weights += weight;
        squared_weights += weight * weight;
        mean.value += weight * value;
        squares += weight * value * value;
        common += weight * readings[i].deviation;
    }
    mean.value /= weights;
    mean.common = hypot(common / weights, SHARED_DEVIATION);
    /* As many equal readings as these are worth, and what one of them scatters by. */
    double count = weights * weights / squared_weights;
    double variance = mean.value * mean.value * (double)n / weights;
    if (count > 1) {
        double scatter = fmax(0, squares / weights - mean.value * mean.value) * count / (count - 1);

        /* Shrunk towards what single readings scatter by, worth one observation. */
        variance = ((count - 1) * scatter + variance) / count;
    }
    mean.error = fmax(LEAST_ERROR * mean.value, sqrt(variance / count));
    return mean;
}

struct rate_estimate rate_combine(struct rate_reading *readings, size_t n)
{
    struct rate_estimate out = {.readings = n};

    qsort(readings, n, sizeof *readings, compare_readings);
    struct mean mean = mean_of(readings, n);
    double low = mean.value, high = mean.value;
    for (size_t i = 0; i < n; i++)
        out.agreeing += readings[i].per_ns <= mean.value * AGREEMENT &&
                        readings[i].per_ns >= mean.value / AGREEMENT;
    if (n >= AGREEING_OF && (double)out.agreeing < AGREEING_LEAST * (double)n) {
        /* No crowd to speak of: the middle of everything, and the top, are possible as well. */
        low = fmin(low, readings[n / 2].per_ns);
        high = fmax(high, readings[n - 1 - (n - 1) / 20].per_ns);
    }
    out.log_deviation = mean.error / mean.value;
    out.common_deviation = mean.common;
    double factor = exp(1.96 * hypot(out.log_deviation, out.common_deviation));
    out.per_ns = (struct estimate){mean.value, fmin(low, mean.value / factor),
                                   fmax(high, mean.value * factor)};
    return out;
}

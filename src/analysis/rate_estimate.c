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

static int compare_readings(const void *a, const void *b)
{
    const struct rate_reading *x = a, *y = b;

    if (x->per_ns != y->per_ns)
        return x->per_ns < y->per_ns ? -1 : 1;
    return (int)x->can_wrap - (int)y->can_wrap;
}

/*
 * Where readings crowd: the factor-wide stretch that holds most of them; of stretches nearly as
 * full (60 %) the highest, because wrapped readings also crowd but only below the truth. readings
 * are sorted. Returns the stretch's mean.
 */
static double crowd(const struct rate_reading *readings, size_t n)
{
    size_t most = 0, best_first = 0, best_end = 1;

    for (int pass = 0; pass < 2; pass++) {
        for (size_t first = 0, end = 0; first < n; first++) {
            while (end < n && readings[end].per_ns <= readings[first].per_ns * AGREEMENT)
                end++;
            if (pass == 0 && end - first > most) {
                most = end - first;
            } else if (pass == 1 && (double)(end - first) >= 0.6 * (double)most &&
                       end >= best_end) {
                best_first = first;
                best_end = end;
            }
            if (end == n && pass == 0)
                break;
        }
    }
    double sum = 0;
    for (size_t i = best_first; i < best_end; i++)
        sum += readings[i].per_ns;
    return sum / (double)(best_end - best_first);
}

struct mean {
    size_t n;
    double value, error; /* of the mean */
};

static struct mean mean_between(const struct rate_reading *readings, size_t n, bool can_wrap,
                                double low, double high)
{
    struct mean mean = {0};
    double squares = 0;

    for (size_t i = 0; i < n; i++) {
        if (readings[i].can_wrap != can_wrap || readings[i].per_ns < low)
            continue;
        double value = readings[i].per_ns < high ? readings[i].per_ns : high;
        mean.n++;
        mean.value += value;
        squares += value * value;
    }
    if (mean.n == 0)
        return mean;
    mean.value /= (double)mean.n;
    double deviation = SINGLE_DEVIATION * mean.value;
    if (mean.n > 1) {
        double variance =
            (squares - (double)mean.n * mean.value * mean.value) / (double)(mean.n - 1);
        /* Shrunk towards what single readings scatter by, worth one observation. */
        variance = ((double)(mean.n - 1) * (variance > 0 ? variance : 0) + deviation * deviation) /
                   (double)mean.n;
        deviation = sqrt(variance);
    }
    mean.error = deviation / sqrt((double)mean.n);
    if (mean.error < LEAST_ERROR * mean.value)
        mean.error = LEAST_ERROR * mean.value;
    return mean;
}

struct rate_estimate rate_combine(struct rate_reading *readings, size_t n)
{
    qsort(readings, n, sizeof *readings, compare_readings);

    double centre = crowd(readings, n);
    /* Genuine variation lies on both sides of the crowd; wrapping adds to the lower side only. So
     * odometers are cut below at the mirror image of how far readings reach above. */
    double top = readings[n - 1 - (n - 1) / 20].per_ns;
    double reach = top > centre ? top / centre : 1;
    if (reach > 3)
        reach = 3; /* a stray short reading may be far too high */
    if (reach < AGREEMENT)
        reach = AGREEMENT;
    struct mean odometer = mean_between(readings, n, true, centre / reach, centre * reach);
    struct mean watch = mean_between(readings, n, false, 0, centre * 3);
    struct rate_estimate out = {.readings = n};
    double value, error, low = INFINITY, high = 0;

    if (odometer.n == 0 || watch.n == 0) {
        value = odometer.n ? odometer.value : watch.value;
        error = odometer.n ? odometer.error : watch.error;
    } else {
        double apart = fabs(odometer.value - watch.value);
        double allowed = 2.5 * hypot(odometer.error, watch.error);
        if (apart <= allowed || apart <= 0.1 * watch.value) {
            double a = 1 / (odometer.error * odometer.error), b = 1 / (watch.error * watch.error);
            value = (a * odometer.value + b * watch.value) / (a + b);
            error = sqrt(1 / (a + b));
        } else {
            /* Both methods can only be wrong downwards (wrapping; trap time counted as the
             * program's), so the higher one is believed and the other bounds the doubt. */
            bool first = odometer.value > watch.value;
            value = first ? odometer.value : watch.value;
            error = first ? odometer.error : watch.error;
            low = first ? watch.value : odometer.value;
        }
    }
    for (size_t i = 0; i < n; i++)
        out.agreeing +=
            readings[i].per_ns <= value * AGREEMENT && readings[i].per_ns >= value / AGREEMENT;
    if (n >= 4 && (double)out.agreeing < 0.35 * (double)n) {
        /* No crowd to speak of: the middle of everything, and the top, are possible as well. */
        double middle = readings[n / 2].per_ns;
        low = middle < low ? middle : low;
        high = top;
    }
    out.log_deviation = error / value;
    double factor = exp(1.96 * out.log_deviation);
    out.per_ns.value = value;
    out.per_ns.lo = low < value / factor ? low : value / factor;
    out.per_ns.hi = high > value * factor ? high : value * factor;
    return out;
}

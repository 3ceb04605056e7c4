/* SPDX-License-Identifier: BSD-3-Clause */
#include "analysis/rates/rate_estimate.h"

#include <math.h>
#include <stdlib.h>

/* Readings within this factor of each other agree. */
#define AGREEMENT 1.15
/* A single reading's deviation of ln(rate) when too few are there to tell, and the least standard
 * error that is believed: timer and counting noise that readings of one run share. */
#define SINGLE_DEVIATION 0.25
#define LEAST_ERROR 0.01
/* Share of the readings that makes a stretch of them a crowd: more than wrapped readings, which
 * spread evenly from nothing to the truth, put into the uppermost stretch. */
#define CROWD 0.25
/* Readings further above the crowd than this are mistakes. */
#define STRAY 3.0
/* Of readings that are spread evenly from nothing up, this part lies below this part of them; fewer
 * than have so small a probability were not spread so. */
#define FAR_BELOW 0.25
#define NOT_EVENLY 0.02
/* A reading says something of the order of magnitude, however short it was. */
#define NOISE_MAX 1.0
enum { ENOUGH_WATCHES = 5, ENOUGH_ODOMETERS = 3, CROWD_LEAST = 3 };
/* What all readings of a kind may have in common, of ln(rate). Odometers: clocks, and the frequency
 * of a processor that changes with what it does. Watches: they time what exploring has just read.
 */
#define ODOMETERS_SHARE 0.06
#define WATCHES_SHARE 0.25

static int compare_readings(const void *a, const void *b)
{
    const struct rate_reading *x = a, *y = b;

    if (x->per_ns != y->per_ns)
        return x->per_ns < y->per_ns ? -1 : 1;
    return (int)x->odometer - (int)y->odometer;
}

/* Odometers first, each method in order. */
static int compare_methods(const void *a, const void *b)
{
    const struct rate_reading *x = a, *y = b;

    return x->odometer != y->odometer ? (int)y->odometer - (int)x->odometer
                                      : compare_readings(a, b);
}

/* A stretch of readings within the factor AGREEMENT. */
struct stretch {
    size_t first, count;
    double centre; /* mean */
};

static struct stretch stretch_from(const struct rate_reading *readings, size_t n, size_t first)
{
    struct stretch stretch = {.first = first};
    double sum = 0;

    for (size_t i = first; i < n && readings[i].per_ns <= readings[first].per_ns * AGREEMENT; i++) {
        sum += readings[i].per_ns;
        stretch.count++;
    }
    stretch.centre = sum / (double)stretch.count;
    return stretch;
}

/*
 * Where sorted readings crowd: the fullest stretch, or one nearly as full (60 %) and clearly above
 * it (1.5 times), because wrapped readings can also crowd, but only below the truth.
 */
static struct stretch crowd(const struct rate_reading *readings, size_t n)
{
    struct stretch fullest = {0}, best;

    for (size_t i = 0; i < n; i++) {
        struct stretch stretch = stretch_from(readings, n, i);
        if (stretch.count >= fullest.count)
            fullest = stretch;
    }
    best = fullest;
    for (size_t i = fullest.first + fullest.count; i < n; i++) {
        struct stretch stretch = stretch_from(readings, n, i);
        if (stretch.centre > 1.5 * fullest.centre && stretch.count * 5 >= fullest.count * 3 &&
            stretch.count >= CROWD_LEAST && (double)stretch.count >= CROWD * (double)n &&
            (best.first == fullest.first || stretch.count >= best.count))
            best = stretch;
    }
    return best;
}

struct mean {
    size_t n;
    double value, error; /* of the mean */
    double common;       /* relative, in common with other loops */
};

/*
 * Mean of one method's readings, sorted, without those below low that can have wrapped. Short
 * readings weigh less: their errors are taken at the rate of the crowd, not at their own. A stray
 * one may be far too high: none counts for more than STRAY times the crowd.
 */
static struct mean mean_between(const struct rate_reading *readings, size_t n, double low)
{
    struct mean mean = {0};
    double weights = 0, squared_weights = 0, squares = 0, common = 0;
    double about = n ? crowd(readings, n).centre : 0, high = about * STRAY;

    for (size_t i = 0; i < n; i++) {
        if (readings[i].can_wrap && readings[i].per_ns < low)
            continue;
        double value = readings[i].per_ns < high ? readings[i].per_ns : high;
        double noise = fmin(NOISE_MAX, readings[i].noise * about);
        double weight = 1 / (1 + noise * noise / (SINGLE_DEVIATION * SINGLE_DEVIATION));
        mean.n++;
        weights += weight;
        squared_weights += weight * weight;
        mean.value += weight * value;
        squares += weight * value * value;
        common += weight * readings[i].deviation;
    }
    if (mean.n == 0)
        return mean;
    mean.value /= weights;
    mean.common = hypot(common / weights, readings[0].odometer ? ODOMETERS_SHARE : WATCHES_SHARE);
    /* As many equal readings as these are worth, and what one of them scatters by. */
    double count = weights * weights / squared_weights;
    double deviation = SINGLE_DEVIATION * mean.value * sqrt((double)mean.n / weights);
    if (count > 1) {
        double variance = (squares / weights - mean.value * mean.value) * count / (count - 1);
        /* Shrunk towards what single readings scatter by, worth one observation. */
        variance = ((count - 1) * (variance > 0 ? variance : 0) + deviation * deviation) / count;
        deviation = sqrt(variance);
    }
    mean.error = deviation / sqrt(count);
    if (mean.error < LEAST_ERROR * mean.value)
        mean.error = LEAST_ERROR * mean.value;
    return mean;
}

/* Probability of at most q successes in m trials of probability p. */
static double binomial_at_most(size_t q, size_t m, double p)
{
    double term = pow(1 - p, (double)m), sum = term;

    for (size_t i = 1; i <= q && i <= m; i++) {
        term *= (double)(m - i + 1) / (double)i * p / (1 - p);
        sum += term;
    }
    return sum;
}

/*
 * Below what an odometer is taken to have wrapped. Genuine variation lies on both sides of a crowd;
 * wrapping adds to the lower side only: so the cut is the mirror image of how far readings reach
 * above. Without a crowd there is nothing to mirror at: the code varies, and everything counts. So
 * it does where readings below the cut are not spread as wrapped ones are, evenly from nothing up:
 * a program that gets faster as it runs has slow readings, but no very slow ones.
 */
static double wrapped_below(const struct rate_reading *readings, size_t n)
{
    size_t below = 0, far_below = 0;
    double cut;

    if (n == 0)
        return 0;
    struct stretch best = crowd(readings, n);
    if ((double)best.count < CROWD * (double)n)
        return 0;
    double reach = readings[n - 1 - (n - 1) / 20].per_ns / best.centre;
    if (reach > STRAY)
        reach = STRAY;
    if (reach < AGREEMENT)
        reach = AGREEMENT;
    cut = best.centre / reach;
    while (below < n && readings[below].per_ns < cut)
        far_below += readings[below++].per_ns < FAR_BELOW * cut;
    return binomial_at_most(far_below, below, FAR_BELOW) < NOT_EVENLY ? 0 : cut;
}

static bool consistent(const struct mean *a, const struct mean *b)
{
    double apart = fabs(a->value - b->value);

    return apart <= 2.5 * hypot(a->error, b->error) || apart <= 0.1 * fmax(a->value, b->value);
}

struct rate_estimate rate_combine(struct rate_reading *readings, size_t n)
{
    qsort(readings, n, sizeof *readings, compare_methods);

    size_t odometers = 0;
    while (odometers < n && readings[odometers].odometer)
        odometers++;
    const struct rate_reading *watches = readings + odometers;
    struct mean watch = mean_between(watches, n - odometers, 0);
    struct mean odometer = mean_between(readings, odometers, 0);
    /* Watches do not wrap. Where odometers agree with them on the whole, neither did those. */
    if (watch.n < ENOUGH_WATCHES || !consistent(&watch, &odometer))
        odometer = mean_between(readings, odometers, wrapped_below(readings, odometers));
    qsort(readings, n, sizeof *readings, compare_readings);
    struct rate_estimate out = {.readings = n};
    double value, error, low = INFINITY, high = 0;

    if (odometer.n == 0 || watch.n == 0) {
        value = odometer.n ? odometer.value : watch.value;
        error = odometer.n ? odometer.error : watch.error;
        out.common_deviation = odometer.n ? odometer.common : watch.common;
    } else {
        if (consistent(&odometer, &watch)) {
            double a = 1 / (odometer.error * odometer.error), b = 1 / (watch.error * watch.error);
            value = (a * odometer.value + b * watch.value) / (a + b);
            out.common_deviation = (a * odometer.common + b * watch.common) / (a + b);
            error = sqrt(1 / (a + b));
        } else {
            /* Watches time what exploring has just brought into the caches: code that waits for
             * memory runs faster there. Odometers are proved at every look, so a few of them are
             * believed. A single one may have wrapped: then the higher of the two is. */
            bool first = odometer.n >= ENOUGH_ODOMETERS || odometer.value > watch.value;
            value = first ? odometer.value : watch.value;
            error = first ? odometer.error : watch.error;
            low = fmin(watch.value, odometer.value);
            high = fmax(watch.value, odometer.value);
            out.common_deviation = first ? odometer.common : watch.common;
        }
    }
    for (size_t i = 0; i < n; i++)
        out.agreeing +=
            readings[i].per_ns <= value * AGREEMENT && readings[i].per_ns >= value / AGREEMENT;
    if (n >= 4 && (double)out.agreeing < 0.35 * (double)n) {
        /* No crowd to speak of: the middle of everything, and the top, are possible as well. */
        double middle = readings[n / 2].per_ns;
        low = middle < low ? middle : low;
        high = fmax(high, readings[n - 1 - (n - 1) / 20].per_ns);
    }
    out.log_deviation = error / value;
    double factor = exp(1.96 * hypot(out.log_deviation, out.common_deviation));
    out.per_ns.value = value;
    out.per_ns.lo = low < value / factor ? low : value / factor;
    out.per_ns.hi = high > value * factor ? high : value * factor;
    return out;
}

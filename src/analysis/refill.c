/* SPDX-License-Identifier: BSD-3-Clause */
/* See refill.h. */
#include "analysis/refill.h"

#include <math.h>
#include <stdlib.h>

/* Least error of a reading's time by its two ends; and of the rate, which is not the same all the
 * time. */
#define ENDS_DEVIATION_NS 700.0
#define RATE_DEVIATION 0.25
/* By how much loops of a program differ in time per access, as a part of its mean. */
#define LOOPS_DEVIATION 0.5
/* Before any reading, as a share of the cost of a trap; and how uncertain that is. */
#define PRIOR_SHARE (1.0 / 12)
#define PRIOR_DEVIATION (1.0 / 6)
/* Least time per access, ns. */
#define SLOPE_LEAST (1 / FASTEST_RATE)
/* A trap is not cheaper by more than this share of its cost. */
#define CHEAPER_MAX 0.25
/* Median of the distance of normal values from their mean, in deviations; and from where on a
 * distance is that of a stray value. */
#define MEDIAN_DISTANCE 0.6745
#define STRAY 2.0
enum { ROUNDS = 20, HALVINGS = 24, SCATTER_LEAST = 5 };

struct timed {
    uint64_t loop;
    double accesses, elapsed;
    double slope, slope_deviation; /* of its loop, ns per access */
};

/* elapsed = intercept + slope * accesses, give or take ends and what rates differ by. */
struct fit {
    double intercept, precision; /* of the intercept: 1 / variance */
    double slope;                /* of all loops, ns per access */
    double ends;                 /* deviation of a time by its ends, ns */
};

static int compare_timed(const void *a, const void *b)
{
    const struct timed *x = a, *y = b;

    return (x->loop > y->loop) - (x->loop < y->loop);
}

/* Times that came out below nothing were rejected, and written as 0: without them the others would
 * be too long on average. */
static size_t list_timed(const struct profile *profile, struct timed *timed)
{
    size_t n = 0;

    for (size_t i = 0; i < profile->rates.count; i++) {
        const struct record_rate *record = &profile->rates.items[i];

        if (record->method == RATE_WATCH_AHEAD && record->accesses > 0 &&
            (record->accepted || record->elapsed_ns == 0))
            timed[n++] = (struct timed){.loop = record->loop,
                                        .accesses = (double)record->accesses,
                                        .elapsed = (double)record->elapsed_ns};
    }
    qsort(timed, n, sizeof *timed, compare_timed);
    return n;
}

/* How far a time is off, in deviations. */
static double distance(const struct timed *timed, double intercept, double ends)
{
    double expected = timed->slope * timed->accesses;
    double rate = hypot(RATE_DEVIATION * expected, timed->slope_deviation * timed->accesses);

    return fabs(timed->elapsed - intercept - expected) / hypot(ends, rate);
}

/* Weight of a reading: by the error that is to be expected of it, not by the time it took, or short
 * times would count for more. */
static double weight_of(const struct fit *fit, const struct timed *timed)
{
    double deviation = hypot(fit->ends, RATE_DEVIATION * timed->slope * timed->accesses);
    double off = distance(timed, fit->intercept, fit->ends);

    return (off > STRAY ? STRAY / off : 1) / (deviation * deviation);
}

/*
 * Fits the slope of a loop, which is about that of all, and adds what its readings say of the
 * intercept once that is done (Frisch and Waugh).
 */
static void add_loop(const struct fit *fit, struct timed *timed, size_t n, double *precision,
                     double *sum)
{
    double spread = LOOPS_DEVIATION * fit->slope, squares = 1 / (spread * spread);
    double weights = 0, accesses = 0, elapsed = 0, products = fit->slope * squares;

    for (size_t i = 0; i < n; i++) {
        double weight = weight_of(fit, &timed[i]);

        weights += weight;
        accesses += weight * timed[i].accesses;
        squares += weight * timed[i].accesses * timed[i].accesses;
        elapsed += weight * timed[i].elapsed;
        products += weight * timed[i].accesses * timed[i].elapsed;
    }
    *precision += weights - accesses * accesses / squares;
    *sum += elapsed - products * accesses / squares;
    for (size_t i = 0; i < n; i++) {
        timed[i].slope = fmax(SLOPE_LEAST, (products - fit->intercept * accesses) / squares);
        timed[i].slope_deviation = sqrt(1 / squares);
    }
}

/* Mean time per access of all loops, each as good as its readings and as loops are alike. */
static double common_slope(const struct fit *fit, const struct timed *timed, size_t n)
{
    double weights = 0, sum = 0;

    for (size_t i = 0; i < n; i++) {
        double weight =
            1 / (pow(LOOPS_DEVIATION * fit->slope, 2) + pow(timed[i].slope_deviation, 2));

        weights += weight;
        sum += weight * timed[i].slope;
    }
    return sum / weights;
}

/* Deviation of the ends with which half of the readings are as far off as half of all should be. */
static double scatter_of_ends(double intercept, const struct timed *timed, size_t n)
{
    double low = ENDS_DEVIATION_NS, high = 32 * ENDS_DEVIATION_NS;

    for (unsigned i = 0; i < HALVINGS; i++) {
        double tried = i ? (low + high) / 2 : low;
        size_t near = 0;

        for (size_t k = 0; k < n; k++)
            near += distance(&timed[k], intercept, tried) <= MEDIAN_DISTANCE;
        if (2 * near < n)
            low = tried;
        else
            high = tried;
    }
    return high;
}

/* The prior, and round by round what readings weigh and say with the fit before. */
static struct fit fitted(struct timed *timed, size_t n, double trap)
{
    double deviation = PRIOR_DEVIATION * trap, prior = 1 / (deviation * deviation);
    struct fit fit = {
        .intercept = PRIOR_SHARE * trap, .precision = prior, .ends = ENDS_DEVIATION_NS};
    double accesses = 0, elapsed = 0;

    for (size_t i = 0; i < n; i++) {
        accesses += timed[i].accesses;
        elapsed += timed[i].elapsed;
    }
    if (n == 0)
        return fit;
    fit.slope = fmax(SLOPE_LEAST, elapsed / accesses);
    for (size_t i = 0; i < n; i++) {
        timed[i].slope = fit.slope;
        timed[i].slope_deviation = LOOPS_DEVIATION * fit.slope;
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        double precision = prior, sum = PRIOR_SHARE * trap * prior;

        for (size_t i = 0, end; i < n; i = end) {
            for (end = i; end < n && timed[end].loop == timed[i].loop; end++)
                continue;
            add_loop(&fit, &timed[i], end - i, &precision, &sum);
        }
        fit.intercept = fmin(fmax(sum / precision, -CHEAPER_MAX * trap), trap / 2);
        fit.precision = precision;
        fit.slope = common_slope(&fit, timed, n);
        if (n >= SCATTER_LEAST)
            fit.ends = scatter_of_ends(fit.intercept, timed, n);
    }
    return fit;
}

struct refill refill_estimate(const struct profile *profile)
{
    double trap = profile_run_number(profile, "trap_cost_ns", 0);
    struct fit fit;

    /* A count of accesses stands still while nothing is accessed. */
    if (trap <= 0 || profile_counts_accesses(profile))
        return (struct refill){0, 0};
    struct timed *timed = malloc((profile->rates.count + 1) * sizeof *timed);

    /* Without memory the prior stands. */
    fit = fitted(timed, timed ? list_timed(profile, timed) : 0, trap);
    free(timed);
    return (struct refill){.ns = fit.intercept, .deviation = sqrt(1 / fit.precision)};
}

double refill_set_off(const struct refill *refill, double elapsed_ns)
{
    return fmax(elapsed_ns - refill->ns, elapsed_ns / 2);
}

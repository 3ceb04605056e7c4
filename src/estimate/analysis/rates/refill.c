/* SPDX-License-Identifier: BSD-3-Clause */
/* See refill.h. */
#include "analysis/rates/refill.h"

#include <math.h>
#include <stdlib.h>

/* What a reading says of its loss is off by its three ends, ns, and by this part of its time, since
 * code does not run equally fast all the time. */
#define ENDS_DEVIATION_NS 1000.0
#define RATE_DEVIATION 0.05
/* Before any reading, as a share of the cost of a trap; and how uncertain that is. */
#define PRIOR_SHARE (1.0 / 12)
#define PRIOR_DEVIATION (1.0 / 6)
/* A trap is not cheaper or dearer by more than this share of its cost. */
#define OFF_MAX 0.5
/* From so many deviations on a distance is that of a stray value. */
#define STRAY 2.0
/* Deviation of normal values over the median of their distances from the mean. */
#define DEVIATION_TO_MEDIAN 1.4826
enum { ROUNDS = 20, SCATTER_LEAST = 5 };

struct lost {
    double ns, deviation; /* by what the reading itself may be off */
};

static size_t list_losses(const struct profile *profile, struct lost *lost)
{
    size_t n = 0;

    for (size_t i = 0; i < profile->rates.count; i++) {
        const struct record_rate *record = &profile->rates.items[i];

        if (record->method == RATE_WATCH_AHEAD && record->accepted)
            lost[n++] = (struct lost){
                .ns = (double)record->loss_ns,
                .deviation = hypot(ENDS_DEVIATION_NS, RATE_DEVIATION * (double)record->elapsed_ns)};
    }
    return n;
}

static int compare_numbers(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* By how much more readings scatter than they should each by itself; >= 1. */
static double scatter(const struct lost *lost, size_t n, double mean, double *scratch)
{
    if (n < SCATTER_LEAST)
        return 1;
    for (size_t i = 0; i < n; i++)
        scratch[i] = fabs(lost[i].ns - mean) / lost[i].deviation;
    qsort(scratch, n, sizeof *scratch, compare_numbers);
    return fmax(1, DEVIATION_TO_MEDIAN * scratch[n / 2]);
}

static struct refill mean_of(const struct lost *lost, size_t n, double *scratch, double trap)
{
    double deviation = PRIOR_DEVIATION * trap, prior = 1 / (deviation * deviation);
    double mean = PRIOR_SHARE * trap, precision = prior;

    for (unsigned round = 0; n > 0 && round < ROUNDS; round++) {
        double sum = PRIOR_SHARE * trap * prior, scale = scatter(lost, n, mean, scratch);

        precision = prior;
        for (size_t i = 0; i < n; i++) {
            double own = scale * lost[i].deviation, off = fabs(lost[i].ns - mean) / own;
            double weight = (off > STRAY ? STRAY / off : 1) / (own * own);

            precision += weight;
            sum += weight * lost[i].ns;
        }
        mean = fmin(fmax(sum / precision, -OFF_MAX * trap), OFF_MAX * trap);
    }
    return (struct refill){.ns = mean, .deviation = sqrt(1 / precision)};
}

struct refill refill_estimate(const struct profile *profile)
{
    double trap = profile_run_number(profile, "trap_cost_ns", 0);

    /* A count of accesses stands still while nothing is accessed. */
    if (trap <= 0 || profile_counts_accesses(profile))
        return (struct refill){0, 0};
    struct lost *lost = malloc((profile->rates.count + 1) * sizeof *lost);
    double *scratch = malloc((profile->rates.count + 1) * sizeof *scratch);
    /* Without memory the prior stands. */
    struct refill refill =
        mean_of(lost, lost && scratch ? list_losses(profile, lost) : 0, scratch, trap);

    free(lost);
    free(scratch);
    return refill;
}

double refill_set_off(const struct refill *refill, double elapsed_ns)
{
    return fmax(elapsed_ns - refill->ns, elapsed_ns / 2);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* See refill.h. */
#include "analysis/refill.h"

#include <math.h>
#include <stdlib.h>

/* Error of a reading's time: of its two ends, and of the rate, which is not the same all the time.
 */
#define ENDS_DEVIATION_NS 700.0
#define RATE_DEVIATION 0.2
/* Before any reading, as a share of the cost of a trap; as uncertain as it is large. */
#define PRIOR_SHARE (1.0 / 12)

struct timed {
    uint64_t loop;
    double accesses, elapsed;
};

static int compare_timed(const void *a, const void *b)
{
    const struct timed *x = a, *y = b;

    return (x->loop > y->loop) - (x->loop < y->loop);
}

static size_t list_timed(const struct profile *profile, struct timed *timed)
{
    size_t n = 0;

    for (size_t i = 0; i < profile->rates.count; i++) {
        const struct record_rate *record = &profile->rates.items[i];

        if (record->method == RATE_WATCH_AHEAD && record->accepted && record->accesses > 0 &&
            record->elapsed_ns > 0)
            timed[n++] =
                (struct timed){record->loop, (double)record->accesses, (double)record->elapsed_ns};
    }
    qsort(timed, n, sizeof *timed, compare_timed);
    return n;
}

/* Adds what a loop's readings say of the intercept once their slope is fitted (Frisch and Waugh).
 */
static void add_loop(const struct timed *timed, size_t n, double *precision, double *sum)
{
    double weights = 0, accesses = 0, squares = 0, elapsed = 0, products = 0;

    for (size_t i = 0; i < n; i++) {
        double deviation = hypot(ENDS_DEVIATION_NS, RATE_DEVIATION * timed[i].elapsed);
        double weight = 1 / (deviation * deviation);

        weights += weight;
        accesses += weight * timed[i].accesses;
        squares += weight * timed[i].accesses * timed[i].accesses;
        elapsed += weight * timed[i].elapsed;
        products += weight * timed[i].accesses * timed[i].elapsed;
    }
    *precision += weights - accesses * accesses / squares;
    *sum += elapsed - products * accesses / squares;
}

struct refill refill_estimate(const struct profile *profile)
{
    double trap = profile_run_number(profile, "trap_cost_ns", 0);
    double prior = PRIOR_SHARE * trap;

    /* A count of accesses stands still while nothing is accessed. */
    if (prior <= 0 || profile_counts_accesses(profile))
        return (struct refill){0, 0};
    double precision = 1 / (prior * prior), sum = prior * precision;
    struct timed *timed = malloc((profile->rates.count + 1) * sizeof *timed);

    /* Without memory the prior stands. */
    size_t n = timed ? list_timed(profile, timed) : 0;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && timed[end].loop == timed[i].loop; end++)
            continue;
        add_loop(&timed[i], end - i, &precision, &sum);
    }
    free(timed);
    return (struct refill){.ns = fmin(fmax(sum / precision, 0), trap / 2),
                           .deviation = sqrt(1 / precision)};
}

double refill_set_off(const struct refill *refill, double elapsed_ns)
{
    return fmax(elapsed_ns - refill->ns, elapsed_ns / 2);
}

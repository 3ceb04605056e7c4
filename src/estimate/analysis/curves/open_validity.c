/* SPDX-License-Identifier: BSD-3-Clause */
/* How long other threads leave open lines alone before they store to them, of one replicate. */
#include <math.h>

#include "analysis/curves/open_lines_internal.h"
#include "support/memory.h"

/* P(not invalidated) within a time; validities: n steps of which the masses are summed up. */
static double valid_for(const struct open_lines *open, const struct replicate *replicate, size_t n,
                        double time)
{
    bool one_visit = replicate->assumption == ASSUME_ONE_VISIT;
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (replicate->validities[middle].time < time)
            low = middle + 1;
        else
            high = middle;
    }
    double lost = low ? replicate->validities[low - 1].mass : 0;
    return fmax(0, 1 - (one_visit ? open->visits_per_store * lost : lost));
}

static void sum_up(struct open_step *steps, size_t n)
{
    for (size_t k = 1; k < n; k++)
        steps[k].mass += steps[k - 1].mass;
}

/*
 * Stores of other threads come to lines at random, so they take as long from any moment on: of
 * each use counts all the time since the one before, whether or not the burst had seen it.
 */
static void set_validity(const struct open_lines *open, const struct replicate *replicate, size_t n,
                         uint32_t stratum, struct fate *fate)
{
    float *valid = fate->valid + (size_t)stratum * SHORT_POINTS;

    for (size_t point = 0; point < SHORT_POINTS; point++)
        valid[point] = (float)valid_for(open, replicate, n, pace_time(point));
    for (size_t i = fate->first[stratum]; i < fate->first[stratum + 1]; i++)
        fate->outcomes[i].valid = (float)valid_for(open, replicate, n, fate->outcomes[i].time);
}

static size_t covered_watches(const struct replicate *replicate, const struct stratum *stratum)
{
    size_t covered = 0;

    for (size_t i = stratum->first; i < stratum->first + stratum->count; i++)
        covered += replicate->covered[i] > 0;
    return covered;
}

void open_validity_estimate(const struct open_lines *open, struct replicate *replicate,
                            struct fate *fate)
{
    const struct analysis *analysis = open->analysis;
    const struct order *order = &open->stores;
    struct open_rest rest;
    size_t n;

    fate->valid = allocate(analysis->stratum_count * SHORT_POINTS + 1, sizeof *fate->valid);
    for (uint32_t g = 0; g < analysis->stratum_count; g++) {
        const struct stratum *stratum = &analysis->strata[g];
        bool own = covered_watches(replicate, stratum) >= OWN_HAZARD_MIN;

        for (size_t i = stratum->first; i < stratum->first + stratum->count; i++)
            replicate->pooled[i] = own ? 0 : replicate->covered[i];
        if (!own)
            continue;
        n = open_survival(order->watches + stratum->first, order->by_exit + stratum->first,
                          stratum->count, replicate->covered + stratum->first, NULL, 0,
                          replicate->validities, &rest);
        sum_up(replicate->validities, n);
        set_validity(open, replicate, n, g, fate);
    }
    n = open_survival(order->watches, open->all_by_store, analysis->watch_count, replicate->pooled,
                      NULL, 0, replicate->validities, &rest);
    sum_up(replicate->validities, n);
    for (uint32_t g = 0; g < analysis->stratum_count; g++)
        if (covered_watches(replicate, &analysis->strata[g]) < OWN_HAZARD_MIN)
            set_validity(open, replicate, n, g, fate);
}

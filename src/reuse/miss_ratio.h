/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From reuse times to fully associative LRU caches: average eviction time (Hu et al. 2016), which
 * in the stationary limit is StatStack (Eklov and Hagersten 2010). Pure. The integrals are exact
 * for step functions: no bins. docs/estimators.md derives them.
 */
#ifndef REUSE_REUSE_MISS_RATIO_H
#define REUSE_REUSE_MISS_RATIO_H

#include <stddef.h>

#include "reuse/survival.h"

/*
 * Average eviction times of caches of lines[i] lines (ascending, > 0): the T with
 * integral_0^T S = lines. A line that is reused at t > T has been evicted before. Beyond the last
 * point the curve is taken as flat; INFINITY when it is 0 there. The curve has count > 0.
 */
void eviction_times(const struct survival_curve *, const double *lines, size_t n, double *times);

/* What accesses do, as shares of them. */
struct miss_shares {
    double missed;      /* not reused in time: capacity and cold */
    double invalidated; /* reused in time, but invalidated meanwhile: coherence */
    double unknown;     /* part of missed that nobody observed */
    double crossing;    /* reused in time, by another thread that shares the cache */
};

/*
 * Shares at an eviction time, in a run of `run` accesses that starts with empty caches. An access
 * that is younger than the eviction time when the run begins misses if its line was not used since
 * the beginning. eviction_time INFINITY: cold misses alone.
 */
struct miss_shares misses_in_run(const struct survival_curve *, double eviction_time, double run);

/*
 * Expected stack distance (distinct other lines) of a reuse at time >= 1:
 * integral_0^time S, less the line itself.
 */
double stack_distance_of(const struct survival_curve *, double time);

#endif

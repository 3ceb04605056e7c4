/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Caches that are divided between data structures, from reuse times. Pure.
 *
 * Each structure d makes a share a_d of the accesses and has a survival curve S_d of its reuse
 * times, all on the common clock of all accesses. An LRU cache that serves a set D of them holds,
 * when it evicts what was not used for T accesses,
 *
 *     sum_{d in D} a_d integral_0^T S_d
 *
 * lines (average eviction time, Hu et al. 2016, for each part by itself). So a part of w lines
 * evicts after the T at which this is w, and an access of d in D misses with probability S_d(T).
 * docs/sector-cache.md derives it.
 */
#ifndef REUSE_REUSE_PARTITION_H
#define REUSE_REUSE_PARTITION_H

#include <stddef.h>

#include "reuse/survival.h"

struct partition_member {
    const struct survival_curve *curve; /* count > 0 */
    double share;                       /* >= 0; of all accesses, whether or not in this part */
};

/*
 * The time after which a part of that many lines (>= 0, may be INFINITY) evicts. Beyond a curve's
 * last point it is taken as flat; INFINITY when the part never fills, or serves nothing.
 */
double partition_eviction_time(const struct partition_member *, size_t n, double lines);

/*
 * Survival of one structure from misses by cache size, for engines that keep stack distances: a
 * cache shared by all of c lines evicts after the T(c) with dT/dc = 1 / (misses per access at c),
 * and S_d(T(c)) is the misses of d per access of d at c.
 *
 * lines[0] = 0 < lines[1] < ...: sizes; all[i], own[i]: misses of everything and of the structure
 * in caches of lines[i] up to lines[i + 1], non-increasing, per access of everything and of the
 * structure. Ends where all[] is 0. Uses the memory of *out (start with {0}).
 */
void partition_survival_of_misses(const double *lines, const double *all, const double *own,
                                  size_t n, struct survival_curve *out);

#endif

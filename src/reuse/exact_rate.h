/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stack distances from a spatially hashed sample of the lines (SHARDS, Waldspurger et al., FAST
 * 2015): a line is followed always or never, by its hash, and a distance among the followed lines
 * is 1/n of the true one. Accesses that the sample has too few or too many of, because a few hot
 * lines are in or out of it, have short distances: the difference counts at distance 0 (SHARDS_adj,
 * same source).
 *
 * Distances of less than EXACT_RATE_COARSE followed lines are too coarse for small caches. They are
 * replaced by the expected distance of their reuse time, which is known exactly, given the
 * survival of all reuse times (StatStack, Eklov and Hagersten 2010). Pure.
 */
#ifndef REUSE_REUSE_EXACT_RATE_H
#define REUSE_REUSE_EXACT_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/reader.h"

enum { EXACT_RATE_COARSE = 8, EXACT_RATE_MAX = 1000 };

/* Whether a line is among the followed 1/n. */
static inline bool exact_rate_keeps(uint64_t line, uint32_t n)
{
    uint64_t hash = line * 0x9e3779b97f4a7c15u;
    hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9u;
    return (hash >> 32) * n >> 32 == 0;
}

/* What was observed on the followed lines. */
struct exact_rate_counts {
    uint64_t accesses;                         /* of all lines */
    uint64_t cold;                             /* first uses of followed lines, and so on below */
    uint64_t distance[HISTOGRAM_BIN_COUNT];    /* followed lines in between, EXACT_RATE_COARSE up */
    uint64_t coarse_time[HISTOGRAM_BIN_COUNT]; /* reuse times of the others */
    uint64_t time[HISTOGRAM_BIN_COUNT];        /* reuse times of all */
};

/*
 * Estimates of all accesses' counts: adds to cold, distance and time, which sum to counts->accesses
 * up to rounding.
 */
void exact_rate_estimate(const struct exact_rate_counts *, uint32_t n, uint64_t *cold,
                         uint64_t distance[HISTOGRAM_BIN_COUNT],
                         uint64_t time[HISTOGRAM_BIN_COUNT]);

#endif

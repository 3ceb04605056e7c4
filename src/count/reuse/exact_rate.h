/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stack distances from samples of the accesses, for runs too long to follow all.
 *
 * Long reuses come from a spatially hashed sample of the lines (SHARDS, Waldspurger et al., FAST
 * 2015): a line is followed always or never, by its hash, and a distance among the followed lines
 * is 1/n of the true one. Short reuses, which a few hot lines dominate, so that it would be luck
 * how many of them are followed, come from bursts: stretches of EXACT_RATE_BURST accesses that are
 * analysed in full, of which the second half is counted. What is short is decided by reuse time,
 * which both samples know exactly: below EXACT_RATE_SHORT accesses.
 *
 * How many reuses are long, both samples say, with an error that each shows by itself; they are
 * weighted by the inverse of its square. A long reuse with less than EXACT_RATE_COARSE followed
 * lines in between is too coarse; it gets the expected distance of its reuse time, given the
 * survival of all reuse times (StatStack, Eklov and Hagersten 2010). Pure, not thread-safe.
 */
#ifndef REUSE_REUSE_EXACT_RATE_H
#define REUSE_REUSE_EXACT_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/histogram_bin.h"
#include "reuse/exact_stack.h"
#include "sampling/random.h"

enum {
    EXACT_RATE_COARSE = 8,
    EXACT_RATE_MAX = 1000,
    EXACT_RATE_BURST = 16384,
    EXACT_RATE_SHORT = EXACT_RATE_BURST / 2,
};

/* Whether a line is among the followed 1/n. */
static inline bool exact_rate_keeps(uint64_t line, uint32_t n)
{
    uint64_t hash = line * 0x9e3779b97f4a7c15u;
    hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9u;
    return (hash >> 32) * n >> 32 == 0;
}

/*
 * Accesses to leave out between a burst and the next, after so many accesses of the thread: a 64th
 * of them, more or less, so that every run has enough bursts and a long one few.
 */
uint64_t exact_rate_gap(uint64_t accesses, struct random *);

/* What was observed of one thread, or of several. */
struct exact_rate_counts {
    uint64_t accesses; /* of all lines */
    /* Followed lines: first uses, and reuses that are not short. */
    uint64_t cold;
    uint64_t distance[HISTOGRAM_BIN_COUNT];    /* followed lines in between, EXACT_RATE_COARSE up */
    uint64_t coarse_time[HISTOGRAM_BIN_COUNT]; /* reuse times of the others */
    uint64_t time[HISTOGRAM_BIN_COUNT];        /* reuse times of all */
    /* Bursts: short reuses, each with the accesses that it stands for. */
    double short_distance[HISTOGRAM_BIN_COUNT];
    double short_time[HISTOGRAM_BIN_COUNT];
    /* Sums over bursts of their weight w and share of short reuses s: w, ws, w2, w2s, w2s2. */
    double bursts[5];
};

/* A burst under way. Zeroed, then used by one thread. */
struct exact_rate_burst {
    struct exact_stack stack;
    bool open;
    uint64_t started; /* the thread's access at which the burst began */
    uint64_t weight;  /* accesses since the one before began */
    uint64_t position, measured, short_ones;
};

/* The burst begins, at so many accesses of the thread; one that is open ends. */
void exact_rate_burst_begin(struct exact_rate_burst *, struct exact_rate_counts *,
                            uint64_t accesses);

/* One use of a line in it; false when memory is short. */
bool exact_rate_burst_use(struct exact_rate_burst *, struct exact_rate_counts *, uint64_t line);

void exact_rate_burst_end(struct exact_rate_burst *, struct exact_rate_counts *);

/* One use of a followed line, 1/n of all, with what it reuses among these. */
static inline void exact_rate_use(struct exact_rate_counts *counts, struct exact_reuse reuse)
{
    if (reuse.distance == EXACT_STACK_COLD) {
        counts->cold++;
    } else if (reuse.time >= EXACT_RATE_SHORT) {
        uint32_t time = histogram_bin_of(reuse.time);
        counts->time[time]++;
        if (reuse.distance < EXACT_RATE_COARSE)
            counts->coarse_time[time]++;
        else
            counts->distance[histogram_bin_of(reuse.distance)]++;
    }
}

/* What an estimate is worth: standard errors. */
struct exact_rate_error {
    double long_share;  /* of the share of accesses that are no short reuses */
    double lines_share; /* relative, of a number of lines: 1 / sqrt(followed lines) */
};

/*
 * Estimates of all accesses' counts: adds to cold, distance and time, which sum to counts->accesses
 * up to rounding.
 */
struct exact_rate_error exact_rate_estimate(const struct exact_rate_counts *, uint32_t n,
                                            uint64_t *cold, uint64_t distance[HISTOGRAM_BIN_COUNT],
                                            uint64_t time[HISTOGRAM_BIN_COUNT]);

#endif

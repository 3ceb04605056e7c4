/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a burst does to the lines that it uses most: for each, which bytes it reads and writes, by
 * which instructions, and how often it comes to the line.
 *
 * Of many lines those with the lowest ranks are listed. The rank of a line is a hash of its address
 * and of the time, divided by how often the burst uses it (priority sampling; Duffield, Lund and
 * Thorup 2007). The hash is common to all threads: two threads that use a line at the same time
 * list the same ones (coordinated samples; Cohen and Kaplan 2013), and what they have in common is
 * found, however few are listed. A line with one access of 64 is always listed.
 *
 * Pure; signal-safe; no allocation.
 */
#ifndef REUSE_SAMPLING_BURST_LINES_H
#define REUSE_SAMPLING_BURST_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/format.h"
#include "sampling/burst.h"

enum { BURST_LINES_MAX = 64 };

struct burst_line {
    /* burst_id, mapping_id, share and what is known of the object are the caller's. */
    struct record_shared_use use;
    double rank;   /* (0, 1] */
    uint32_t uses; /* accesses that touch it, those before the burst's end */
};

struct burst_lines {
    unsigned count;
    struct burst_line lines[BURST_LINES_MAX]; /* by rank, ascending */
    double next_rank; /* of the first that is not listed: one that is has a rank below; else 2 */
};

/* Of a burst that has been closed. */
void burst_lines_find(struct burst *, uint64_t now_ns, struct burst_lines *);

/* Probability that a line with so many uses has a rank below the limit. */
static inline double burst_lines_share(uint32_t uses, double limit)
{
    return uses * limit < 1 ? uses * limit : 1;
}

#endif

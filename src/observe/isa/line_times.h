/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long the program's own lines take to come: the interpreter loads what the program is about to
 * load, in its order and from the caches as the program left them, so each load of a line that was
 * not used lately can be timed. That tells which lines are in memory, on this machine and with
 * whoever else uses its last cache, which neither the curve nor a table of processors does.
 *
 * A line next to one that was used lately is left out: hardware prefetches it, and while code is
 * interpreted it has far more time for that.
 *
 * The processor must not begin a load before it is decided whether it is timed: what it loads on a
 * mispredicted path is in the caches by then. So all loads wait at a fence, some 10 ns. A line
 * takes some 0.2 us, and more where a hypervisor reads the clock for its guest: so what may be
 * spent is bounded.
 *
 * Pure; no allocation; signal-safe. Nothing is timed where the clock is too coarse (A64).
 */
#ifndef REUSE_ISA_LINE_TIMES_H
#define REUSE_ISA_LINE_TIMES_H

#include <stdbool.h>
#include <stdint.h>

struct pipeline;

enum {
    LINE_TIMES_MAX = 32,
    LINE_TIMES_RECENT = 8, /* a power of two: lines of the block under way */
    LINE_TIMES_TICKS = 200000,
};

/* All 0, but for pipeline, at first. */
struct line_times {
    const struct pipeline *pipeline; /* says which lines were used lately, up to the block before */
    uint32_t count;
    uint64_t spent;                 /* ticks; from LINE_TIMES_TICKS on nothing more is timed */
    uint32_t ticks[LINE_TIMES_MAX]; /* of the processor's clock, beyond those of a line at hand */
    uint64_t address[LINE_TIMES_MAX];
    uint64_t recent[LINE_TIMES_RECENT]; /* numbers of the last lines timed */
};

/* The interpreter is about to load the byte at the address: it is loaded here, if its line is to be
 * timed and can be read. */
void line_times_load(struct line_times *, uint64_t address);

/* What one took, and what that tells. What took 1 us and more was a page fault or an interrupt, and
 * says nothing. memory_ns: what a line of memory takes, about; half of it tells those from lines of
 * a cache. */
struct line_time {
    bool told, from_memory;
    double ns;
};
struct line_time line_times_of(const struct line_times *, uint32_t number, double ns_per_tick,
                               double memory_ns);

/* How many lines were timed, and which of these came from memory. */
struct line_times_sum {
    uint32_t timed, from_memory;
    uint64_t memory_ns; /* that those from memory took longer, all together */
};

struct line_times_sum line_times_sum(const struct line_times *, double ns_per_tick,
                                     double memory_ns);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Write-backs of LRU caches of every size, in the pass that counts stack distances.
 *
 * A line is dirty from a store to it until it is evicted, and is then written back, once. Two
 * stores to a line belong to one write-back if the line stayed in the cache between them: if no use
 * of it after the first, up to and including the second, had a stack distance of c or more, c being
 * the lines that the cache holds. So with D the largest of these distances, a store begins a new
 * write-back in just the caches of at most D lines; a line's first store does in all. The
 * write-backs of a cache of c lines are the stores with D >= c and the first stores. (Lines that
 * are dirty at the end count: somebody has to write them yet.) The principle: Thompson and Smith,
 * "Efficient (stack) algorithms for analysis of write-back and sector memories", ACM TOCS 7 (1989),
 * whose dirty level of a line is this D.
 *
 * The mark of a line in exact_stack.h is what has to be kept: 0 never stored to, else 1 + the bin
 * of D so far. Distances below EXACT_STACK_NEAR count as 0, as no cache has so few lines, and
 * stores with D = 0, nearly all, need not be counted: they begin no write-back anywhere. Pure.
 */
#ifndef REUSE_REUSE_EXACT_DIRTY_H
#define REUSE_REUSE_EXACT_DIRTY_H

#include <stdbool.h>

#include "profile/histogram_bin.h"
#include "reuse/exact_stack.h"

struct exact_dirty {
    uint64_t first;                     /* stores to lines that were never stored to */
    uint64_t bins[HISTOGRAM_BIN_COUNT]; /* the other stores, by D; without those where it is 0 */
};

/* After exact_stack_use() gave `reuse`; the stack keeps marks. */
static inline void exact_dirty_use(struct exact_dirty *dirty, struct exact_stack *stack,
                                   struct exact_reuse reuse, bool store)
{
    enum { CLEAN = 0, STORED = 1 };
    bool far = reuse.distance >= EXACT_STACK_NEAR;
    uint16_t mark;

    if (!far && !store)
        return;
    mark = exact_stack_mark(stack);
    if (far && mark != CLEAN && reuse.distance != EXACT_STACK_COLD) {
        uint16_t bin = (uint16_t)(STORED + histogram_bin_of(reuse.distance));
        mark = bin > mark ? bin : mark;
        exact_stack_set_mark(stack, mark);
    }
    if (!store || mark == STORED)
        return;
    if (mark == CLEAN)
        dirty->first++;
    else
        dirty->bins[mark - STORED]++;
    exact_stack_set_mark(stack, STORED);
}

/* Adds all of `from`. */
static inline void exact_dirty_add(struct exact_dirty *into, const struct exact_dirty *from)
{
    into->first += from->first;
    for (uint32_t bin = 0; bin < HISTOGRAM_BIN_COUNT; bin++)
        into->bins[bin] += from->bins[bin];
}

#endif

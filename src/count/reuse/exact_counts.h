/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts of stack distances by instruction, object and line size.
 *
 * A cell holds the counts of one instruction on one object in one region. Distances below
 * EXACT_STACK_NEAR, which are nearly all, are plain counters in the cell; the others are entries of
 * one sparse table keyed by cell, line size and bin. Bins are exact up to 15 and then eight to an
 * octave, so that their limits are at the usual cache sizes (a power of two times 8 .. 15). Every
 * other view (per instruction, per object, all) is a sum of cells. Pure, allocates with malloc, not
 * thread-safe: a thread has its own and they are added up.
 */
#ifndef REUSE_REUSE_EXACT_COUNTS_H
#define REUSE_REUSE_EXACT_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reuse/exact_stack.h"

enum {
    EXACT_LINE_SIZES_MAX = 4, /* computed at once */
    EXACT_BIN_COLD = 511,     /* beside the bins of distances */
};

struct exact_cell {
    uint32_t instruction;
    uint32_t object;
    uint32_t region; /* whatever the caller divides by; 0 if by nothing */
    uint32_t number; /* in struct exact_counts */
    /* The owner's to use: addresses in [low, low + size) are of the object, those in [brief_low,
     * brief_low + brief_size) as long as brief_version is the same; another cell to try. */
    uint32_t brief_version;
    uint64_t low, size;
    uint64_t brief_low, brief_size;
    struct exact_cell *other;
    uint32_t near[][EXACT_STACK_NEAR]; /* by line size and distance; carried when they are full */
};

struct exact_far {
    uint64_t key; /* cell number << 16 | line size index << 9 | bin, + 1; 0 is empty */
    uint64_t count;
};

/* Fields are private but for line_sizes, cells, cell_count, lost. */
struct exact_counts {
    unsigned line_sizes;
    uint32_t cell_count;
    uint64_t lost;             /* accesses not counted because memory was short */
    struct exact_cell **cells; /* by number */
    uint32_t cell_capacity;
    uint32_t *index; /* hash table: cell number + 1 */
    uint32_t index_size;
    struct exact_far *far;
    uint64_t far_size, far_count;
};

/* line_sizes is 1 .. EXACT_LINE_SIZES_MAX. False (errno) when memory is short. */
bool exact_counts_create(struct exact_counts *, unsigned line_sizes);
void exact_counts_destroy(struct exact_counts *);
uint64_t exact_counts_bytes(const struct exact_counts *);

/* The cell of an instruction, object and region; stays where it is. NULL when memory is short. */
struct exact_cell *exact_counts_cell(struct exact_counts *, uint32_t instruction, uint32_t object,
                                     uint32_t region);

/* Bin of a distance: itself below 16. Smallest distance of a bin. */
static inline uint32_t exact_bin_of(uint64_t distance)
{
    if (distance < 16)
        return (uint32_t)distance;
    unsigned octave = 63 - (unsigned)__builtin_clzll(distance);
    return 8 * (octave - 3) + (uint32_t)(distance >> (octave - 3));
}
static inline uint64_t exact_bin_low(uint32_t bin)
{
    return bin < 16 ? bin : (uint64_t)(8 + bin % 8) << (bin / 8 - 1);
}

/* Adds n accesses of a cell whose distance falls into bin (EXACT_BIN_COLD for cold ones). */
void exact_counts_add_far(struct exact_counts *, const struct exact_cell *, unsigned line_size,
                          uint32_t bin, uint64_t n);

/* Adds one access with a distance below EXACT_STACK_NEAR. */
static inline void exact_counts_add_near(struct exact_counts *counts, struct exact_cell *cell,
                                         unsigned line_size, uint64_t distance)
{
    if (__builtin_expect(++cell->near[line_size][distance] == 0, 0))
        exact_counts_add_far(counts, cell, line_size, (uint32_t)distance, UINT64_C(1) << 32);
}

/* Adds all counts of `from` to `into`; both count the same line sizes. */
void exact_counts_add(struct exact_counts *into, const struct exact_counts *from);

/* Calls back with every count, in no order; a bin of a cell may come twice. */
void exact_counts_each(const struct exact_counts *,
                       void (*visit)(void *context, const struct exact_cell *, unsigned line_size,
                                     uint32_t bin, uint64_t count),
                       void *context);

#endif

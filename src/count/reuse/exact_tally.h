/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stack distances at one line size, counted in the bins of exact_counts.h, apart for each region.
 * Pure, not thread-safe.
 */
#ifndef REUSE_REUSE_EXACT_TALLY_H
#define REUSE_REUSE_EXACT_TALLY_H

#include <stdbool.h>
#include <stdint.h>

#include "reuse/exact_counts.h"

struct exact_tally {
    uint64_t accesses, cold;
    uint64_t distance[EXACT_BIN_COLD];
};

/* Zeroed is empty. */
struct exact_tallies {
    struct exact_tally **items; /* by region; NULL: nothing yet */
    uint32_t capacity;
    uint64_t lost; /* uses that found no memory */
};

void exact_tallies_destroy(struct exact_tallies *);

/* That of a region; NULL when memory is short. */
struct exact_tally *exact_tallies_grow(struct exact_tallies *, uint32_t region);
static inline struct exact_tally *exact_tallies_at(struct exact_tallies *tallies, uint32_t region)
{
    if (region < tallies->capacity && tallies->items[region] != NULL)
        return tallies->items[region];
    return exact_tallies_grow(tallies, region);
}

/* One use. */
static inline void exact_tallies_use(struct exact_tallies *tallies, uint32_t region,
                                     uint64_t distance)
{
    struct exact_tally *tally = exact_tallies_at(tallies, region);
    if (tally == NULL) {
        tallies->lost++;
        return;
    }
    tally->accesses++;
    if (distance == EXACT_STACK_COLD)
        tally->cold++;
    else
        tally->distance[exact_bin_of(distance)]++;
}

/* Adds all of `from`, and all that was counted at the first line size. */
void exact_tallies_add(struct exact_tallies *into, const struct exact_tallies *from);
void exact_tallies_add_counts(struct exact_tallies *into, const struct exact_counts *from);

#endif

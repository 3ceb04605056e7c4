/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files that count a guest thread's locality share: its state, and its cells. */
#ifndef REUSE_EXACT_LOCALITY_INTERNAL_H
#define REUSE_EXACT_LOCALITY_INTERNAL_H

#include <stdbool.h>

#include "locality.h"
#include "partitions.h"
#include "regions.h"
#include "reuse/exact_rate.h"

struct locality {
    struct guest_thread *thread;
    struct exact_stack stacks[EXACT_LINE_SIZES_MAX];
    struct exact_counts counts;
    /* By instruction: the cell that it used last. A thread mostly stays on one object. */
    struct exact_cell **current;
    uint32_t current_capacity;
    uint32_t epoch;   /* objects_epoch() when the cells' address ranges were found */
    uint32_t version; /* heap_version() at the start of the batch */
    bool prefetch;    /* the last batch had many far accesses */
    struct locality_histograms *histograms;
    struct partitions partitions;
    struct region_state regions;       /* node 0 for ever without regions */
    struct exact_rate_counts *sampled; /* NULL when all lines are followed */
    struct exact_rate_burst burst;
    bool in_burst;
};

/* Whether the cell counts an access to the address now: what is lasting, and what is brief. */
static inline bool locality_fits(const struct locality *locality, const struct exact_cell *cell,
                                 uint64_t address)
{
    return address - cell->low < cell->size && cell->region == locality->regions.node;
}
static inline bool locality_fits_briefly(const struct locality *locality,
                                         const struct exact_cell *cell, uint64_t address)
{
    return address - cell->brief_low < cell->brief_size &&
           cell->brief_version == locality->version && cell->region == locality->regions.node;
}

/*
 * locality_cells.c: the cell of an instruction on the object at address, made its current one; NULL
 * when memory is short. `before` is its current one, NULL if it has none: instructions change
 * between few objects.
 */
struct exact_cell *locality_find_cell(struct locality *, uint32_t instruction, uint64_t address,
                                      struct exact_cell *before);

/* Ranges of addresses found earlier may belong to other objects by now. */
void locality_forget_ranges(struct locality *);

/* locality_sample.c: a batch of which only some lines are followed (locality_set_rate()). */
void locality_analyse_sample(struct locality *, const struct stream_access *, size_t count);

/* locality_threads.c, of the consumer. */
void *locality_thread_started(struct guest_thread *);
void *locality_thread_ended(void *state);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accesses that miss for want of ways: their lines crowd in a few sets of the first cache, as
 * steps of a power of two make them, though it has room for all that was used in between. A cache
 * of 64 sets of 8 ways stands for it (most of 32 KiB; those of 48 KiB have 64 sets of 12).
 *
 * Pure; no allocation; signal-safe.
 */
#ifndef REUSE_SAMPLING_SET_CONFLICTS_H
#define REUSE_SAMPLING_SET_CONFLICTS_H

#include "sampling/address_steps.h"

enum {
    CONFLICT_SETS = 64,
    CONFLICT_WAYS = 8,
    CONFLICT_LINES = CONFLICT_SETS * CONFLICT_WAYS,
    /* Steps that are no multiple of it lead through at least half of the sets. */
    CONFLICT_STEP = 256,
};

/* Of each set the lines that were used last, latest first: 1 + number; 0: none. */
struct set_state {
    uint64_t line[CONFLICT_SETS][CONFLICT_WAYS];
};

/* After burst_close(): fills judged and crowded of the told ones. Does nothing if none goes by even
 * steps that are multiples of CONFLICT_STEP. */
void set_conflicts_count(struct set_state *, const struct burst *, struct address_steps *told,
                         uint32_t count);

#endif

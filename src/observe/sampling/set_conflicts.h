/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accesses that miss for want of ways: their lines crowd in a few sets of the first cache, as
 * steps of a power of two make them, though it has room for all that was used in between.
 *
 * Pure; no allocation; signal-safe.
 */
#ifndef REUSE_SAMPLING_SET_CONFLICTS_H
#define REUSE_SAMPLING_SET_CONFLICTS_H

#include "sampling/address_steps.h"

enum {
    CONFLICT_LINES_MAX = 1024, /* of first caches: 64 KiB in lines of 64 bytes */
    /* Steps that are no multiple of it lead through at least half of the sets. */
    CONFLICT_STEP = 256,
};

struct conflict_cache {
    uint16_t sets, ways;
};

/* Of a first cache of so many bytes and ways (0: not known). Where that makes no power of two of
 * sets, or more lines than CONFLICT_LINES_MAX, 64 sets of 8 ways stand for it. */
struct conflict_cache conflict_cache_of(uint64_t bytes, uint32_t ways, uint32_t line_size);

/* Of each set the lines that were used last, latest first: 1 + number; 0: none. */
struct set_state {
    uint64_t line[CONFLICT_LINES_MAX];
};

/* After burst_close(): fills judged and crowded of the told ones. Does nothing if none goes by even
 * steps that are multiples of CONFLICT_STEP. */
void set_conflicts_count(struct set_state *, struct conflict_cache, const struct burst *,
                         struct address_steps *told, uint32_t count);

#endif

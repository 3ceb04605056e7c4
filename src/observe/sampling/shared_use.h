/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Adds up what the accesses of a burst do to one line that is used by others as well. Pure;
 * signal-safe.
 */
#ifndef REUSE_SAMPLING_SHARED_USE_H
#define REUSE_SAMPLING_SHARED_USE_H

#include <stdint.h>

#include "access.h"
#include "profile/format.h"

/*
 * A visit: accesses of one kind to a line, each no more than LINE_VISIT_GAP accesses of the burst
 * after the one before (a sweep over a few arrays goes on within that), and all within
 * LINE_VISIT_ACCESSES. Another thread takes some 100 ns to get the line, so what a thread does in
 * that time, at one access a ns, it may do without losing it.
 */
enum { LINE_VISIT_GAP = 16, LINE_VISIT_ACCESSES = 64 };

/* The visits under way: accesses of the burst with which they began, and the last ones. */
struct shared_use_visits {
    struct shared_use_visit {
        uint32_t first, last;
    } load, store;
};

/*
 * The access of that index touches `width` bytes of the line from `offset` on: they are `mask`, as
 * line_mask.h. By ascending index.
 */
void shared_use_add(struct record_shared_use *, struct shared_use_visits *, const struct access *,
                    uint32_t index, uint16_t offset, uint8_t width, uint64_t mask);

#endif

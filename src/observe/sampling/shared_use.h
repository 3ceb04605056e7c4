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
 * A visit: accesses of one kind to a line, the last less than so many accesses of the burst after
 * the first. Another thread takes some 100 ns to get the line, so what a thread does in that time
 * it does without losing it; at one access a ns this is about as long.
 */
enum { LINE_VISIT_ACCESSES = 64 };

/* The access of the burst at which the visit under way ends. Zero at first. */
struct shared_use_visits {
    uint32_t load, store;
};

/*
 * The access of that index touches `width` bytes of the line from `offset` on: they are `mask`, as
 * line_mask.h. By ascending index.
 */
void shared_use_add(struct record_shared_use *, struct shared_use_visits *, const struct access *,
                    uint32_t index, uint16_t offset, uint8_t width, uint64_t mask);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a burst does to lines of memory that the process shares with others. Of many lines those
 * with the lowest hashes are told of. The hash is one of file, line and time: processes that touch
 * the same lines at the same time tell of the same ones (bottom-k sketches with a common hash;
 * Cohen and Kaplan 2007), so that what they have in common is seen, however few are told.
 *
 * Pure; signal-safe; no allocation.
 */
#ifndef REUSE_SAMPLING_SHARED_FOOTPRINT_H
#define REUSE_SAMPLING_SHARED_FOOTPRINT_H

#include <stddef.h>
#include <stdint.h>

#include "access.h"
#include "profile/format.h"
#include "sampling/shared_use.h"

/* A mapping of shared memory: addresses start .. end-1 are the file's bytes from offset on. */
struct shared_range {
    uint64_t start, end; /* both 0: none */
    uint64_t offset;
    uint64_t device, inode;
};

/* A use takes some 100 bytes in the profile, a burst some 300: more would double it. */
enum { SHARED_USES_MAX = 8 };

struct shared_footprint {
    unsigned count;
    struct record_shared_use uses[SHARED_USES_MAX + 1]; /* by hash, ascending */
    struct shared_use_visits visits[SHARED_USES_MAX + 1];
    uint64_t hashes[SHARED_USES_MAX + 1];
};

/*
 * Of n accesses those that lie in one of the ranges. mapping_id of a use is the range's index + 1.
 * Afterwards count is at most SHARED_USES_MAX, and share is filled in; burst_id is the caller's.
 */
void shared_footprint_find(struct shared_footprint *, const struct access *, uint32_t n,
                           const struct shared_range *, unsigned ranges, uint32_t line_size,
                           uint64_t now_ns);

#endif

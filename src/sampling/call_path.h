/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the calling context of the interruption to that of the sample. The sampled access lies a
 * little ahead of the place that was interrupted, perhaps in another function: the calls and
 * returns in between are kept and applied to the frames that were unwound.
 *
 * Pure; no allocation; signal-safe.
 */
#ifndef REUSE_SAMPLING_CALL_PATH_H
#define REUSE_SAMPLING_CALL_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CALL_PATH_EVENTS = 512 };

struct call_event {
    uint64_t accesses;       /* made when it was done, its own stack access included */
    uint64_t return_address; /* of a call; 0: a return */
};

struct call_path {
    unsigned count;
    bool overflow; /* events were lost */
    struct call_event events[CALL_PATH_EVENTS];
};

void call_path_begin(struct call_path *);
void call_path_add(struct call_path *, uint64_t accesses, uint64_t return_address);

/*
 * Frames at the access number `index` (0 is the first after the interruption): leaf, then return
 * addresses, innermost first. unwound[0] is the interrupted instruction, the others are the return
 * addresses above it. Returns how many were stored, at most max (>= 1); only the leaf and nothing
 * above it when events were lost.
 */
size_t call_path_frames(const struct call_path *, uint64_t index, uint64_t leaf,
                        const uint64_t *unwound, size_t n, uint64_t *frames, size_t max);

#endif

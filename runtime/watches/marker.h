/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a burst to its watches. A burst is a forecast: its lines will be touched some more times
 * before the touches that it left open. So one register is put on a word that the thread comes to
 * for the first time after all of those; its trap tells that the thread is there, and that it has
 * gone the way that was foreseen. Then the drawn lines get their registers.
 *
 * Signal-safe; signals are blocked.
 */
#ifndef REUSE_RUNTIME_MARKER_H
#define REUSE_RUNTIME_MARKER_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/format.h"
#include "sampling/burst.h"
#include "sampling/private_watch.h"

struct thread;
struct scratch;

/* The thread's, between a burst and the trap. */
struct marker {
    bool set;
    unsigned slot;
    unsigned traps_before; /* that its word makes on the way, the awaited one included */
    uint64_t ip;           /* of the instruction that is to make it */
    uint32_t index;        /* of its access in the burst */
    uint32_t slots;        /* that take the lines */
    unsigned count;
    struct record_sample samples[WATCHES_MAX];
    uint32_t indexes[WATCHES_MAX]; /* of their accesses in the burst */
    bool shareable[WATCHES_MAX];   /* their words may be watched in all threads */
    bool copied[WATCHES_MAX];      /* the kernel copies to them or from them: not to be watched */
};

/* The burst is closed, these of its open probes are drawn for those slots. */
void marker_set(struct scratch *, uint32_t slots, struct burst_probe *, unsigned n,
                uint64_t app_now);

/* Its register trapped. */
void marker_trap(struct thread *, const struct watch_trap *);

/* Nothing is watched for that burst. The register is released unless somebody else does that. */
void marker_forget(struct thread *);
void marker_cancel(struct thread *);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bursts of the running thread (sampling/burst.h): interpreted from where an expiry found it, gone
 * on with behind what the interpreter cannot pass (bridge.h), written when they have their
 * accesses, their open lines handed to the registers (marker.h).
 *
 * Signal-safe; signals are blocked.
 */
#ifndef REUSE_RUNTIME_BURSTS_H
#define REUSE_RUNTIME_BURSTS_H

#include <stdbool.h>
#include <stdint.h>

#include "bursts/thread.h"
#include "memory/scratch.h"

/* An expiry found the thread here: its next accesses are a burst. */
void bursts_take(struct thread *, ucontext_t *, uint64_t app_now);

/* The thread is where its waiting burst can be gone on with. */
void bursts_go_on(struct thread *, struct scratch *, ucontext_t *, uint64_t app_now);

/* No more accesses of the burst are to come: written as it is. Any thread may call, for memory that
 * waits no more (scratch.h). */
void bursts_end_early(struct scratch *);

/* The thread's waiting burst, if there is one, ends as it is; and its marker is forgotten. Any
 * thread may call. */
void bursts_end_thread(struct thread *);

/* What every sample of the burst has in common: all but what access_run_describe() fills. path:
 * that of the sample. */
void bursts_describe(struct scratch *, uint32_t path, uint64_t ip, struct record_sample *);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measuring the access rate without a hardware counter (docs/measuring-the-rate.md).
 *
 * Variables that move on as the program does (sampling/progress.h, activations.h) are read where
 * each burst begins and ends, and at a look 31 us to 1 ms before it. In the burst they show
 * their progress per access; from the look, and from the burst before, their progress per ns. The
 * division is the report's: it has all bursts of a variable.
 *
 * Signal-safe; called from the clock's handler.
 */
#ifndef REUSE_RUNTIME_RATE_H
#define REUSE_RUNTIME_RATE_H

#include <stdbool.h>

#include "bursts/thread.h"

struct interpreter;
struct scratch;

/* The thread begins; and does at another application time, which start-up is no part of. */
void rate_begin(struct thread *, uint64_t app_now);
void rate_restart(struct thread *, uint64_t app_now);

/* When the clock is set for the next burst: whether a look comes before it. Returns the time from
 * the last look to its burst, ns, which the next burst stands for as well. */
uint64_t rate_plan(struct thread *);

/* The clock has expired. True: it was a look, and the burst comes rate_wants_burst() later. */
bool rate_look(struct thread *, ucontext_t *context, uint64_t app_now);
bool rate_wants_burst(struct thread *, uint64_t *period);

/* It expired where nothing can be looked at. True: it should have been a look; the burst comes
 * later without. */
bool rate_look_missed(struct thread *);

/* What the kernel has counted for the thread at the burst's beginning. */
struct thread_usage;
void rate_usage(struct scratch *, const struct thread_usage *);

/* The interpreter has met a system call. */
void rate_system_call(struct scratch *);

/* While a burst is interpreted: before its first access and after each stop, after each batch of n
 * accesses (in thread->batch, fed to the burst already), and before each stop and at the end. */
void rate_follow_begin(struct scratch *);
void rate_follow(struct scratch *, size_t n);
void rate_follow_end(struct scratch *);

/* The code that is interpreted has returned, to place, so many accesses after the look-ahead began.
 */
void rate_return(struct thread *, const struct interpreter *, uint64_t place, uint64_t accesses);

/* The burst has been written: so is what its variables did. */
void rate_note(struct scratch *);

#endif

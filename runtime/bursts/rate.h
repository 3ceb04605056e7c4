/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measuring the access rate without a hardware counter (docs/measuring-the-rate.md).
 *
 * While a burst is interpreted, variables are found that move on as the program does: registers at
 * a loop head, words of memory that only grow or only shrink (sampling/loops.h, progress.h). What
 * they move by per access the burst tells; what they move by per ns two stretches of time after it
 * do. Of the two the difference counts: both begin on the caches that our handler has left. The
 * division is the report's: it has all bursts of a variable.
 *
 * Signal-safe; called from the clock's handler.
 */
#ifndef REUSE_RUNTIME_RATE_H
#define REUSE_RUNTIME_RATE_H

#include <stdbool.h>

#include "bursts/thread.h"

struct scratch;

/* While a burst is interpreted: before its first access, after each batch of n accesses (in
 * thread->batch, fed to the burst already), and at the end. */
void rate_follow_begin(struct scratch *);
void rate_follow(struct scratch *, size_t n);
void rate_follow_end(struct scratch *);

/* After a burst: starts a reading if it has something to go by and can be paid for. */
void rate_consider(struct scratch *, ucontext_t *context, uint64_t app_now);

/* The clock expired while a reading wanted it. True: it was a look, not a sample. */
bool rate_look(struct thread *, ucontext_t *context, uint64_t app_now);

/* If a look is wanted next: the time until it, and true. */
bool rate_wants_clock(struct thread *, uint64_t *period);

/* The thread ends: writes what there is. */
void rate_end(struct thread *);

/* It expired where a look cannot be taken. True: a look it should have been; it comes later. */
bool rate_missed(struct thread *);

#endif

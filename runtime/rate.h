/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measuring the access rate without a hardware counter (docs/estimators.md, "the access clock").
 *
 * Odometer: looking ahead finds a loop whose head sees a register change by one constant step per
 * visit; looks at it, known times apart, give the visits in between. How far the loop still runs
 * follows from its comparisons (sampling/odometer.h). Of a short and a long stretch the difference
 * counts: both begin on the caches that our handler has left.
 *
 * Watch-ahead: the interpreter knows the next accesses; two words that are touched for the first
 * time in what it has seen, as far apart as is useful, are given registers, and their traps are
 * timed. It works in code without regular loops, but what was looked at has been brought into
 * the cache by looking: in code that waits for memory it reads high. Used where there is no
 * odometer.
 *
 * Signal-safe; called from the clock's handler with the fault guard not entered.
 */
#ifndef REUSE_RUNTIME_RATE_H
#define REUSE_RUNTIME_RATE_H

#include <stdbool.h>

#include "thread.h"

/* After a sample: starts a reading if one is due. `context` is the interrupted state. */
void rate_consider(struct thread *, ucontext_t *context, uint64_t app_now, uint64_t loop);

/* Accesses per ns in code of the loop, by the thread's latest readings; infinite if not known. */
double rate_known(const struct thread *, uint64_t loop);

/* The clock expired while a reading wanted it. True: it was a probe, not a sample. */
bool rate_probe(struct thread *, ucontext_t *context, uint64_t app_now);

/* If a probe is wanted next: the time until it, and true. */
bool rate_wants_clock(struct thread *, uint64_t *period);

/* A register that serves a reading trapped. */
void rate_trap(struct thread *, unsigned slot, uint64_t ip, uint64_t app_now);

/* The reading cannot go on; its registers are the caller's again. */
void rate_cancel(struct thread *);

#endif

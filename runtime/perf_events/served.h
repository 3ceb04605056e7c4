/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the hardware's records say of how accesses were served: taken from a thread's buffers when a
 * signal has come anyway, added up (src/observe/sampling/served.h), and written to the profile now
 * and then. Signal-safe. Only with the engine `pmu`.
 *
 * served_take() and served_write() may be called by another thread when the process ends: one at a
 * time works on a thread's table, the other waits. So never call them with signals that are ours
 * unblocked, outside of a handler.
 */
#ifndef REUSE_RUNTIME_SERVED_H
#define REUSE_RUNTIME_SERVED_H

#include "bursts/thread.h"

/* The thread has its events now. Without memory nothing is taken, and the thread counts as one
 * without a witness. */
void served_begin_thread(struct thread *);

/* Takes what is in the thread's buffers. */
void served_take(struct thread *);

/* The same where the samplers' period is about `mean` from now on. */
void served_adapt(struct thread *, uint64_t mean);

/* Writes what was taken. */
void served_write(struct thread *);

#endif

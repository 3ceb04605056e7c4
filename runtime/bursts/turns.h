/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns of threads that wait by polling: sampling/turn.h on the interpreter. Signal-safe.
 */
#ifndef REUSE_RUNTIME_TURNS_H
#define REUSE_RUNTIME_TURNS_H

#include "bursts/thread.h"
#include "memory/scratch.h"

/* The thread was seen to poll in that loop. */
void turns_learn(struct thread *, const struct wait_loop *);

/*
 * If the thread was interrupted in such a loop: waits for it to end, for some ten microseconds,
 * looks at the turn that follows, and samples one of its stores. The scratch has the burst that was
 * just taken from here.
 */
void turns_follow(struct thread *, struct scratch *, const ucontext_t *, uint64_t app_now);

#endif

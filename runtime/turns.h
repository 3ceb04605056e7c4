/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns of threads that wait by polling: sampling/turn.h on the interpreter. Signal-safe.
 */
#ifndef REUSE_RUNTIME_TURNS_H
#define REUSE_RUNTIME_TURNS_H

#include "thread.h"

/* The thread was seen to poll in that loop. */
void turns_learn(struct thread *, const struct wait_loop *);

/*
 * If the thread was interrupted in such a loop: waits for it to end, for some ten microseconds,
 * looks at the turn that follows, and samples one of its stores. Of what the window and the batch
 * of the thread hold nothing is left. loop: of the sample just taken.
 */
void turns_follow(struct thread *, ucontext_t *, uint64_t loop, uint64_t app_now);

#endif

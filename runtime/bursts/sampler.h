/* SPDX-License-Identifier: BSD-3-Clause */
/* What happens when a thread's CPU clock expires. Signal-safe. */
#ifndef REUSE_RUNTIME_SAMPLER_H
#define REUSE_RUNTIME_SAMPLER_H

#include "bursts/thread.h"

/* Of a clock that must not expire before sampler_rearm(). */
enum { PARKED_PERIOD_NS = 1000 * 1000 * 1000 };

/* Takes a burst at the interrupted place. `app_now`: app time of the expiry. */
void sampler_expiry(struct thread *, ucontext_t *context, bool asynchronous, uint64_t app_now);

/* A burst made these accesses: a tick in their code need not become one. */
struct access;
void sampler_learn(const struct access *, uint32_t n);

/* In the child of a fork: forgets the code that the parent's bursts went through. */
void sampler_after_fork(void);

/* Sets the clock for the next expiry; last act of the handler. */
void sampler_rearm(struct thread *, uint64_t app_now);

/* A handler of another event is done: the clock is to expire earlier if it has armed registers that
 * are to be off before. */
void sampler_after_trap(struct thread *, uint64_t app_now);

#endif

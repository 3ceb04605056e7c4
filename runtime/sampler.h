/* SPDX-License-Identifier: BSD-3-Clause */
/* What happens when a thread's CPU clock expires. Signal-safe. */
#ifndef REUSE_RUNTIME_SAMPLER_H
#define REUSE_RUNTIME_SAMPLER_H

#include "thread.h"

/* Takes a sample at the interrupted place. `app_now`: app time of the expiry. */
void sampler_expiry(struct thread *, ucontext_t *context, bool asynchronous, uint64_t app_now);

/* Fills the record of a sample from the thread's window, and gives it its number. */
void sampler_describe(struct thread *, ucontext_t *, enum interpreter_stop, uint64_t loop,
                      uint64_t app_now, struct record_sample *);

/* Sets the clock for the next expiry; last act of the handler. */
void sampler_rearm(struct thread *, uint64_t app_now);

#endif

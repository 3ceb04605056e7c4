/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What our events cost a thread beside their handlers. That of an expiry and of a trap is measured
 * when the process starts (handler.h). That of a context switch while the clock is due before the
 * next tick of the kernel, which sets the processor's timer twice more, is measured on the clock of
 * the first thread that switches often: few programs have one.
 */
#ifndef REUSE_RUNTIME_EVENT_COSTS_H
#define REUSE_RUNTIME_EVENT_COSTS_H

#include "sampling/switches.h"

struct thread;

/* As far as known by now. Signal-safe. */
struct event_costs event_costs_now(void);

/* For the calling thread, whose clock is running and is set anew after this. Does nothing if all is
 * known, or the thread seldom switches. Signal-safe. */
void event_costs_measure(struct thread *);

#endif

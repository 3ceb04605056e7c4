/* SPDX-License-Identifier: BSD-3-Clause */
/* Entry of every signal of ours: accounts for its time and passes it on, on a stack of our own. */
#ifndef REUSE_RUNTIME_HANDLER_H
#define REUSE_RUNTIME_HANDLER_H

#include <stdbool.h>
#include <ucontext.h>

#include "perf_events/perf_event.h"

/* A trap_handler (interpose_signal.h). Signal-safe. */
void handler_enter(struct event_cookie, bool asynchronous, ucontext_t *);

/* Signals of events of kind EVENT_TRIAL so far: they are counted, and nothing else is done. */
unsigned handler_trials(void);

/* Whether a CPU clock can be opened at all: 0 or -errno. */
int handler_probe(void);

/*
 * Measures what a signal costs outside the handler, by making some: fills settings.trap_ns,
 * settings.trigger_ns and settings.registers. Takes a third of a millisecond. 0, or -errno of the
 * event that could not be had; without debug registers that trap, trap_ns stays 0 and that is no
 * error.
 */
int handler_calibrate(void);

#endif

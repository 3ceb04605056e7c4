/* SPDX-License-Identifier: BSD-3-Clause */
/* A signal on the tape (tape.h). Signal-safe. */
#ifndef REUSE_RUNTIME_TAPE_SIGNAL_H
#define REUSE_RUNTIME_TAPE_SIGNAL_H

#include <ucontext.h>

#include "bursts/thread.h"
#include "perf_events/perf_event.h"
#include "recording/tape.h"

/* Opens the section of a signal. What writing it down has taken of the thread's CPU time is added
 * to our share of it. False if no tape is recorded. */
bool tape_signal(struct thread *, struct event_cookie, bool asynchronous, const ucontext_t *);

/* The other way: the signal of the section that has been entered. The context stays valid until the
 * next call. False if it is none that the runtime can have got. */
bool tape_signal_read(const struct tape_section *, struct thread *, struct event_cookie *,
                      bool *asynchronous, ucontext_t **context);

#endif

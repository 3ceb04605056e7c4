/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interpretation of the target from the point where a signal interrupted it. Signal-safe.
 * Between look_ahead_begin() and look_ahead_end() the fault guard is entered.
 */
#ifndef REUSE_RUNTIME_LOOK_AHEAD_H
#define REUSE_RUNTIME_LOOK_AHEAD_H

#include <stdbool.h>

#include "bursts/thread.h"

/* Once per process: the decode cache and the runtime's own code range. */
void look_ahead_create(void);

/* A child begins with interpreters as new ones. */
void look_ahead_before_fork(void);

/* In a forked child: only the calling thread exists. */
void look_ahead_reset_after_fork(void);

/* What the interpreter starts from; taped. */
void look_ahead_registers(const ucontext_t *, struct interpreter_registers *);

/* False when no interpreter is to be had: too many threads use one. thread->interpreter is set
 * until the end. */
bool look_ahead_begin(struct thread *, const ucontext_t *);
void look_ahead_end(struct thread *);

/* A register has trapped: begins after the access, which may still have to be made. */
bool look_ahead_begin_after_access(struct thread *, const ucontext_t *);

/*
 * The next accesses of the target, at most `capacity` (64..THREAD_BATCH), in thread->batch; those
 * that the runtime itself would make are left out. *why as interpreter_run(). Calls and returns are
 * added to thread->calls, if that is set, counting the accesses that were returned since
 * thread->calls_kept was 0.
 */
size_t look_ahead_next(struct thread *, size_t capacity, enum interpreter_stop *why);

/* The same for so many instructions (*why: INTERPRETER_FULL); what the target sees in memory may
 * change between calls. */
size_t look_ahead_step(struct thread *, unsigned instructions, enum interpreter_stop *why);

/* Whether ip lies in the runtime's own code. */
bool look_ahead_is_runtime(uint64_t ip);

#endif

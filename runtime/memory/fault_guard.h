/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading the target's memory without ever faulting in its name.
 *
 * SIGSEGV and SIGBUS belong to the guard from start-up to the end; the target's dispositions are
 * kept virtually, as those of SIGTRAP are. A fault in a guarded load (isa/guarded_memory.h) makes
 * that load fail; any other reaches the target as it would have without us: its handler is called
 * on the stack and under the mask that it asked for, and where it has none the fault happens again
 * under the default action.
 *
 * Signal-safe, thread-safe.
 */
#ifndef REUSE_RUNTIME_FAULT_GUARD_H
#define REUSE_RUNTIME_FAULT_GUARD_H

#include <stdbool.h>
#include <ucontext.h>
struct sigaction;

/* Takes both signals over; gives them back as the target last left them. False if refused. */
bool fault_guard_begin(void);
void fault_guard_end(void);

/*
 * Around guarded loads in a handler, on the handler's private stack; context: what the handler
 * interrupted. No system call, but one where the thread blocks SIGSEGV or SIGBUS, one where it has
 * an alternate stack that the handler is on, or that the target wants faults to be handled on, and
 * two at every 64th entry to see whether the target has set a disposition without the C library.
 * What they change is restored when the handler returns to `context`.
 */
void fault_guard_enter(const ucontext_t *context);
void fault_guard_leave(void);

/* For the wrapper of sigaction(): the target reads or changes its disposition of SIGSEGV or SIGBUS.
 * Same contract as sigaction(2). */
int fault_guard_sigaction(int signal, const struct sigaction *action, struct sigaction *old);

/* After fork, in the child: no other thread holds the lock. */
void fault_guard_reset(void);

/* What the target ignores, the program that exec brings must find ignored; exec has failed. */
void fault_guard_before_exec(void);
void fault_guard_after_exec(void);

#endif

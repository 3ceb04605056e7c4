/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading the target's memory without ever faulting in its name.
 *
 * While at least one thread is between enter and leave, SIGSEGV and SIGBUS of the process come to
 * the guard: a fault in a guarded load (isa/guarded_memory.h) makes that load fail; any other fault
 * gets the target's own disposition back and happens again, so that the target sees exactly what it
 * would have seen.
 *
 * Signal-safe, thread-safe. Enter and leave cost four short system calls together.
 */
#ifndef REUSE_RUNTIME_FAULT_GUARD_H
#define REUSE_RUNTIME_FAULT_GUARD_H

#include <stdbool.h>
struct sigaction;

void fault_guard_enter(void);
void fault_guard_leave(void);

/*
 * For the wrapper of sigaction(): the target reads or changes its disposition of SIGSEGV or SIGBUS.
 * Same contract as sigaction(2); waits until no thread is inside the guard.
 */
int fault_guard_sigaction(int signal, const struct sigaction *action, struct sigaction *old);

/* After fork, in the child: no other thread is inside. */
void fault_guard_reset(void);

#endif

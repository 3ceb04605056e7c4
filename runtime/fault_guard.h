/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading the target's memory without ever faulting in its name.
 *
 * While at least one thread is between enter and leave, SIGSEGV and SIGBUS of the process come to the
 * guard: a fault inside guarded_read() makes that read fail; any other fault gets the target's own
 * disposition back and happens again, so that the target sees exactly what it would have seen.
 *
 * Signal-safe, thread-safe. Enter and leave cost four short system calls together.
 */
#ifndef REUSE_RUNTIME_FAULT_GUARD_H
#define REUSE_RUNTIME_FAULT_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sigaction;

void fault_guard_enter(void);
void fault_guard_leave(void);

/* Copies size bytes (1..64) from address; false if that faults. Only between enter and leave. Has
 * the shape of interpreter_read; context is ignored. */
bool guarded_read(void *context, uint64_t address, void *buffer, size_t size);

/*
 * For the wrapper of sigaction(): the target reads or changes its disposition of SIGSEGV or SIGBUS.
 * Same contract as sigaction(2); waits until no thread is inside the guard.
 */
int fault_guard_sigaction(int signal, const struct sigaction *action, struct sigaction *old);

/* After fork, in the child: no other thread is inside. */
void fault_guard_reset(void);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stepping over a watched access, where registers trap before it (ARCH_TRAPS_BEFORE_ACCESS).
 *
 * There a register that is still armed on the word when the handler returns traps on the same
 * access again, forever, and user space cannot step. So it is put aside, and an execute breakpoint
 * on the instruction after the access brings it back. A register that all threads have is aside in
 * all of them meanwhile: what others do to the word in those microseconds is not seen. A thread
 * that does not come to the breakpoint (a handler of the target's that never returns, say) brings
 * back at its next sample but one.
 *
 * Signal-safe; each thread calls for itself, with signals blocked.
 */
#ifndef REUSE_RUNTIME_STEP_OVER_H
#define REUSE_RUNTIME_STEP_OVER_H

#include <stdint.h>
#include <ucontext.h>

#include "bursts/thread.h"

/* The thread begins: its breakpoint is not opened yet. */
void step_over_begin_thread(struct thread *);

/* It ends: the breakpoint is closed, and what all threads have comes back. */
void step_over_end_thread(struct thread *);

/* After a trap, when the registers are armed that are wanted on: those on the word at address are
 * put aside until the access is done. */
void step_over_access(struct thread *, uint64_t address, const ucontext_t *);

/* The breakpoint: the access is done. */
void step_over_trap(struct thread *, uint32_t generation);

/* The same in a thread that has ended for us: nothing comes back. */
void step_over_stray_trap(struct thread *);

/* A sample is due. */
void step_over_expiry(struct thread *);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A SIGTRAP that was sent to the process and not to one of its threads, and that no thread takes
 * now. The kernel would keep it pending; with us no thread blocks it really, so it is kept here. As
 * in the kernel, there is one at most: SIGTRAP does not queue.
 *
 * Signal-safe; any thread.
 */
#ifndef REUSE_RUNTIME_HELD_TRAP_H
#define REUSE_RUNTIME_HELD_TRAP_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* Whether a signal was sent to the process: kill(2), sigqueue(3), a timer. */
bool held_trap_is_for_process(const siginfo_t *);

void held_trap_put(const siginfo_t *);

/* The signal, and it is held no longer; false: there is none. information may be NULL. */
bool held_trap_take(siginfo_t *information);

/* Whether there is one. */
bool held_trap_waits(void);

/*
 * Tells a thread of this process that one is held for it: by a SIGTRAP of ours, which is no signal
 * of the target's. (The kernel lets nobody send another thread the signal itself, as from who sent
 * it.) False: there is no such thread.
 */
bool held_trap_tell(pid_t thread);
bool held_trap_is_telling(const siginfo_t *);

/* In a forked child: it has none. */
void held_trap_after_fork(void);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an event does whose SIGTRAP is blocked when it comes. From Linux 5.18 on the signal waits
 * ("signal: Deliver SIGTRAP on perf event asynchronously if blocked"); before, the kernel kills the
 * program. Our handlers and locks block SIGTRAP, so such a kernel is no place for us. Distributions
 * bring that mend to older versions (RHEL 9's 5.14), so it is tried, in a child.
 */
#ifndef REUSE_RUNTIME_BLOCKED_TRAP_H
#define REUSE_RUNTIME_BLOCKED_TRAP_H

enum trap_outcome { TRAP_WAITS, TRAP_KILLS, TRAP_NOT_TRIED };

/* Once, at start-up; takes less than a millisecond of CPU time beside the child's. The child is no
 * other's to wait for, and brings no SIGCHLD. Signal-safe. */
enum trap_outcome blocked_trap_try(void);

/* The same of any child; it ends with the function. For tests. */
enum trap_outcome blocked_trap_of(void (*child)(void));

#endif

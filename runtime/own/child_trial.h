/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tries in a child what could end the process. The child has a copy of the memory, brings no
 * SIGCHLD, is no other's to wait for, and leaves no core file. Signal-safe.
 */
#ifndef REUSE_RUNTIME_OWN_CHILD_TRIAL_H
#define REUSE_RUNTIME_OWN_CHILD_TRIAL_H

/* Calls the function in a child, which ends with it; it may make system calls by raw_call() only.
 * The child's wait status; -errno: there was no child, or nothing was learned of it. */
long child_trial(void (*function)(void));

#endif

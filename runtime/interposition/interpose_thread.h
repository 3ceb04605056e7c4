/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that come and go: each gets its clock at its start and gives it back at its end. */
#ifndef REUSE_RUNTIME_INTERPOSE_THREAD_H
#define REUSE_RUNTIME_INTERPOSE_THREAD_H

/* Once at start-up, in the main thread. */
void interpose_thread_begin(void);

/* After fork, in the child: threads that had not begun to run are not there. Signal-safe. */
void interpose_thread_after_fork(void);

#endif

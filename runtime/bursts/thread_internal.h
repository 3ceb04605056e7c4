/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the threads share; nobody else includes it. */
#ifndef REUSE_RUNTIME_THREAD_INTERNAL_H
#define REUSE_RUNTIME_THREAD_INTERNAL_H

#include "bursts/thread.h"

/* ---- thread_registry.c ---- */

/* A struct that no thread uses, an old one or a new one, for the calling thread. NULL without
 * memory. */
struct thread *thread_claim(pid_t tid);

/* The number of a thread that begins; they are given in order. */
uint32_t thread_next_id(void);

/* The calling thread begins, with that struct, or ends. */
void thread_enter(struct thread *);
void thread_leave(struct thread *);

/* ---- thread_trigger.c ---- */

/* Opens the trigger of the calling thread, which begins, and starts it unless the API paused. */
void thread_start_trigger(struct thread *);

/* ---- thread_time.c ---- */

/* Before the first thread. */
void thread_times_begin(void);

/* The thread ends, at that CPU time, its totals written: it counts among those that have ended. */
void thread_times_end(const struct thread *, uint64_t cpu_ns);

/* Adds what the hardware's events did not deliver to a thread that ends. */
void thread_sum_losses(const struct thread *);

/* In a forked child: none has ended. */
void thread_times_forget(void);

#endif

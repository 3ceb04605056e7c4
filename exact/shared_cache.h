/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cache that all guest threads share: stack distances and reuse times on their merged access
 * clock, at the run's line size. A consumer of the access stream.
 *
 * Threads that run advance together: each waits when it is 2048 uses of lines ahead of the others,
 * and these are merged by turns of 16. So the merged clock is that of threads that make accesses at
 * one speed between the points where they wait for each other, whatever the number of processors
 * here, and distances are right to within what the other threads touch in a turn. Threads in a
 * system call are not waited for. While the program has one thread its private stack is the shared
 * one.
 */
#ifndef REUSE_EXACT_SHARED_CACHE_H
#define REUSE_EXACT_SHARED_CACHE_H

#include <stdint.h>

#include "locality.h"
#include "profile/writer.h"
#include "stream.h"

extern const struct stream_consumer shared_cache_consumer;

/* Its place among the consumers; before the guest starts. */
void shared_cache_start(unsigned consumer);

/* Several threads are about to run; what the only one so far, may be NULL, has done is the start.
 */
void shared_cache_become_parallel(struct guest_thread *only);

/* The thread enters a system call, or is back. */
void shared_cache_pause(struct guest_thread *, bool pauses);

/* Appends RECORD_HISTOGRAM of SCOPE_SHARED, group 1, if there ever were several threads. last: the
 * program is over, and what threads hold back counts. */
void shared_cache_write(struct profile_writer *, bool last, uint64_t now_ns);

uint64_t shared_cache_lost(void);

void shared_cache_after_fork(void);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cache that all guest threads share: stack distances and reuse times on their merged access
 * clock, at the run's line size. A consumer of the access stream.
 *
 * Threads are merged batch by batch, in the order in which they fill them. A batch is 2048
 * accesses, so distances below some thousands of lines are those of the thread alone; shared caches
 * are larger. While the program has one thread its private stack is the shared one.
 */
#ifndef REUSE_EXACT_SHARED_CACHE_H
#define REUSE_EXACT_SHARED_CACHE_H

#include <stdint.h>

#include "locality.h"
#include "profile/writer.h"
#include "stream.h"

extern const struct stream_consumer shared_cache_consumer;

/* Several threads are about to run; what the only one so far, may be NULL, has done is the start.
 */
void shared_cache_become_parallel(struct guest_thread *only);

/* Appends RECORD_HISTOGRAM of SCOPE_SHARED, group 1, if there ever were several threads. */
void shared_cache_write(struct profile_writer *, uint64_t now_ns);

uint64_t shared_cache_lost(void);

void shared_cache_after_fork(void);

#endif

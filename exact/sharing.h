/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communication between guest threads: feeds reuse/exact_coherence.h and counts its events.
 *
 * The order of accesses of different threads matters here, so threads call in as they access. As
 * long as the program has one thread there is no such order, and its accesses come in batches.
 */
#ifndef REUSE_EXACT_SHARING_H
#define REUSE_EXACT_SHARING_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/writer.h"
#include "stream.h"

/* Before the guest starts; without it nothing here does anything. line_size is the run's. */
bool sharing_start(uint32_t line_size);

/* A guest thread exists. */
void sharing_thread_started(struct guest_thread *);

/* It makes no more accesses; what it counted stays. */
void sharing_thread_ended(struct guest_thread *);

/* From now on there may be several threads: called while the only one stands still. */
void sharing_become_parallel(struct guest_thread *only);

/* A batch of the only thread. */
void sharing_batch(struct guest_thread *, const struct stream_access *, size_t count);

/*
 * Writes all transfers as RECORD_TRANSFER: by pair of threads, kind and truth, and, when
 * `detailed`, the most frequent also by line and instructions (then the former are what remains).
 */
void sharing_write(struct profile_writer *, bool detailed, uint64_t now_ns);

/* Accesses that were not followed for want of memory. */
uint64_t sharing_lost(void);

void sharing_after_fork(void);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communication between processes that run under this engine, over memory that they share: feeds
 * reuse/exact_processes.h, whose table all processes of a run have mapped, and counts the events in
 * which a thread of this one is the destination.
 */
#ifndef REUSE_EXACT_PROCESS_SHARING_H
#define REUSE_EXACT_PROCESS_SHARING_H

#include "profile/writer.h"
#include "stream.h"

/* Before the guest starts. descriptor: the memory that reuse-run has made for the table, -1 none:
 * then nothing here does anything. line_size is the run's. */
void process_sharing_start(int descriptor, uint32_t line_size);

/* The calling guest thread has changed the mappings: looks for memory that is shared. Once there is
 * some, accesses are told in order. */
void process_sharing_look(struct guest_thread *);

/* There is such memory. */
extern bool process_sharing_on;

/* An access, in order; width is that of the whole operand. */
void process_sharing_access(struct guest_thread *, const struct stream_access *, unsigned width);

/* Appends mappings and transfers so far. */
void process_sharing_write(struct profile_writer *, uint64_t now_ns);

/* Accesses that were not followed for want of room. */
uint64_t process_sharing_lost(void);

/* In a forked child, after sharing_after_fork(): what it shares stays, counts begin anew. */
void process_sharing_after_fork(void);

#endif

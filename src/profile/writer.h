/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Appends records to a profile file. Signal-safe and thread-safe: callers are signal handlers of
 * many threads. No allocation; one fixed buffer, flushed with write(2).
 */
#ifndef REUSE_PROFILE_WRITER_H
#define REUSE_PROFILE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/format.h"

enum { PROFILE_WRITER_BUFFER = 256 * 1024 };

/* Why records no longer reach the file. */
enum writer_state { WRITER_OPEN, WRITER_DISK_FULL, WRITER_FAILED, WRITER_CLOSED };

/* Fields are private to writer.c. Lives in the caller's static memory. */
struct profile_writer {
    int descriptor;
    int state; /* enum writer_state; atomic */
    int error; /* errno of the first failed write */
    int lock;  /* spin lock over buffer, used, sequence; held for a copy or one write(2) */
    uint32_t sequence;
    size_t used;
    uint64_t lost_records;
    uint64_t written_bytes;
    uint64_t last_flush_ns;
    uint64_t flush_interval_ns;
    unsigned char *buffer; /* PROFILE_WRITER_BUFFER bytes, the caller's */
};

/*
 * Takes over an open descriptor (append position at 0), writes the file header and the schema.
 * Records reach the file at the latest flush_interval_ns after they were appended, provided that
 * appends go on; profile_writer_flush() forces it.
 */
void profile_writer_open(struct profile_writer *, int descriptor, unsigned char *buffer,
                         uint64_t flush_interval_ns);

/* The descriptor was moved by the owner (dup to another number). */
void profile_writer_set_descriptor(struct profile_writer *, int descriptor);

/*
 * Appends one record: the fixed part and an optional tail (text with its NUL, or bins); pads to 8.
 * now_ns is CLOCK_MONOTONIC. Returns false and counts a lost record when the writer is not open,
 * the lock cannot be had within a bounded spin, or the record is too long. All signals that could
 * re-enter must be blocked by the caller.
 */
bool profile_writer_append(struct profile_writer *, enum record_type, const void *fixed,
                           size_t fixed_size, const void *tail, size_t tail_size, uint64_t now_ns);

/* Writes what is buffered. False if the file can take no more; state and error tell why. */
bool profile_writer_flush(struct profile_writer *, uint64_t now_ns);

/* Flushes and closes the descriptor. */
void profile_writer_close(struct profile_writer *, uint64_t now_ns);

#endif

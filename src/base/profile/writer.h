/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Appends records to a profile file. Signal-safe and thread-safe: callers are signal handlers of
 * many threads. No allocation; one fixed buffer of two halves, so that records can be appended to
 * one while write(2) takes the other. errno is preserved by every function.
 *
 * The file always ends with a whole record, but for the moment of a write(2): when the disk, a
 * quota or RLIMIT_FSIZE gives no more room, it is cut back to the last whole record and nothing
 * more is written.
 *
 * The descriptor is looked at before each write: once it no longer names the file that it named
 * at the start (the program closed it and opened something else), the writer lets go of it.
 */
#ifndef REUSE_PROFILE_WRITER_H
#define REUSE_PROFILE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/format.h"

enum {
    PROFILE_WRITER_BUFFER = 256 * 1024,
    /* Longest payload that can be appended: half a buffer with its header. */
    PROFILE_WRITER_PAYLOAD_MAX = PROFILE_WRITER_BUFFER / 2 - (int)sizeof(struct record_header),
};

/* Why records no longer reach the file. */
enum writer_state {
    WRITER_OPEN,
    WRITER_DISK_FULL, /* error: ENOSPC, EDQUOT or EFBIG */
    WRITER_FAILED,    /* error: EBADF descriptor lost, ESPIPE not a file, EIO ... */
    WRITER_CLOSED,
};

/* Fields are private to writer.c, but for state, error, lost_records and written_bytes, which may
 * be read at any time. Lives in the caller's static memory, zeroed. */
struct profile_writer {
    int descriptor;
    int state;       /* enum writer_state; atomic */
    int error;       /* errno of the first failed write */
    int lock;        /* spin lock over everything below; held for a copy, never for a system call */
    int writing;     /* the half that is not active is in write(2) */
    unsigned active; /* half that takes records: 0 or 1 */
    uint32_t sequence;
    uint32_t buffered_records; /* in the active half */
    size_t used;               /* bytes of the active half */
    uint64_t lost_records;     /* atomic, without the lock */
    uint64_t unnumbered;       /* of those, not yet made visible as a gap in sequence; atomic */
    uint64_t written_bytes;
    uint64_t last_flush_ns;
    uint64_t flush_interval_ns;
    uint64_t device, inode; /* what descriptor named at the start */
    bool regular;           /* a regular file: limits apply, cutting back works */
    unsigned char *buffer;  /* PROFILE_WRITER_BUFFER bytes, the caller's */
};

/*
 * Takes over an open descriptor (append position at 0), writes the file header and the schema.
 * Records reach the file at the latest flush_interval_ns after they were appended, provided that
 * appends go on; profile_writer_flush() forces it. Failure shows in state. Not for pipes and
 * sockets: a reader that goes away would kill the target. Whatever the structure held before is
 * forgotten, so that a forked child can open its own.
 */
void profile_writer_open(struct profile_writer *, int descriptor, unsigned char *buffer,
                         uint64_t flush_interval_ns);

/* The descriptor was moved by the owner (dup to another number, before the old one is closed).
 * False: a write has been under way for some time, the old number is still in use. */
bool profile_writer_set_descriptor(struct profile_writer *, int descriptor);

/*
 * Appends one record: the fixed part and an optional tail (text with its NUL, or bins); pads to 8.
 * now_ns is CLOCK_MONOTONIC. Returns false and counts a lost record when the writer is not open,
 * the lock cannot be had within some 20 ms or room within some 2 ms, or the record is longer than
 * PROFILE_WRITER_PAYLOAD_MAX. All signals that could re-enter must be blocked by the caller.
 */
bool profile_writer_append(struct profile_writer *, enum record_type, const void *fixed,
                           size_t fixed_size, const void *tail, size_t tail_size, uint64_t now_ns);

/* Writes what is buffered. False if the file can take no more; state and error tell why. */
bool profile_writer_flush(struct profile_writer *, uint64_t now_ns);

/* Writes what is buffered, unless another thread has the buffer at the moment. For those who do not
 * know when they will append again, or whether. Never waits but for the write(2). */
void profile_writer_settle(struct profile_writer *, uint64_t now_ns);

/* Flushes and closes the descriptor. A state of failure stays, else it becomes WRITER_CLOSED. */
void profile_writer_close(struct profile_writer *, uint64_t now_ns);

#endif

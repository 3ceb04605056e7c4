/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Coherence transfers between processes, over memory that they share: the definitions of
 * exact_coherence.h, in a table that lies in such memory itself. Lines are told by file and offset.
 * Every access takes the lock of its line; the order in which locks are taken is the order of the
 * accesses.
 *
 * The table begins as zeroes and never grows: what finds no room is not followed, which the caller
 * is told. A process that was killed while it held a lock loses it to who comes next.
 */
#ifndef REUSE_REUSE_EXACT_PROCESSES_H
#define REUSE_REUSE_EXACT_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/format.h"

enum {
    EXACT_PROCESSES_LINES = 1 << 15,
    EXACT_PROCESSES_COPIES = 32, /* threads at a line */
};

struct exact_processes;

/* Bytes of the table. Pages of it that no line falls on take no memory. */
size_t exact_processes_bytes(void);

/* A line of a file, and what of it an access touches. */
struct process_access {
    uint64_t device, inode, line; /* line: offset of its first byte */
    uint64_t bytes;               /* mask, as line_mask.h */
    uint64_t ip;
    uint16_t offset; /* of the first byte, in the line */
    uint8_t width;
    bool write;
};

/* One event; the destination is the access itself. */
struct process_event {
    uint32_t source_pid;
    int32_t source_tid;
    uint16_t source_offset;
    uint8_t source_width;
    bool true_sharing;
    enum transfer_kind kind;
};

/*
 * An access of a thread (tid above 0, unique in the process). `event` is called for each transfer,
 * those between threads of the process included, under the line's lock: no calls back. False: no
 * room, the access was not followed.
 */
bool exact_processes_access(struct exact_processes *, uint32_t pid, int32_t tid,
                            const struct process_access *,
                            void (*event)(void *context, const struct process_event *),
                            void *context);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of memory that processes share: which mappings a process has of it, and which of its
 * lines each burst touches. What all records have in common: format.h.
 */
#ifndef REUSE_PROFILE_FORMAT_SHARED_H
#define REUSE_PROFILE_FORMAT_SHARED_H

#include <stdint.h>

/*
 * A MAP_SHARED mapping that a burst was seen to touch. On one host, device and inode tell the file
 * (memfd, deleted files, shared memory without a name, System V segments included): a byte of it is
 * the same in each process that maps it.
 */
struct record_shared_mapping {
    uint32_t mapping_id;
    uint32_t origin_id;
    uint64_t start, end; /* in the process */
    uint64_t offset;     /* of start in the file */
    uint64_t device;     /* as the kernel prints it: major << 32 | minor */
    uint64_t inode;
    uint64_t monotonic_ns;
    char path[]; /* as /proc/PID/maps has it */
};

/*
 * What a burst does to one line of such a mapping; or, mapping_id 0, of any memory of its process
 * that bursts of another thread use as well, while one of the two stores to it. A burst that
 * touches many tells of few: those whose hash (of file, line and time) is lowest, which are the
 * same lines in every process; or whose rank is (sampling/burst_lines.h), the same in every thread.
 * Masks are as in struct record_sample; the load of a read-modify-write instruction is part of its
 * store.
 */
struct record_shared_use {
    uint64_t burst_id;
    uint64_t line;          /* offset of its first byte in the file; mapping_id 0: its address */
    uint64_t read, written; /* masks */
    uint64_t load_ip, store_ip;         /* of the first of each; 0: there is none */
    double share;                       /* probability that the line was told of, (0, 1] */
    uint32_t mapping_id;                /* 0: any memory of the process */
    uint16_t loads, stores;             /* visits in the burst that load, or store, of one access
                                           or several each (sampling/shared_use.h) */
    uint16_t load_offset, store_offset; /* first byte in the line, of the first of each */
    uint8_t load_width, store_width;    /* bytes */
    /* Without a mapping: bursts of the thread before this one, in the same 2^30 ns, that used the
     * line and are not told of; and the data object, as in struct record_sample. */
    uint16_t earlier;
    uint64_t object_base, object_size;
    uint32_t object_reference;
    uint8_t object_kind;
    uint8_t reserved[3];
};

/*
 * Uses without a mapping: for so long, in ns as a power of two, the same lines are told of. Some
 * ten bursts of each thread; what two threads do to a line further apart than that they do, mostly,
 * when it is no longer in the cache of the first.
 */
enum { SHARED_USE_WINDOW_LOG2 = 30 };

static inline uint64_t shared_use_window(uint64_t monotonic_ns)
{
    return monotonic_ns >> SHARED_USE_WINDOW_LOG2;
}

/*
 * Coherence transfers to a thread of this process from one of another, counted by an engine that
 * saw every access of both. Cumulative per key, which is everything before `transfers`. The source
 * is told by what the kernel calls it: its file may be merged later, or missing.
 */
struct record_process_transfer {
    uint32_t source_pid;
    int32_t source_tid; /* as in its struct record_thread */
    uint32_t destination_thread;
    uint32_t mapping_id;
    uint64_t line; /* offset of its first byte in the file */
    uint64_t destination_ip;
    uint16_t source_offset, destination_offset; /* in the line */
    uint8_t source_width, destination_width;    /* bytes */
    uint8_t kind;                               /* enum transfer_kind */
    uint8_t true_sharing;
    uint32_t line_size;
    uint32_t reserved;
    double transfers;
};

#endif

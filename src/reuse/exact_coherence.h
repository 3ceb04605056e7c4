/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Coherence transfers between infinite private caches, one per thread, write-invalidate, per line:
 * every event counted, with its source, destination, kind and true or false sharing, by the
 * definitions of docs/exact.md ("communication").
 *
 * Threads call in while they run, in the order in which they access. A thread that holds a line in
 * the needed state, by far the common case, takes no lock: it finds its copy in a small cache of
 * its own and adds the bytes to a mask. Everything else happens under the lock of the line's shard.
 * An access that is being checked while another thread takes the line away counts as before or
 * after it, as it would on a machine.
 *
 * Memory: about 70 bytes per line and thread that touched it (lines of 64 bytes).
 */
#ifndef REUSE_REUSE_EXACT_COHERENCE_H
#define REUSE_REUSE_EXACT_COHERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/format.h"

enum {
    EXACT_COHERENCE_WORDS = 4, /* of a mask: lines of up to 256 bytes are followed byte by byte */
    EXACT_COHERENCE_CACHED = 2048, /* copies that a thread finds without a lock */
};

struct exact_coherence; /* the lines; shared by all threads */

struct exact_copy {
    uint32_t thread;
    uint32_t state;       /* enum copy_state; atomic */
    uint32_t instruction; /* of the thread's last access, as given by the caller */
    uint32_t reserved;
    struct exact_copy *next; /* another thread's copy of the line */
    /*
     * words: bytes accessed since the thread got its copy; while it holds none, bytes that others
     * wrote since it lost it. After them, as many words: bytes written as the only holder.
     */
    uint64_t masks[];
};

/* One event, told to the thread that causes it (destination). */
struct exact_transfer {
    uint32_t source, destination; /* thread numbers */
    uint32_t source_instruction, destination_instruction;
    enum transfer_kind kind;
    bool true_sharing;
    uint64_t line;
};

/* One per thread; only that thread uses it. */
struct exact_coherence_thread {
    struct exact_coherence *coherence;
    uint32_t thread;
    unsigned line_shift;
    unsigned granule_shift; /* log2 of bytes per mask bit: 0 up to 256-byte lines */
    void (*transfer)(void *context, const struct exact_transfer *);
    void *context;
    uint64_t untracked; /* accesses to lines that found no memory */
    struct {
        uint64_t line; /* + 1 */
        struct exact_copy *copy;
    } cached[EXACT_COHERENCE_CACHED];
};

enum copy_state {
    COPY_INVALID = 0,
    COPY_SHARED = 1,
    COPY_EXCLUSIVE = 2, /* the only holder, and wrote it last */
};

/* NULL when memory is short. line_size as in access.h. */
struct exact_coherence *exact_coherence_create(uint32_t line_size);
void exact_coherence_destroy(struct exact_coherence *);

/* thread is 1 or more. transfer is called on the accessing thread, with locks held: no calls back.
 */
void exact_coherence_thread_init(struct exact_coherence_thread *, struct exact_coherence *,
                                 uint32_t thread,
                                 void (*transfer)(void *context, const struct exact_transfer *),
                                 void *context);

/* The slow path of exact_coherence_access(), for a part that lies in one line. */
bool exact_coherence_take(struct exact_coherence_thread *, uint64_t line, unsigned first,
                          unsigned last, bool write, uint32_t instruction);

/*
 * One access of 1..64 bytes; a read-modify-write is a write. True if the thread had a copy of a
 * line of it before and lost it to another thread's write.
 */
static inline bool exact_coherence_access(struct exact_coherence_thread *thread, uint64_t address,
                                          unsigned width, bool write, uint32_t instruction)
{
    bool lost = false;
    uint64_t end = address + width - 1;
    for (uint64_t line = address >> thread->line_shift; line <= end >> thread->line_shift; line++) {
        uint64_t start = line << thread->line_shift;
        unsigned first =
            (unsigned)((address > start ? address - start : 0) >> thread->granule_shift);
        uint64_t stop = start + (UINT64_C(1) << thread->line_shift) - 1;
        unsigned last = (unsigned)(((end < stop ? end : stop) - start) >> thread->granule_shift);
        unsigned slot = (unsigned)(line ^ line >> 11) % EXACT_COHERENCE_CACHED;
        struct exact_copy *copy = thread->cached[slot].copy;
        bool one_word = first / 64 == last / 64;
        bool usable = thread->cached[slot].line == line + 1 && one_word &&
                      __atomic_load_n(&copy->state, __ATOMIC_RELAXED) >=
                          (write ? COPY_EXCLUSIVE : COPY_SHARED);
        if (!usable) {
            lost |= exact_coherence_take(thread, line, first, last, write, instruction);
            continue;
        }
        uint64_t bits = ((UINT64_C(2) << (last - first)) - 1) << first % 64;
        unsigned words = 1u << (thread->line_shift - thread->granule_shift > 6
                                    ? thread->line_shift - thread->granule_shift - 6
                                    : 0);
        copy->instruction = instruction;
        copy->masks[first / 64] |= bits;
        if (write)
            copy->masks[words + first / 64] |= bits;
    }
    return lost;
}

/* Lines so far. */
uint64_t exact_coherence_lines(const struct exact_coherence *);

/* In a forked child, on its only thread: locks held by threads that are gone are open again. */
void exact_coherence_after_fork(struct exact_coherence *);

#endif

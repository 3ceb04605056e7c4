/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Coherence transfers between infinite private caches, one per thread, write-invalidate, per line:
 * every event counted, with its source, destination, kind and true or false sharing, by the
 * definitions of docs/exact.md ("communication").
 *
 * Threads call in while they run, in the order in which they access. A line that only one thread
 * has touched is an entry in a table over the address space, which that thread changes without a
 * lock. When a second thread comes, the line is expanded: it gets a list with one copy per thread,
 * and every change of a copy's state happens under the lock of the line's shard. A thread that
 * holds such a line in the needed state finds its copy in a small cache of its own, again without a
 * lock. An access that is being checked while another thread takes the line away counts as before
 * or after it, as it would on a machine.
 *
 * Memory, for lines of 64 bytes: 32 bytes per line in groups of 16, and some 100 more per line and
 * 40 per thread when a line is shared.
 */
#ifndef REUSE_REUSE_EXACT_COHERENCE_H
#define REUSE_REUSE_EXACT_COHERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/format.h"

enum {
    EXACT_COHERENCE_WORDS = 4, /* of a mask: lines of up to 256 bytes are followed byte by byte */
    EXACT_COHERENCE_CACHED = 1024, /* copies that a thread finds without a lock */
    EXACT_COHERENCE_GROUPS = 256,  /* groups of entries that it finds without a search */
    EXACT_COHERENCE_GROUP = 16,    /* lines */
};

struct exact_coherence; /* the lines; shared by all threads */

enum { EXACT_LAST_ACCESS, EXACT_LAST_WRITE, EXACT_LAST_COUNT };

/* A thread's last access of any kind to a line, and its last write. */
struct exact_last {
    uint32_t instruction[EXACT_LAST_COUNT];                  /* as given by the caller */
    uint8_t first[EXACT_LAST_COUNT], last[EXACT_LAST_COUNT]; /* granules of the line */
};

/* A line in the table. */
struct exact_private {
    uint32_t tag; /* thread << 2 | enum copy_state; EXACT_EXPANDED; 0: untouched. Atomic */
    struct exact_last last;
    uint64_t masks[]; /* words of bytes accessed, then as many of bytes written */
};

enum { EXACT_EXPANDED = 3 };

struct exact_copy {
    uint32_t thread;
    uint32_t state; /* enum copy_state; atomic */
    struct exact_last last;
    struct exact_copy *next; /* another thread's copy of the line */
    /*
     * words: bytes accessed since the thread got its copy; while it holds none, bytes that others
     * wrote since it lost it. After them, as many words: bytes written as the only holder.
     */
    uint64_t masks[];
};

/* One of the two accesses of an event, as far as it lies in the line. */
struct exact_end {
    uint32_t thread;
    uint32_t instruction;
    uint16_t offset; /* bytes from the line's start; granules beyond 256-byte lines */
    uint8_t width;   /* bytes */
};

/*
 * One event, told to the thread that causes it (destination). The source's access is its last write
 * for RAW and WAW, and its last access for WAR.
 */
struct exact_transfer {
    struct exact_end source, destination;
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
    uint64_t searched;  /* groups that were not found at once */
    unsigned words;     /* of a mask */
    size_t entry_bytes;
    unsigned char *arena; /* for groups of entries: the rest of the current block */
    size_t arena_left;
    struct {
        uint64_t group; /* + 1 */
        unsigned char *entries;
    } groups[EXACT_COHERENCE_GROUPS];
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

/* The entries of a group of lines; NULL when memory is short. */
unsigned char *exact_coherence_group(struct exact_coherence_thread *, uint64_t group);

static inline struct exact_private *exact_coherence_entry(struct exact_coherence_thread *thread,
                                                          uint64_t line)
{
    uint64_t group = line / EXACT_COHERENCE_GROUP;
    unsigned slot = group % EXACT_COHERENCE_GROUPS;
    unsigned char *entries = thread->groups[slot].entries;
    if (thread->groups[slot].group != group + 1)
        entries = exact_coherence_group(thread, group);
    if (entries == NULL)
        return NULL;
    return (struct exact_private *)(entries + line % EXACT_COHERENCE_GROUP * thread->entry_bytes);
}

/* Worth calling some accesses ahead when many groups have to be searched. */
static inline void exact_coherence_prefetch(struct exact_coherence_thread *thread, uint64_t address)
{
    struct exact_private *entry = exact_coherence_entry(thread, address >> thread->line_shift);
    if (entry != NULL)
        __builtin_prefetch(entry, 1);
}

static inline void exact_coherence_note(struct exact_last *last, uint32_t instruction,
                                        unsigned first_granule, unsigned last_granule, bool write)
{
    for (unsigned i = 0; i <= (write ? EXACT_LAST_WRITE : EXACT_LAST_ACCESS); i++) {
        last->instruction[i] = instruction;
        last->first[i] = (uint8_t)first_granule;
        last->last[i] = (uint8_t)last_granule;
    }
}

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
        uint64_t stop = start + (UINT64_C(1) << thread->line_shift) - 1;
        unsigned first =
            (unsigned)((address > start ? address - start : 0) >> thread->granule_shift);
        unsigned last = (unsigned)(((end < stop ? end : stop) - start) >> thread->granule_shift);
        uint32_t needed = write ? COPY_EXCLUSIVE : COPY_SHARED;
        unsigned slot = (unsigned)(line ^ line >> 10) % EXACT_COHERENCE_CACHED;
        struct exact_private *entry = exact_coherence_entry(thread, line);
        uint32_t tag = entry != NULL ? __atomic_load_n(&entry->tag, __ATOMIC_RELAXED) : 0;
        uint64_t *masks = NULL;
        struct exact_last *noted = NULL;
        if (tag - (thread->thread << 2) - needed <= COPY_EXCLUSIVE - needed) {
            masks = entry->masks;
            noted = &entry->last;
        } else if (tag == EXACT_EXPANDED && thread->cached[slot].line == line + 1 &&
                   __atomic_load_n(&thread->cached[slot].copy->state, __ATOMIC_RELAXED) >= needed) {
            masks = thread->cached[slot].copy->masks;
            noted = &thread->cached[slot].copy->last;
        }
        if (masks == NULL || first / 64 != last / 64) {
            lost |= exact_coherence_take(thread, line, first, last, write, instruction);
            continue;
        }
        exact_coherence_note(noted, instruction, first, last, write);
        uint64_t bits = ((UINT64_C(2) << (last - first)) - 1) << first % 64;
        masks[first / 64] |= bits;
        if (write)
            masks[thread->words + first / 64] |= bits;
    }
    return lost;
}

/* Lines that more than one thread has touched. */
uint64_t exact_coherence_shared_lines(const struct exact_coherence *);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What each thread keeps for the tracking of its allocations: a guard against re-entry, a cache of
 * the sites that it allocates at, and sums that are not yet added to the sites' totals. Internal to
 * the allocation wrappers.
 */
#ifndef REUSE_RUNTIME_ALLOCATION_THREAD_H
#define REUSE_RUNTIME_ALLOCATION_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "unwind.h"

enum {
    SITE_CACHE_CALLS = 512,
    SITE_CACHE_ENTRIES = 512,
    SITE_CACHE_TELLERS = 4,
    BATCHES = 128,
    BATCH_BLOCKS_MAX = 4096,
    BATCH_BYTES_MAX = 16384, /* as documented for allocation_site_totals() */
};

/*
 * A word on the stack that led a walk, by its distance from the stack pointer in units of 8 bytes.
 * If it is the address of a frame, its value is relative to the stack pointer, too.
 */
enum { STACK_WORD_DISTANCE = 0x7fffffff, STACK_WORD_IS_ADDRESS = -0x7fffffff - 1 };

/*
 * An allocation call seen before. It is the same again when ip and allocator, the frame pointer if
 * it was used, and all words that led the walk are the same: then so is the calling context
 * (unwind_trace).
 */
struct site_cache_entry {
    uint64_t ip;            /* 0: empty */
    uint64_t frame_pointer; /* relative to the stack pointer */
    uint32_t site;
    uint16_t allocator;
    uint8_t words;
    bool uses_frame_pointer;
    uint64_t reach;                  /* end of the words, relative to the stack pointer */
    uint32_t word[UNWIND_TRACE_MAX]; /* distance | STACK_WORD_IS_ADDRESS */
    uint64_t value[UNWIND_TRACE_MAX];
};

/*
 * What tells apart the histories of one call (by ip): words that were once found to differ. They
 * take part in the hash of its entries. It is learned, since which frames the histories of a call
 * have in common, and which not, depends on the program.
 */
struct site_cache_call {
    uint64_t reach; /* as above */
    uint32_t word[SITE_CACHE_TELLERS];
    uint32_t count, next;
};

/* Sums of one site. Written by the owning thread, read by whoever collects the totals. */
struct batch {
    _Atomic uint32_t site; /* 0: empty */
    _Atomic uint32_t blocks;
    _Atomic uint64_t bytes;
    _Atomic uint64_t largest;
    _Atomic int64_t live;
};

/* From a pool, so that memory is bounded and reused; some 450 KiB, touched as it is used. */
struct thread_cache {
    uint64_t allocations;   /* made by the thread, */
    uint64_t frames_walked; /* and what it took to find their sites */
    struct batch batches[BATCHES];
    struct site_cache_call calls[SITE_CACHE_CALLS];
    struct site_cache_entry sites[SITE_CACHE_ENTRIES];
};

/* The calling thread's cache once it has one; set by thread_cache_take() alone. */
extern __thread struct thread_cache *thread_cache_own __attribute__((tls_model("initial-exec")));

/* Finds the calling thread a cache; NULL when there is none to be had. Keeps errno. */
struct thread_cache *thread_cache_take(void);

/* The calling thread's cache, or NULL. */
static inline struct thread_cache *thread_cache_get(void)
{
    return __builtin_expect(thread_cache_own != NULL, 1) ? thread_cache_own : thread_cache_take();
}

/* Gives the calling thread's cache back; it gets no other. Its batches must be empty. */
void thread_cache_release(void);

/* Calls visit for the caches of all threads. */
void thread_cache_each(void (*visit)(void *user, struct thread_cache *), void *user);

/* In the child of a fork: only the calling thread has a cache. */
void thread_cache_fork_child(void);

/*
 * Guard against re-entry. Enter fails inside a wrapper of the same thread. A mark left behind by a
 * jump out of a signal handler is recognised by the stack pointer, which by then is above it again.
 */
extern __thread uint64_t allocation_inside __attribute__((tls_model("initial-exec")));

static inline bool allocation_enter(uint64_t stack_pointer)
{
    enum { STACK_SPAN = 16 << 20 }; /* beyond, the two stack pointers belong to different stacks */
    if (__builtin_expect(allocation_inside != 0, 0) &&
        stack_pointer - allocation_inside >= STACK_SPAN)
        return false;
    allocation_inside = stack_pointer;
    atomic_signal_fence(memory_order_seq_cst);
    return true;
}

static inline void allocation_leave(void)
{
    atomic_signal_fence(memory_order_seq_cst);
    allocation_inside = 0;
}

#endif

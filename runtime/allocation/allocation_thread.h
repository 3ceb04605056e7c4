/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What each thread keeps for the tracking of its allocations: a guard against re-entry, its last
 * calling context, and sums that are not yet added to the sites' totals. Internal to
 * the allocation wrappers.
 */
#ifndef REUSE_RUNTIME_ALLOCATION_THREAD_H
#define REUSE_RUNTIME_ALLOCATION_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "objects/block_choice.h"
#include "unwinding/unwind.h"

enum {
    BATCHES = 128,
    CHILDREN = 256,
    BATCH_BLOCKS_MAX = 4096,
    BATCH_BYTES_MAX = 16384, /* as documented for allocation_site_totals() */
};

/* Sums of one site. Written by the owning thread, read by whoever collects the totals. */
struct batch {
    _Atomic uint32_t site; /* 0: empty */
    _Atomic uint32_t blocks;
    _Atomic uint64_t bytes;
    _Atomic uint64_t largest;
    _Atomic int64_t live;
};

/* A number that context_tree_child() has given. context 0: none. */
struct known_child {
    uint64_t ip;
    uint32_t parent, context;
};

/* From a pool, so that memory is bounded and reused; some 20 KiB, touched as it is used. */
struct thread_cache {
    struct block_choice choice;      /* which of its blocks are tracked, but for large ones */
    struct block_choice_skips skips; /* of no thread: of the last one */
    struct block_choice large_choice;
    struct block_choice_skips large_skips;
    uint64_t noted_low, noted_high; /* where all is noted as heap, of the last block passed over */
    uint64_t allocations;           /* made by the thread, */
    uint64_t frames_walked;         /* and what it took to find their sites */
    struct walk_memory walks;       /* too large for a small alternate stack */
    struct batch batches[BATCHES];
    /* By hash. A look into the tree takes three cache misses in a program of many contexts. */
    struct known_child children[CHILDREN];
};

/* Of all choices; to be called before the first cache is taken, if at all. */
void thread_cache_seed(uint64_t seed);

/* The calling thread's cache once it has one; set by thread_cache_take() alone. */
extern __thread struct thread_cache *thread_cache_own __attribute__((tls_model("initial-exec")));

/* What the calling thread passes over: of its cache's choice. Zero without a cache. */
extern __thread struct block_choice_skips thread_skips __attribute__((tls_model("initial-exec")));

/* Finds the calling thread a cache; NULL when there is none to be had. Keeps errno. */
struct thread_cache *thread_cache_take(void);

/* The calling thread's cache, or NULL. */
static inline struct thread_cache *thread_cache_get(void)
{
    return __builtin_expect(thread_cache_own != NULL, 1) ? thread_cache_own : thread_cache_take();
}

/* Who chooses among the calling thread's blocks of this size, and what it passes over. */
static inline struct block_choice *thread_cache_choice(struct thread_cache *cache, size_t size)
{
    return size < BLOCK_CHOICE_LARGE ? &cache->choice : &cache->large_choice;
}

static inline struct block_choice_skips *thread_cache_skips(struct thread_cache *cache, size_t size)
{
    return size < BLOCK_CHOICE_LARGE ? &thread_skips : &cache->large_skips;
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

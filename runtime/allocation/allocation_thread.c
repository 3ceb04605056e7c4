/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pool of thread caches. Signal-safe.
 */
#include "allocation/allocation_thread.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "allocation/interpose_allocation.h"
#include "large_table.h"
#include "own/own_place.h"

#include "signal_safe.h"

/* memory: installed once, never freed. taken: by whom it is used, changed by compare-and-swap. */
static LARGE_TABLE struct {
    _Atomic(struct thread_cache *) memory;
    _Atomic bool taken;
} pool[ALLOCATION_THREADS_MAX];

/* Written before the first cache is taken. */
static uint64_t choice_seed;

void thread_cache_seed(uint64_t seed)
{
    choice_seed = seed;
}

/* No element from this index on was ever taken. Grows only. */
static _Atomic unsigned pool_used;

__thread uint64_t allocation_inside __attribute__((tls_model("initial-exec")));

__thread struct thread_cache *thread_cache_own __attribute__((tls_model("initial-exec")));

__thread struct block_choice_skips thread_skips __attribute__((tls_model("initial-exec")));

/* index + 1 of the thread's cache; 0: not asked yet; -1: none to be had, or given back. */
static __thread int cache_index __attribute__((tls_model("initial-exec")));

static struct thread_cache *memory_of(unsigned i)
{
    struct thread_cache *cache = atomic_load_explicit(&pool[i].memory, memory_order_acquire);
    if (cache != NULL)
        return cache;
    const int saved_errno = errno;
    void *memory = mmap(own_place(sizeof *cache), sizeof *cache, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    errno = saved_errno;
    if (memory == MAP_FAILED)
        return NULL;
    struct thread_cache *fresh = memory;
    /* Golden ratio: different for each; never 0. */
    fresh->choice.random_state = (choice_seed + i + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1;
    fresh->large_choice.random_state = ~fresh->choice.random_state | 1;
    fresh->large_choice.gradual = true;
    atomic_store_explicit(&pool[i].memory, memory, memory_order_release);
    unsigned used = atomic_load_explicit(&pool_used, memory_order_relaxed);
    while (used <= i && !atomic_compare_exchange_weak_explicit(
                            &pool_used, &used, i + 1, memory_order_release, memory_order_relaxed))
        ;
    return memory;
}

struct thread_cache *thread_cache_take(void)
{
    if (cache_index < 0)
        return NULL;
    for (unsigned i = 0; i < ALLOCATION_THREADS_MAX; i++) {
        bool taken = atomic_load_explicit(&pool[i].taken, memory_order_relaxed);
        if (taken || !atomic_compare_exchange_strong_explicit(
                         &pool[i].taken, &taken, true, memory_order_acquire, memory_order_relaxed))
            continue;
        thread_cache_own = memory_of(i);
        if (thread_cache_own != NULL) {
            cache_index = (int)i + 1;
            thread_skips = thread_cache_own->skips;
            return thread_cache_own;
        }
        atomic_store_explicit(&pool[i].taken, false, memory_order_release);
        break;
    }
    cache_index = -1;
    return NULL;
}

void thread_cache_release(void)
{
    if (cache_index > 0)
        thread_cache_own->skips = thread_skips;
    thread_skips = (struct block_choice_skips){0};
    thread_cache_own = NULL;
    if (cache_index > 0)
        atomic_store_explicit(&pool[cache_index - 1].taken, false, memory_order_release);
    cache_index = -1;
}

void thread_cache_each(void (*visit)(void *user, struct thread_cache *), void *user)
{
    const unsigned used = atomic_load_explicit(&pool_used, memory_order_acquire);
    for (unsigned i = 0; i < used; i++) {
        struct thread_cache *cache = atomic_load_explicit(&pool[i].memory, memory_order_acquire);
        if (cache != NULL)
            visit(user, cache);
    }
}

void thread_cache_fork_child(void)
{
    const int used = (int)atomic_load_explicit(&pool_used, memory_order_relaxed);
    for (int i = 0; i < used; i++) {
        struct thread_cache *cache = atomic_load_explicit(&pool[i].memory, memory_order_relaxed);
        const bool is_own = i == cache_index - 1;
        /* The skips of who had it are lost: all its places begin anew. */
        if (!is_own && cache != NULL &&
            atomic_load_explicit(&pool[i].taken, memory_order_relaxed)) {
            memset(cache->choice.places, 0, sizeof cache->choice.places);
            memset(&cache->skips, 0, sizeof cache->skips);
            /* What the fork interrupted may be half done. */
            memset(cache->large_choice.places, 0, sizeof cache->large_choice.places);
            memset(&cache->large_skips, 0, sizeof cache->large_skips);
        }
        if (atomic_load_explicit(&pool[i].taken, memory_order_relaxed) != is_own)
            atomic_store_explicit(&pool[i].taken, is_own, memory_order_relaxed);
    }
}

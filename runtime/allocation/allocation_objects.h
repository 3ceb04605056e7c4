/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the allocation wrappers report: blocks and mappings that came and went. Internal to them;
 * each call is made between allocation_enter() and allocation_leave().
 */
#ifndef REUSE_RUNTIME_ALLOCATION_OBJECTS_H
#define REUSE_RUNTIME_ALLOCATION_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "allocation/allocation_thread.h"
#include "allocation/interpose_allocation.h"
#include "allocation/release_filter.h"
#include "unwinding/unwind.h"

/* True once allocation_begin() succeeded: releases are followed from then on. */
extern _Atomic bool allocation_following;

/* Whose release matters. Changed in this folder alone. */
extern struct release_filter allocation_filter;

/* Whether calls from there are followed; if so, allocation_leave() ends what follows. */
static inline bool allocation_follow(uint64_t stack_pointer)
{
    return atomic_load_explicit(&allocation_following, memory_order_relaxed) &&
           allocation_enter(stack_pointer);
}

/* True: the small block that is asked for is not to be tracked. False: allocation_came() may have
 * to know of it. Signal-safe. */
static inline bool allocation_passes_over(uint64_t ip, uint64_t stack_pointer, size_t size)
{
    return __builtin_expect(size < BLOCK_CHOICE_SMALL, 1) &&
           block_choice_passes_over(&thread_skips, block_choice_place(ip, stack_pointer, size));
}

/* Likewise of a larger one. Slower: not for the wrappers' first lines. */
static inline bool allocation_passes_over_larger(uint64_t ip, uint64_t stack_pointer, size_t size)
{
    struct thread_cache *cache = thread_cache_own;
    return size >= BLOCK_CHOICE_SMALL && cache != NULL &&
           block_choice_is_made(thread_cache_choice(cache, size), size) &&
           block_choice_passes_over(thread_cache_skips(cache, size),
                                    block_choice_place(ip, stack_pointer, size));
}

/* The larger block that the real allocator returned was passed over; pointer may be NULL. The
 * thread has a cache. */
void allocation_note_heap(uint64_t base, size_t size);
static inline void allocation_passed_over(const void *pointer, size_t size)
{
    const struct thread_cache *cache = thread_cache_own;
    const uint64_t base = (uint64_t)(uintptr_t)pointer;
    /* Of others there are small ones around. */
    if (size >= BLOCK_CHOICE_LARGE && pointer != NULL &&
        (base < cache->noted_low || base + size > cache->noted_high))
        allocation_note_heap(base, size);
}

/* Around what is done for a block of `size` bytes that is tracked: allocation_spent() tells what
 * was spent since allocation_clock() gave `since`. */
uint64_t allocation_clock(void);
void allocation_spent(uint64_t since, size_t size);

/* The real allocator returned [pointer, pointer + size), which was not passed over; pointer may be
 * NULL. */
void allocation_came(const void *pointer, size_t size, enum allocator allocator,
                     const struct unwind_start *caller);

/* False: nothing needs to be done when the block goes. Signal-safe. */
static inline bool allocation_is_followed(const void *pointer)
{
    return __builtin_expect(release_filter_has(&allocation_filter, (uint64_t)(uintptr_t)pointer),
                            0);
}

/* What is known of a block that is about to go. */
struct allocation_going {
    struct block block; /* as tracked; else the size is what the allocator says, or 0 */
    bool tracked;
};

/*
 * The block is about to be given to the real allocator; it is followed. usable_size: the
 * allocator's malloc_usable_size, or NULL.
 */
struct allocation_going allocation_goes(void *pointer, size_t (*usable_size)(void *));

/* It will not come back: says so to whom it concerns. For free, before the call. */
void allocation_gone(const struct allocation_going *);

/* realloc moved it, or gave it another size; or failed. After the call. */
void allocation_moved(const struct allocation_going *, const void *pointer, size_t size,
                      enum allocator allocator, const struct unwind_start *caller);
void allocation_stayed(const struct allocation_going *);

/* Pages were mapped. */
void mapping_came(const struct allocation_mapping *mapping, enum allocator allocator,
                  const struct unwind_start *caller);

/* Pages are about to be unmapped; length is rounded up to whole ones. */
void mapping_goes(const void *start, size_t length);

/* Around a system call that moves pages: no mapping is recorded meanwhile. length 0: none moved. */
void mapping_hold(void);
void mapping_let_go(const void *old_start, size_t length);

/* Length in whole pages. */
size_t mapping_length(size_t length);

#endif

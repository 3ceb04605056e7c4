/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Heap blocks that come and go, and which block or mapping an address is in. Signal-safe, except
 * allocation_begin().
 *
 * A lookup asks the named parts first, then the heap, then the mappings, since allocators keep
 * their blocks in mappings and programs their objects in blocks.
 */
#include "allocation/allocation_objects.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>

#include "allocation/allocation_internal.h"
#include "allocation/allocation_sites.h"
#include "allocation/allocation_thread.h"

#include "signal_safe.h"

static const uint64_t default_block_bytes = UINT64_C(256) << 20;

_Atomic bool allocation_following;

bool allocation_begin(const struct allocation_options *options)
{
    const int saved_errno = errno;
    allocation_state.options = *options;
    allocation_limit_nodes(options->block_bytes_max != 0 ? options->block_bytes_max
                                                         : default_block_bytes);
    thread_cache_seed(options->seed);
    allocation_state.page_bytes = getauxval(AT_PAGESZ);
    /* One mapping: a short process makes and unmakes it. */
    const size_t map_bytes =
        (block_map_size() + allocation_state.page_bytes - 1) & -allocation_state.page_bytes;
    char *memory = allocation_obtain(LAYER_COUNT * map_bytes + allocation_sites_size());
    for (unsigned layer = 0; layer < LAYER_COUNT && memory != NULL; layer++)
        allocation_state.maps[layer] = (struct block_map *)(memory + layer * map_bytes);
    if (memory != NULL)
        allocation_sites_begin(&allocation_state.options, memory + LAYER_COUNT * map_bytes);
    const bool ready = memory != NULL;
    atomic_store_explicit(&allocation_following, ready, memory_order_release);
    errno = saved_errno;
    return ready;
}

void allocation_pause(void)
{
    atomic_store_explicit(&allocation_state.paused, true, memory_order_relaxed);
}

void allocation_resume(void)
{
    atomic_store_explicit(&allocation_state.paused, false, memory_order_relaxed);
}

uint64_t allocation_clock(void)
{
    const struct allocation_hooks *hooks = &allocation_state.options.hooks;
    return hooks->clock == NULL ? 0 : hooks->clock();
}

void allocation_spent(uint64_t since, size_t size)
{
    enum { LONGEST_NS = 50000 };
    const struct allocation_hooks *hooks = &allocation_state.options.hooks;
    if (hooks->clock == NULL)
        return;
    const uint64_t now = hooks->clock();
    const uint64_t spent = now - since < LONGEST_NS ? now - since : LONGEST_NS;
    if (thread_cache_own != NULL)
        block_choice_spent(thread_cache_choice(thread_cache_own, size), now, spent);
    hooks->spent(hooks->user, spent);
}

/* Heap blocks. */

void allocation_note_heap(uint64_t base, size_t size)
{
    block_map_note_untracked(allocation_state.maps[LAYER_HEAP], base, size);
    thread_cache_own->noted_low = base & -(uint64_t)BLOCK_MAP_NEAR;
    thread_cache_own->noted_high = (base + size + BLOCK_MAP_NEAR - 1) & -(uint64_t)BLOCK_MAP_NEAR;
}

void allocation_came(const void *pointer, size_t size, enum allocator allocator,
                     const struct unwind_start *caller)
{
    struct block block = {.base = (uint64_t)(uintptr_t)pointer, .size = size};
    const bool had_cache = thread_cache_own != NULL;
    struct thread_cache *cache = thread_cache_get();
    const unsigned place = block_choice_place(caller->ip, caller->stack_pointer, size);
    if (cache == NULL) {
        if (size < BLOCK_CHOICE_SMALL)
            block_choice_leave(&thread_skips, place);
    } else if (block_choice_is_made(thread_cache_choice(cache, size), size)) {
        struct block_choice_skips *skips = thread_cache_skips(cache, size);
        if (allocation_state.options.every_block) {
            block_choice_leave(skips, place);
        } else if (!had_cache && block_choice_passes_over(skips, place)) {
            allocation_passed_over(pointer, size);
            return; /* the skips came with the cache */
        } else {
            block.tracked_log2 =
                (uint8_t)block_choice_take(thread_cache_choice(cache, size), skips, place);
        }
    }
    /* Only now: a choice that is not made would fall on the next block for certain. */
    if (pointer == NULL || atomic_load_explicit(&allocation_state.paused, memory_order_relaxed))
        return;
    allocation_need_tables();
    block.site = allocation_site(caller, allocator, UINT32_C(1) << block.tracked_log2);
    const bool tracked = allocation_insert(LAYER_HEAP, &block, true);
    allocation_site_came(&block, !tracked ? 0 : size == 0 ? 1 : size);
}

/* The lines of a block that the allocator hands out again stay where they are, and are watched on.
 */
static void tell_freed(uint64_t base, uint64_t size)
{
    if (size >= RETURNED_BLOCK_BYTES)
        allocation_tell_released(base, size);
    else
        allocation_drop_parts(base, size);
}

struct allocation_going allocation_goes(void *pointer, size_t (*usable_size)(void *))
{
    const uint64_t base = (uint64_t)(uintptr_t)pointer;
    struct allocation_going going = {.block.base = base};
    going.tracked = allocation_take_out(LAYER_HEAP, base, &going.block);
    if (!going.tracked && usable_size != NULL &&
        release_filter_may_hold(&allocation_filter, base, 1))
        going.block.size = usable_size(pointer);
    return going;
}

void allocation_gone(const struct allocation_going *going)
{
    if (going->tracked)
        allocation_site_went(&going->block, going->block.size);
    if (going->block.size != 0)
        tell_freed(going->block.base, going->block.size);
}

void allocation_moved(const struct allocation_going *going, const void *pointer, size_t size,
                      enum allocator allocator, const struct unwind_start *caller)
{
    const struct block *old = &going->block;
    const uint64_t base = (uint64_t)(uintptr_t)pointer;
    if (going->tracked)
        allocation_site_went(old, old->size);
    if (base != old->base && old->size != 0)
        tell_freed(old->base, old->size);
    else if (base == old->base && size < old->size)
        tell_freed(base + size, old->size - size);
    if (allocation_passes_over_larger(caller->ip, caller->stack_pointer, size))
        allocation_passed_over(pointer, size);
    else if (!allocation_passes_over(caller->ip, caller->stack_pointer, size))
        allocation_came(pointer, size, allocator, caller);
}

void allocation_stayed(const struct allocation_going *going)
{
    if (going->tracked)
        allocation_insert(LAYER_HEAP, &going->block, false);
}

/* Lookups, watches, the rest. */

bool allocation_find(uint64_t address, struct block *block, enum object_kind *kind)
{
    if (!atomic_load_explicit(&allocation_following, memory_order_acquire))
        return false;
    enum object_kind unnamed;
    if (allocation_has_parts() &&
        block_map_find(allocation_state.maps[LAYER_PART], address, block)) {
        unnamed = OBJECT_NAMED;
    } else if (block_map_find(allocation_state.maps[LAYER_HEAP], address, block)) {
        unnamed = OBJECT_HEAP;
    } else if (block_map_page_seen(allocation_state.maps[LAYER_HEAP], address) ||
               allocation_is_brk_area(address)) {
        *block = (struct block){.base = 0};
        *kind = OBJECT_HEAP_UNTRACKED;
        return true;
    } else if (block_map_find(allocation_state.maps[LAYER_MAPPING], address, block)) {
        unnamed = OBJECT_MAPPING;
    } else {
        return false;
    }
    *kind = allocation_site_is_named(block->site) ? OBJECT_NAMED : unnamed;
    return true;
}

bool allocation_is_near_heap(uint64_t address)
{
    return atomic_load_explicit(&allocation_following, memory_order_acquire) &&
           block_map_near_untracked(allocation_state.maps[LAYER_HEAP], address);
}

void allocation_watch(uint64_t address)
{
    release_filter_watch(&allocation_filter, address);
}

void allocation_unwatch(uint64_t address)
{
    release_filter_unwatch(&allocation_filter, address);
}

void allocation_thread_end(void)
{
    if (!atomic_load_explicit(&allocation_following, memory_order_acquire))
        return;
    allocation_sites_thread_end();
    thread_cache_release();
}

void allocation_fork_child(void)
{
    if (!atomic_load_explicit(&allocation_following, memory_order_acquire))
        return;
    allocation_maps_fork_child();
    allocation_parts_fork_child();
    allocation_sites_fork_child();
    thread_cache_fork_child();
}

void allocation_statistics(struct allocation_statistics *statistics)
{
    struct block_map_statistics map;
    struct allocation_sites_statistics sites;
    memset(statistics, 0, sizeof *statistics);
    if (!atomic_load_explicit(&allocation_following, memory_order_acquire))
        return;
    for (unsigned layer = 0; layer < LAYER_COUNT; layer++) {
        block_map_statistics(allocation_state.maps[layer], &map);
        statistics->untracked_blocks += map.untracked;
        statistics->node_bytes += map.node_bytes;
    }
    allocation_sites_statistics(&sites);
    statistics->other_blocks = sites.other_blocks;
    statistics->frames_walked = sites.frames_walked;
    statistics->contexts_shortened = sites.contexts_shortened;
}

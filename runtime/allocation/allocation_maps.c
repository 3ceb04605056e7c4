/* SPDX-License-Identifier: BSD-3-Clause */
/* What is put into the maps and taken out, told to whom it concerns. Signal-safe. */
#include <errno.h>
#include <sys/mman.h>

#include "allocation/allocation_internal.h"
#include "allocation/allocation_objects.h"
#include "allocation/allocation_sites.h"
#include "large_table.h"
#include "own/own_place.h"

#include "signal_safe.h"

struct allocation_state allocation_state;
LARGE_TABLE struct release_filter allocation_filter;

static _Atomic uint64_t node_bytes_left;
static _Atomic bool has_tables;
static struct allocation_lock tables_lock; /* of making them */

void *allocation_obtain(size_t bytes)
{
    const int saved_errno = errno;
    void *memory = mmap(own_place(bytes), bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    errno = saved_errno;
    if (memory == MAP_FAILED)
        return NULL;
    own_small_pages(memory, bytes);
    return memory;
}

static void *obtain_nodes(void *context, size_t bytes)
{
    (void)context;
    uint64_t left = atomic_load_explicit(&node_bytes_left, memory_order_relaxed);
    do {
        if (left < bytes)
            return NULL;
    } while (!atomic_compare_exchange_weak_explicit(&node_bytes_left, &left, left - bytes,
                                                    memory_order_relaxed, memory_order_relaxed));
    return allocation_obtain(bytes);
}

void allocation_limit_nodes(uint64_t bytes)
{
    atomic_store(&node_bytes_left, bytes);
}

/* For the first block that is tracked: seven pages, megabytes apart, and many a short process
 * tracks none. Until then the maps are memory of zeros, which is an empty map. */
static __attribute__((noinline)) void make_tables(void)
{
    allocation_lock(&tables_lock);
    if (!atomic_load_explicit(&has_tables, memory_order_relaxed)) {
        for (unsigned layer = 0; layer < LAYER_COUNT; layer++)
            block_map_create(allocation_state.maps[layer], obtain_nodes, NULL);
        allocation_sites_make();
        atomic_store_explicit(&has_tables, true, memory_order_release);
    }
    allocation_unlock(&tables_lock);
}

void allocation_need_tables(void)
{
    if (__builtin_expect(!atomic_load_explicit(&has_tables, memory_order_acquire), 0))
        make_tables();
}

bool allocation_insert(enum object_layer layer, const struct block *block, bool is_new)
{
    const struct allocation_hooks *hooks = &allocation_state.options.hooks;
    /* Before the block is there, since another thread may release it then. */
    if (layer == LAYER_HEAP)
        release_filter_add(&allocation_filter, block->base);
    if (!block_map_insert(allocation_state.maps[layer], block)) {
        if (layer == LAYER_HEAP)
            release_filter_remove(&allocation_filter, block->base);
        return false;
    }
    if (hooks->inserted != NULL && allocation_hooks_are_live())
        hooks->inserted(hooks->user, layer, block, is_new);
    return true;
}

bool allocation_take_out(enum object_layer layer, uint64_t base, struct block *block)
{
    const struct allocation_hooks *hooks = &allocation_state.options.hooks;
    if (!block_map_remove(allocation_state.maps[layer], base, block))
        return false;
    if (layer == LAYER_HEAP)
        release_filter_remove(&allocation_filter, base);
    if (hooks->removed != NULL && allocation_hooks_are_live())
        hooks->removed(hooks->user, layer, base);
    return true;
}

void allocation_tell_released(uint64_t base, uint64_t size)
{
    allocation_drop_parts(base, size);
    const struct allocation_hooks *hooks = &allocation_state.options.hooks;
    if (release_filter_may_hold(&allocation_filter, base, size) && hooks->released != NULL &&
        allocation_hooks_are_live())
        hooks->released(hooks->user, base, size);
}

void allocation_maps_fork_child(void)
{
    atomic_store(&tables_lock.held, false);
    atomic_store(&allocation_state.mappings_lock.held, false);
}

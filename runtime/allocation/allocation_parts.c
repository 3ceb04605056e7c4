/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects that the API gave a name: whole blocks and mappings, and parts of anything. Signal-safe.
 */
#include <string.h>

#include "allocation/allocation_internal.h"
#include "allocation/allocation_objects.h"
#include "allocation/allocation_sites.h"
#include "large_table.h"

#include "signal_safe.h"

enum { PARTS_MAX = 1024 };

struct part {
    uint64_t base, size;
};

static struct allocation_lock parts_lock; /* of changes to LAYER_PART and the list of parts */
static _Atomic uint32_t part_count;
LARGE_TABLE static struct part part_list[PARTS_MAX];

static uint64_t part_base(uint64_t address)
{
    return address & ~UINT64_C(7); /* small blocks start at multiples of 8 */
}

void allocation_drop_parts(uint64_t base, uint64_t size)
{
    if (__builtin_expect(atomic_load_explicit(&part_count, memory_order_relaxed) == 0, 1))
        return;
    allocation_lock(&parts_lock);
    uint32_t count = atomic_load_explicit(&part_count, memory_order_relaxed);
    for (uint32_t i = count; i-- > 0;) {
        const struct part *part = &part_list[i];
        struct block removed;
        if (part->base >= base + size || base >= part->base + part->size)
            continue;
        if (allocation_take_out(LAYER_PART, part->base, &removed))
            allocation_site_went(&removed, removed.size);
        release_filter_unwatch(&allocation_filter, part->base);
        part_list[i] = part_list[--count];
    }
    atomic_store_explicit(&part_count, count, memory_order_relaxed);
    allocation_unlock(&parts_lock);
}

static bool add_part(uint64_t base, uint64_t size, uint32_t site)
{
    allocation_drop_parts(base, size);
    allocation_lock(&parts_lock);
    const uint32_t count = atomic_load_explicit(&part_count, memory_order_relaxed);
    const struct block part = {.base = base, .size = size, .site = site};
    const bool added = count < PARTS_MAX && allocation_insert(LAYER_PART, &part, true);
    if (added) {
        part_list[count] = (struct part){.base = base, .size = size};
        release_filter_watch(&allocation_filter, base);
        atomic_store_explicit(&part_count, count + 1, memory_order_relaxed);
    }
    allocation_unlock(&parts_lock);
    return added;
}

/* Gives the block or mapping another site, if it is one as a whole. */
static bool rename_whole(enum object_layer layer, uint64_t base, uint64_t size, uint32_t site)
{
    struct block block;
    if (!block_map_find(allocation_state.maps[layer], base, &block) || block.base != base ||
        size < block.size || !allocation_take_out(layer, base, &block))
        return false;
    allocation_site_went(&block, block.size);
    block.site = site;
    block.tracked_log2 = 0; /* tracked or not, what has a name would be found */
    const bool inserted = allocation_insert(layer, &block, true);
    allocation_site_came(&block, inserted ? block.size : 0);
    return inserted;
}

bool allocation_name(const void *pointer, size_t size, const char *name,
                     const struct unwind_start *caller)
{
    const uint64_t address = (uint64_t)(uintptr_t)pointer;
    if (!atomic_load_explicit(&allocation_following, memory_order_acquire) ||
        !allocation_enter(caller->stack_pointer))
        return false;
    bool named = true;
    if (size == 0) {
        allocation_drop_parts(address, 1);
    } else {
        allocation_need_tables();
        const uint32_t site = allocation_named_site(caller, name);
        named = site != 0;
        if (named && !rename_whole(LAYER_HEAP, address, size, site) &&
            !rename_whole(LAYER_MAPPING, address, mapping_length(size), site)) {
            const uint64_t base = part_base(address);
            named = add_part(base, size + (address - base), site);
            if (named)
                allocation_site_came(&(struct block){.base = address, .size = size, .site = site},
                                     size + (address - base));
        }
    }
    allocation_leave();
    return named;
}

bool allocation_has_parts(void)
{
    return atomic_load_explicit(&part_count, memory_order_relaxed) != 0;
}

void allocation_parts_fork_child(void)
{
    atomic_store(&parts_lock.held, false);
}

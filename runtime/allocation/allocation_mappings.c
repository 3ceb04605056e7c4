/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages that were mapped, moved and unmapped, whole or in part. Signal-safe. */
#include "allocation/allocation_internal.h"
#include "allocation/allocation_objects.h"
#include "allocation/allocation_sites.h"

#include "signal_safe.h"

size_t mapping_length(size_t length)
{
    return (length + allocation_state.page_bytes - 1) & ~(allocation_state.page_bytes - 1);
}

/* Takes [start, end) out of what is known to be mapped; the caller holds the lock. */
static void carve(uint64_t start, uint64_t end)
{
    struct block block;
    while (block_map_next(allocation_state.maps[LAYER_MAPPING], start, end, &block)) {
        const uint64_t block_end = block.base + block.size;
        const uint64_t cut_start = block.base > start ? block.base : start;
        const uint64_t cut_end = block_end < end ? block_end : end;
        if (!allocation_take_out(LAYER_MAPPING, block.base, &block))
            return;
        const struct block before = {
            .base = block.base, .size = cut_start - block.base, .site = block.site};
        const struct block after = {
            .base = cut_end, .size = block_end - cut_end, .site = block.site};
        if (before.size > 0)
            allocation_insert(LAYER_MAPPING, &before, false);
        if (after.size > 0)
            allocation_insert(LAYER_MAPPING, &after, false);
        allocation_site_went(&block, cut_end - cut_start);
    }
}

void mapping_hold(void)
{
    allocation_lock(&allocation_state.mappings_lock);
}

void mapping_let_go(const void *old_start, size_t length)
{
    const uint64_t start = (uint64_t)(uintptr_t)old_start;
    const uint64_t bytes = mapping_length(length);
    /* Else the kernel refuses the call. */
    const bool valid = bytes != 0 && start % allocation_state.page_bytes == 0;
    if (valid)
        carve(start, start + bytes);
    allocation_unlock(&allocation_state.mappings_lock);
    if (valid)
        allocation_tell_released(start, bytes);
}

void mapping_goes(const void *start, size_t length)
{
    mapping_hold();
    mapping_let_go(start, length);
}

void mapping_came(const struct allocation_mapping *mapping, enum allocator allocator,
                  const struct unwind_start *caller)
{
    struct allocation_mapping described = *mapping;
    const bool paused = atomic_load_explicit(&allocation_state.paused, memory_order_relaxed);
    const uint64_t bytes = mapping->end - mapping->start;
    allocation_need_tables();
    described.site_id = paused ? 0 : allocation_site(caller, allocator, 1);
    const struct block block = {.base = mapping->start, .size = bytes, .site = described.site_id};
    allocation_lock(&allocation_state.mappings_lock);
    carve(mapping->start, mapping->end);
    const bool tracked = !paused && allocation_insert(LAYER_MAPPING, &block, true);
    allocation_unlock(&allocation_state.mappings_lock);
    if (paused)
        return;
    allocation_site_came(&block, tracked ? bytes : 0);
    const struct allocation_hooks *hooks = &allocation_state.options.hooks;
    if (hooks->new_mapping != NULL && allocation_hooks_are_live())
        hooks->new_mapping(hooks->user, &described);
}

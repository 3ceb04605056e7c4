/* SPDX-License-Identifier: BSD-3-Clause */
/* Radix tree of live blocks; block_map.h has the picture. Signal-safe. */
#include "objects/block_map_internal.h"

#include "signal_safe.h"

size_t block_map_size(void)
{
    return sizeof(struct block_map);
}

struct block_map *block_map_create(void *memory, block_map_pages pages, void *context)
{
    struct block_map *map = memory;
    map->pages = pages;
    map->context = context;
    return map;
}

static void *obtain_chunk(struct block_map *map)
{
    void *chunk = atomic_exchange_explicit(&map->spare_chunk, NULL, memory_order_acquire);
    if (chunk != NULL)
        return chunk;
    chunk = map->pages(map->context, BLOCK_MAP_CHUNK);
    if (chunk != NULL)
        atomic_fetch_add_explicit(&map->node_bytes, BLOCK_MAP_CHUNK, memory_order_relaxed);
    return chunk;
}

void *block_map_node(struct block_map *map, size_t bytes)
{
    const uint64_t units = (bytes + 15) / 16;
    uint64_t chunk = atomic_load_explicit(&map->chunk, memory_order_acquire);
    for (;;) {
        const uint64_t used = chunk & 0xffff;
        if (chunk != 0 && used + units <= BLOCK_MAP_CHUNK / 16) {
            if (atomic_compare_exchange_weak_explicit(&map->chunk, &chunk, chunk + units,
                                                      memory_order_acq_rel, memory_order_acquire))
                return (void *)((chunk >> 16 << PAGE_SHIFT) + used * 16);
            continue;
        }
        void *fresh = obtain_chunk(map);
        if (fresh == NULL)
            return NULL;
        const uint64_t next = (uint64_t)(uintptr_t)fresh >> PAGE_SHIFT << 16;
        if (atomic_compare_exchange_strong_explicit(&map->chunk, &chunk, next + units,
                                                    memory_order_acq_rel, memory_order_acquire))
            return fresh;
        /* If two threads lose at once, the older spare chunk stays unused: 64 KiB, very rarely. */
        atomic_store_explicit(&map->spare_chunk, fresh, memory_order_release);
    }
}

bool block_map_remove(struct block_map *map, uint64_t base, struct block *removed)
{
    if (!in_range(base))
        return false;
    if (base % (1 << POSITION_SHIFT) == 0 && block_map_remove_small(map, base, removed))
        return true;
    return block_map_remove_large(map, base, removed);
}

bool block_map_insert(struct block_map *map, const struct block *new_block)
{
    struct block block = *new_block;
    bool tracked = false;
    if (block.size == 0)
        block.size = 1;
    if (in_range(block.base) && block.size <= (UINT64_C(1) << ADDRESS_BITS) - block.base &&
        block.site != 0 && block.site <= BLOCK_SITE_MAX) {
        if (end_of_whole_pages(&block) > first_whole_page(block.base))
            tracked = block_map_insert_large(map, &block);
        else if (block.base % (1 << POSITION_SHIFT) == 0)
            tracked = block_map_insert_small(map, &block);
    }
    if (!tracked)
        atomic_fetch_add_explicit(&map->untracked, 1, memory_order_relaxed);
    return tracked;
}

bool block_map_find(const struct block_map *map, uint64_t address, struct block *found)
{
    if (!in_range(address))
        return false;
    if (block_map_covering(map, address, address, found))
        return true;
    if (block_map_find_small(map, address, found))
        return true;
    /* The ragged ends of a large block lie in pages next to those that it covers. */
    return block_map_covering(map, address + PAGE_BYTES, address, found) ||
           (address >= PAGE_BYTES && block_map_covering(map, address - PAGE_BYTES, address, found));
}

bool block_map_next(const struct block_map *map, uint64_t from, uint64_t to, struct block *found)
{
    while (from < to && in_range(from)) {
        if (block_map_covering(map, from, from, found))
            return true;
        const struct middle_table *middle =
            atomic_load_explicit(&map->huge[from >> HUGE_SHIFT].middle, memory_order_acquire);
        const unsigned shift = middle == NULL                           ? HUGE_SHIFT
                               : block_map_find_page(map, from) == NULL ? MIDDLE_SHIFT
                                                                        : PAGE_SHIFT;
        from = ((from >> shift) + 1) << shift;
    }
    return false;
}

bool block_map_page_seen(const struct block_map *map, uint64_t address)
{
    const struct page_entry *page = in_range(address) ? block_map_find_page(map, address) : NULL;
    return page != NULL && atomic_load_explicit(&page->cells, memory_order_acquire) != NULL;
}

void block_map_note_untracked(struct block_map *map, uint64_t base, uint64_t size)
{
    const uint64_t near = BLOCK_MAP_NEAR;
    if (size == 0 || !in_range(base) || !in_range(base + size - 1))
        return;
    for (uint64_t at = base & -near; at < base + size; at += near) {
        struct middle_table *middle = CHILD(map, &map->huge[at >> HUGE_SHIFT].middle);
        if (middle == NULL)
            return;
        note_untracked(middle, at);
    }
}

bool block_map_near_untracked(const struct block_map *map, uint64_t address)
{
    const struct middle_table *middle =
        in_range(address)
            ? atomic_load_explicit(&map->huge[address >> HUGE_SHIFT].middle, memory_order_acquire)
            : NULL;
    return middle != NULL && atomic_load_explicit(&middle->untracked[middle_index(address) / 64],
                                                  memory_order_relaxed) >>
                                     middle_index(address) % 64 &
                                 1;
}

void block_map_statistics(const struct block_map *map, struct block_map_statistics *statistics)
{
    statistics->untracked = atomic_load_explicit(&map->untracked, memory_order_relaxed);
    statistics->node_bytes = atomic_load_explicit(&map->node_bytes, memory_order_relaxed);
}

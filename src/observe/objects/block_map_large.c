/* SPDX-License-Identifier: BSD-3-Clause */
/* Large blocks of the block map: descriptors, to which the whole pages inside point. Signal-safe.
 */
#include "objects/block_map_internal.h"

#include "signal_safe.h"

static struct large *obtain_large(struct block_map *map)
{
    uint64_t head = atomic_load_explicit(&map->free_large, memory_order_acquire);
    while (head >> 20 != 0) {
        struct large *large = (struct large *)(head >> 20 << 4);
        const struct large *next = atomic_load_explicit(&large->next_free, memory_order_relaxed);
        const uint64_t changed =
            (uint64_t)(uintptr_t)next >> 4 << 20 | ((head + 1) & ((1 << 20) - 1));
        if (atomic_compare_exchange_weak_explicit(&map->free_large, &head, changed,
                                                  memory_order_acq_rel, memory_order_acquire))
            return large;
    }
    struct large *large = block_map_node(map, sizeof *large);
    if (large != NULL)
        atomic_store_explicit(&large->sequence, 1, memory_order_relaxed);
    return large;
}

static void release_large(struct block_map *map, struct large *large)
{
    uint64_t head = atomic_load_explicit(&map->free_large, memory_order_relaxed);
    uint64_t changed;
    do {
        atomic_store_explicit(&large->next_free, (struct large *)(head >> 20 << 4),
                              memory_order_relaxed);
        changed = (uint64_t)(uintptr_t)large >> 4 << 20 | ((head + 1) & ((1 << 20) - 1));
    } while (!atomic_compare_exchange_weak_explicit(&map->free_large, &head, changed,
                                                    memory_order_acq_rel, memory_order_relaxed));
}

/* Between even and odd sequence; every field is stored with release, so that a reader who sees one
 * of the new values also sees that the sequence has moved. */
static void describe(struct large *large, const struct block *block)
{
    atomic_store_explicit(&large->base, block->base, memory_order_release);
    atomic_store_explicit(&large->size,
                          block->size | (uint64_t)block->tracked_log2 << LARGE_SIZE_BITS,
                          memory_order_release);
    atomic_store_explicit(&large->site, block->site, memory_order_release);
    atomic_fetch_add_explicit(&large->sequence, 1, memory_order_release);
}

static bool read_large(const struct large *large, struct block *block)
{
    if (large == NULL)
        return false;
    const uint32_t sequence = atomic_load_explicit(&large->sequence, memory_order_acquire);
    block->base = atomic_load_explicit(&large->base, memory_order_acquire);
    const uint64_t size = atomic_load_explicit(&large->size, memory_order_acquire);
    block->size = size & ((UINT64_C(1) << LARGE_SIZE_BITS) - 1);
    block->site = atomic_load_explicit(&large->site, memory_order_acquire);
    block->tracked_log2 = (uint8_t)(size >> LARGE_SIZE_BITS);
    return (sequence & 1) == 0 &&
           atomic_load_explicit(&large->sequence, memory_order_relaxed) == sequence;
}

/* The descriptor that covers the whole page of `page_address` and also contains `address`. */
static struct large *covering(const struct block_map *map, uint64_t page_address, uint64_t address,
                              struct block *found)
{
    if (!in_range(page_address))
        return NULL;
    const struct huge_entry *huge = &map->huge[page_address >> HUGE_SHIFT];
    struct large *large = atomic_load_explicit(&huge->large, memory_order_acquire);
    if (read_large(large, found) && address - found->base < found->size)
        return large;
    const struct middle_table *middle = atomic_load_explicit(&huge->middle, memory_order_acquire);
    if (middle == NULL)
        return NULL;
    large = atomic_load_explicit(&middle->entry[middle_index(page_address)].large,
                                 memory_order_acquire);
    if (read_large(large, found) && address - found->base < found->size)
        return large;
    const struct page_entry *page = block_map_find_page(map, page_address);
    large = page == NULL ? NULL : atomic_load_explicit(&page->large, memory_order_acquire);
    if (read_large(large, found) && address - found->base < found->size)
        return large;
    return NULL;
}

bool block_map_covering(const struct block_map *map, uint64_t page_address, uint64_t address,
                        struct block *found)
{
    return covering(map, page_address, address, found) != NULL;
}

/* Points the whole pages [from, to) to the descriptor. Returns where it had to stop. */
static uint64_t cover(struct block_map *map, uint64_t from, uint64_t to, struct large *large)
{
    const uint64_t huge_bytes = UINT64_C(1) << HUGE_SHIFT;
    const uint64_t middle_bytes = UINT64_C(1) << MIDDLE_SHIFT;
    while (from < to) {
        struct huge_entry *huge = &map->huge[from >> HUGE_SHIFT];
        if (from % huge_bytes == 0 && to - from >= huge_bytes) {
            atomic_store_explicit(&huge->large, large, memory_order_release);
            from += huge_bytes;
            continue;
        }
        if (from % middle_bytes == 0 && to - from >= middle_bytes) {
            struct middle_table *middle = CHILD(map, &huge->middle);
            if (middle == NULL)
                return from;
            atomic_store_explicit(&middle->entry[middle_index(from)].large, large,
                                  memory_order_release);
            from += middle_bytes;
            continue;
        }
        struct page_entry *page = block_map_create_page(map, from);
        if (page == NULL)
            return from;
        do {
            atomic_store_explicit(&page++->large, large, memory_order_release);
            from += PAGE_BYTES;
        } while (from < to && from % middle_bytes != 0);
    }
    return from;
}

static void clear_entry(_Atomic(struct large *) *entry, struct large *large)
{
    /* An entry that names another descriptor belongs to a newer block. */
    if (atomic_load_explicit(entry, memory_order_relaxed) == large)
        atomic_store_explicit(entry, NULL, memory_order_release);
}

/* Undoes cover() over the same range: the nodes on the way exist. */
static void uncover(struct block_map *map, uint64_t from, uint64_t to, uint64_t planned_to,
                    struct large *large)
{
    const uint64_t huge_bytes = UINT64_C(1) << HUGE_SHIFT;
    const uint64_t middle_bytes = UINT64_C(1) << MIDDLE_SHIFT;
    while (from < to) {
        struct huge_entry *huge = &map->huge[from >> HUGE_SHIFT];
        if (from % huge_bytes == 0 && planned_to - from >= huge_bytes) {
            clear_entry(&huge->large, large);
            from += huge_bytes;
            continue;
        }
        struct middle_table *middle = atomic_load_explicit(&huge->middle, memory_order_acquire);
        struct middle_entry *entry = &middle->entry[middle_index(from)];
        if (from % middle_bytes == 0 && planned_to - from >= middle_bytes) {
            clear_entry(&entry->large, large);
            from += middle_bytes;
            continue;
        }
        struct page_entry *page =
            &atomic_load_explicit(&entry->pages, memory_order_acquire)->entry[page_index(from)];
        do {
            clear_entry(&page++->large, large);
            from += PAGE_BYTES;
        } while (from < to && from % middle_bytes != 0);
    }
}

bool block_map_remove_large(struct block_map *map, uint64_t base, struct block *removed)
{
    const uint64_t from = first_whole_page(base);
    struct large *large = covering(map, from, base, removed);
    if (large == NULL || removed->base != base)
        return false;
    const uint64_t to = end_of_whole_pages(removed);
    uncover(map, from, to, to, large);
    atomic_fetch_add_explicit(&large->sequence, 1, memory_order_release);
    release_large(map, large);
    return true;
}

bool block_map_insert_large(struct block_map *map, const struct block *block)
{
    struct block stale; /* whose release went unseen */
    block_map_remove(map, block->base, &stale);
    struct large *large = obtain_large(map);
    if (large == NULL)
        return false;
    describe(large, block);
    const uint64_t from = first_whole_page(block->base);
    const uint64_t to = end_of_whole_pages(block);
    const uint64_t reached = cover(map, from, to, large);
    if (reached == to)
        return true;
    uncover(map, from, reached, to, large);
    atomic_fetch_add_explicit(&large->sequence, 1, memory_order_release);
    release_large(map, large);
    return false;
}

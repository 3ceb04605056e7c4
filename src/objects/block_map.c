/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Radix tree of live blocks; block_map.h has the picture. Signal-safe.
 *
 * Order of memory: nodes are published with release and followed with acquire. The words of a block
 * need no more than that: whoever may touch the block got its address from the thread that inserted
 * it, and so sees the words that this thread wrote before.
 */
#include "objects/block_map.h"

#include <stdatomic.h>

#include "signal_safe.h"

enum {
    ADDRESS_BITS = 48,
    HUGE_SHIFT = 30,
    MIDDLE_SHIFT = 21,
    PAGE_SHIFT = 12,
    PAGE_BYTES = 1 << PAGE_SHIFT,
    FANOUT = 512,
    CELL_SHIFT = 6,
    CELLS = PAGE_BYTES >> CELL_SHIFT,
    POSITION_SHIFT = 3, /* blocks start at multiples of 8 */
    POSITIONS = 1 << (CELL_SHIFT - POSITION_SHIFT),
};

/*
 * Blocks that start in each 64-byte cell of a page: 0, or site | size << 16 | position << 29. A
 * small block has at most 8190 bytes: a longer one covers a whole page wherever it starts.
 */
struct cells {
    _Atomic(struct cells *) next; /* more starts per cell */
    _Atomic uint32_t start[CELLS];
};

/* Descriptor of a large block. The sequence is odd while the descriptor is free or being written.
 */
struct large {
    _Atomic uint32_t sequence;
    _Atomic uint32_t site;
    _Atomic uint64_t base, size;
    _Atomic(struct large *) next_free;
};

struct page_entry {
    _Atomic(struct cells *) cells;
    _Atomic(struct large *) large;
};

struct page_table {
    struct page_entry entry[FANOUT];
};

struct middle_entry {
    _Atomic(struct page_table *) pages;
    _Atomic(struct large *) large;
};

struct middle_table {
    struct middle_entry entry[FANOUT];
};

struct huge_entry {
    _Atomic(struct middle_table *) middle;
    _Atomic(struct large *) large;
};

struct block_map {
    block_map_pages pages;
    void *context;
    /* Chunk that nodes are cut from: its page number << 16 | units of 16 bytes used. Values never
     * repeat, chunks are never given back. */
    _Atomic uint64_t chunk;
    _Atomic(void *) spare_chunk; /* lost a race to become `chunk` */
    /* Free descriptors: address / 16 << 20 | a tag that grows with every change (against ABA). */
    _Atomic uint64_t free_large;
    _Atomic uint64_t untracked;
    _Atomic uint64_t node_bytes;
    struct huge_entry huge[1 << (ADDRESS_BITS - HUGE_SHIFT)];
};

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

/* Zeroed memory for a node, 16-byte aligned; NULL when the budget is used up. */
static void *obtain_node(struct block_map *map, size_t bytes)
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

/* Child node in *slot, created if absent. A node that loses the race to be installed is not reused.
 */
#define CHILD(map, slot)                                                                           \
    ({                                                                                             \
        __typeof__(atomic_load(slot)) child_ = atomic_load_explicit((slot), memory_order_acquire); \
        if (__builtin_expect(child_ == NULL, 0)) {                                                 \
            __typeof__(child_) fresh_ = obtain_node((map), sizeof *fresh_);                        \
            if (fresh_ != NULL && atomic_compare_exchange_strong_explicit((slot), &child_, fresh_, \
                                                                          memory_order_acq_rel,    \
                                                                          memory_order_acquire))   \
                child_ = fresh_;                                                                   \
        }                                                                                          \
        child_;                                                                                    \
    })

static bool in_range(uint64_t address)
{
    return address >> ADDRESS_BITS == 0;
}

static unsigned middle_index(uint64_t address)
{
    return address >> MIDDLE_SHIFT & (FANOUT - 1);
}

static unsigned page_index(uint64_t address)
{
    return address >> PAGE_SHIFT & (FANOUT - 1);
}

static unsigned cell_index(uint64_t address)
{
    return address >> CELL_SHIFT & (CELLS - 1);
}

static unsigned position_of(uint64_t address)
{
    return address >> POSITION_SHIFT & (POSITIONS - 1);
}

/* The page's entry, or NULL when nothing in its 2 MiB was ever tracked. */
static const struct page_entry *find_page(const struct block_map *map, uint64_t address)
{
    const struct middle_table *middle =
        atomic_load_explicit(&map->huge[address >> HUGE_SHIFT].middle, memory_order_acquire);
    if (middle == NULL)
        return NULL;
    const struct page_table *pages =
        atomic_load_explicit(&middle->entry[middle_index(address)].pages, memory_order_acquire);
    return pages == NULL ? NULL : &pages->entry[page_index(address)];
}

static struct page_entry *create_page(struct block_map *map, uint64_t address)
{
    struct middle_table *middle = CHILD(map, &map->huge[address >> HUGE_SHIFT].middle);
    if (middle == NULL)
        return NULL;
    struct page_table *pages = CHILD(map, &middle->entry[middle_index(address)].pages);
    return pages == NULL ? NULL : &pages->entry[page_index(address)];
}

/* Small blocks. */

static uint32_t word_position(uint32_t word)
{
    return word >> 29;
}

static struct block word_block(uint32_t word, uint64_t cell_base)
{
    return (struct block){.base = cell_base + ((uint64_t)word_position(word) << POSITION_SHIFT),
                          .size = word >> 16 & 0x1fff,
                          .site = word & 0xffff};
}

static bool insert_small(struct block_map *map, uint64_t base, uint64_t size, uint32_t site)
{
    struct page_entry *page = create_page(map, base);
    if (page == NULL)
        return false;
    const unsigned cell = cell_index(base);
    const uint32_t position = position_of(base);
    const uint32_t word = site | (uint32_t)size << 16 | position << 29;
    _Atomic(struct cells *) *link = &page->cells;
    for (;;) {
        struct cells *cells = CHILD(map, link);
        if (cells == NULL)
            return false;
        uint32_t old = atomic_load_explicit(&cells->start[cell], memory_order_relaxed);
        /* The same position: its release went unseen, the memory has a new owner now. */
        while (old == 0 || word_position(old) == position) {
            if (atomic_compare_exchange_weak_explicit(&cells->start[cell], &old, word,
                                                      memory_order_release, memory_order_relaxed))
                return true;
        }
        link = &cells->next;
    }
}

void block_map_prefetch(const struct block_map *map, uint64_t base)
{
    const struct page_entry *page = in_range(base) ? find_page(map, base) : NULL;
    const struct cells *cells =
        page == NULL ? NULL : atomic_load_explicit(&page->cells, memory_order_acquire);
    if (cells != NULL)
        __builtin_prefetch(&cells->start[cell_index(base)], 1);
}

static bool remove_small(struct block_map *map, uint64_t base, struct block *removed)
{
    const struct page_entry *page = find_page(map, base);
    if (page == NULL)
        return false;
    const unsigned cell = cell_index(base);
    const uint32_t position = position_of(base);
    struct cells *cells = atomic_load_explicit(&page->cells, memory_order_acquire);
    while (cells != NULL) {
        const uint32_t word = atomic_load_explicit(&cells->start[cell], memory_order_relaxed);
        if (word != 0 && word_position(word) == position) {
            atomic_store_explicit(&cells->start[cell], 0, memory_order_release);
            *removed = word_block(word, base & -(uint64_t)(1 << CELL_SHIFT));
            return true;
        }
        cells = atomic_load_explicit(&cells->next, memory_order_acquire);
    }
    return false;
}

/* Of the blocks that start in the address's page at or before it, the last. */
static bool last_start(const struct block_map *map, uint64_t address, struct block *found)
{
    const struct page_entry *page = find_page(map, address);
    const struct cells *first =
        page == NULL ? NULL : atomic_load_explicit(&page->cells, memory_order_acquire);
    if (first == NULL)
        return false;
    const uint64_t page_base = address & -(uint64_t)PAGE_BYTES;
    for (unsigned cell = cell_index(address) + 1; cell-- > 0;) {
        bool any = false;
        for (const struct cells *cells = first; cells != NULL;
             cells = atomic_load_explicit(&cells->next, memory_order_acquire)) {
            const uint32_t word = atomic_load_explicit(&cells->start[cell], memory_order_relaxed);
            if (word == 0)
                continue;
            const struct block block = word_block(word, page_base + (cell << CELL_SHIFT));
            if (block.base <= address && (!any || block.base > found->base)) {
                *found = block;
                any = true;
            }
        }
        if (any)
            return true;
    }
    return false;
}

static bool find_small(const struct block_map *map, uint64_t address, struct block *found)
{
    /* A small block lies in at most two pages. Blocks do not overlap: the last start decides. */
    if (!last_start(map, address, found) &&
        (address < PAGE_BYTES || !last_start(map, (address & -(uint64_t)PAGE_BYTES) - 1, found)))
        return false;
    return address - found->base < found->size;
}

/* Large blocks. */

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
    struct large *large = obtain_node(map, sizeof *large);
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
    atomic_store_explicit(&large->size, block->size, memory_order_release);
    atomic_store_explicit(&large->site, block->site, memory_order_release);
    atomic_fetch_add_explicit(&large->sequence, 1, memory_order_release);
}

static bool read_large(const struct large *large, struct block *block)
{
    if (large == NULL)
        return false;
    const uint32_t sequence = atomic_load_explicit(&large->sequence, memory_order_acquire);
    block->base = atomic_load_explicit(&large->base, memory_order_acquire);
    block->size = atomic_load_explicit(&large->size, memory_order_acquire);
    block->site = atomic_load_explicit(&large->site, memory_order_acquire);
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
    const struct page_entry *page = find_page(map, page_address);
    large = page == NULL ? NULL : atomic_load_explicit(&page->large, memory_order_acquire);
    if (read_large(large, found) && address - found->base < found->size)
        return large;
    return NULL;
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
        struct page_entry *page = create_page(map, from);
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

static uint64_t first_whole_page(uint64_t base)
{
    return (base + PAGE_BYTES - 1) & -(uint64_t)PAGE_BYTES;
}

static uint64_t end_of_whole_pages(const struct block *block)
{
    return (block->base + block->size) & -(uint64_t)PAGE_BYTES;
}

static bool remove_large(struct block_map *map, uint64_t base, struct block *removed)
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

bool block_map_remove(struct block_map *map, uint64_t base, struct block *removed)
{
    if (!in_range(base))
        return false;
    if (base % (1 << POSITION_SHIFT) == 0 && remove_small(map, base, removed))
        return true;
    return remove_large(map, base, removed);
}

static bool insert_large(struct block_map *map, const struct block *block)
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

bool block_map_insert(struct block_map *map, uint64_t base, uint64_t size, uint32_t site)
{
    const struct block block = {.base = base, .size = size == 0 ? 1 : size, .site = site};
    bool tracked = false;
    if (in_range(base) && block.size <= (UINT64_C(1) << ADDRESS_BITS) - base && site != 0 &&
        site <= BLOCK_SITE_MAX) {
        if (end_of_whole_pages(&block) > first_whole_page(base))
            tracked = insert_large(map, &block);
        else if (base % (1 << POSITION_SHIFT) == 0)
            tracked = insert_small(map, base, block.size, site);
    }
    if (!tracked)
        atomic_fetch_add_explicit(&map->untracked, 1, memory_order_relaxed);
    return tracked;
}

bool block_map_find(const struct block_map *map, uint64_t address, struct block *found)
{
    if (!in_range(address))
        return false;
    if (covering(map, address, address, found) != NULL)
        return true;
    if (find_small(map, address, found))
        return true;
    /* The ragged ends of a large block lie in pages next to those that it covers. */
    return covering(map, address + PAGE_BYTES, address, found) != NULL ||
           (address >= PAGE_BYTES && covering(map, address - PAGE_BYTES, address, found) != NULL);
}

bool block_map_next(const struct block_map *map, uint64_t from, uint64_t to, struct block *found)
{
    while (from < to && in_range(from)) {
        if (covering(map, from, from, found) != NULL)
            return true;
        const struct middle_table *middle =
            atomic_load_explicit(&map->huge[from >> HUGE_SHIFT].middle, memory_order_acquire);
        const unsigned shift = middle == NULL                 ? HUGE_SHIFT
                               : find_page(map, from) == NULL ? MIDDLE_SHIFT
                                                              : PAGE_SHIFT;
        from = ((from >> shift) + 1) << shift;
    }
    return false;
}

bool block_map_page_seen(const struct block_map *map, uint64_t address)
{
    const struct page_entry *page = in_range(address) ? find_page(map, address) : NULL;
    return page != NULL && atomic_load_explicit(&page->cells, memory_order_acquire) != NULL;
}

void block_map_statistics(const struct block_map *map, struct block_map_statistics *statistics)
{
    statistics->untracked = atomic_load_explicit(&map->untracked, memory_order_relaxed);
    statistics->node_bytes = atomic_load_explicit(&map->node_bytes, memory_order_relaxed);
}

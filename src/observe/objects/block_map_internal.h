/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nodes of the radix tree of live blocks, and what its parts ask of each other. Internal to
 * block_map*.c. Signal-safe.
 *
 * Order of memory: nodes are published with release and followed with acquire. The words of a block
 * need no more than that: whoever may touch the block got its address from the thread that inserted
 * it, and so sees the words that this thread wrote before.
 */
#ifndef REUSE_OBJECTS_BLOCK_MAP_INTERNAL_H
#define REUSE_OBJECTS_BLOCK_MAP_INTERNAL_H

#include <stdatomic.h>

#include "objects/block_map.h"

enum {
    ADDRESS_BITS = 48,
    LARGE_SIZE_BITS = 56,
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
 * Blocks of one weight that start in each 64-byte cell of a page: 0, or site | size << 16 |
 * position << 29. A small block has at most 8190 bytes: a longer one covers a whole page wherever
 * it starts. occupied: a bit for each word that is not 0; set after the word, cleared before it.
 */
struct cells {
    _Atomic(struct cells *) next; /* more starts per cell, or other weights */
    _Atomic uint64_t occupied;
    _Atomic uint32_t start[CELLS];
    uint8_t tracked_log2; /* constant once the table is in its chain */
};

/* Descriptor of a large block. The sequence is odd while the descriptor is free or being written.
 */
struct large {
    _Atomic uint32_t sequence;
    _Atomic uint32_t site;
    _Atomic uint64_t base, size; /* size: tracked_log2 in the bits from LARGE_SIZE_BITS on */
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
    /* Bit per entry: a small block started there once, or one lay there that is not tracked. */
    _Atomic uint64_t untracked[FANOUT / 64];
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

_Static_assert(BLOCK_MAP_NEAR == 1 << MIDDLE_SHIFT, "a bit for each entry");

/* Zeroed memory for a node, 16-byte aligned; NULL when the budget is used up. */
void *block_map_node(struct block_map *, size_t bytes);

/* Child node in *slot, created if absent. A node that loses the race to be installed is not reused.
 */
#define CHILD(map, slot)                                                                           \
    ({                                                                                             \
        __typeof__(atomic_load(slot)) child_ = atomic_load_explicit((slot), memory_order_acquire); \
        if (__builtin_expect(child_ == NULL, 0)) {                                                 \
            __typeof__(child_) fresh_ = block_map_node((map), sizeof *fresh_);                     \
            if (fresh_ != NULL && atomic_compare_exchange_strong_explicit((slot), &child_, fresh_, \
                                                                          memory_order_acq_rel,    \
                                                                          memory_order_acquire))   \
                child_ = fresh_;                                                                   \
        }                                                                                          \
        child_;                                                                                    \
    })

static inline bool in_range(uint64_t address)
{
    return address >> ADDRESS_BITS == 0;
}

static inline unsigned middle_index(uint64_t address)
{
    return address >> MIDDLE_SHIFT & (FANOUT - 1);
}

static inline void note_untracked(struct middle_table *middle, uint64_t address)
{
    _Atomic uint64_t *seen = &middle->untracked[middle_index(address) / 64];
    const uint64_t bit = UINT64_C(1) << middle_index(address) % 64;
    if ((atomic_load_explicit(seen, memory_order_relaxed) & bit) == 0)
        atomic_fetch_or_explicit(seen, bit, memory_order_relaxed);
}

static inline unsigned page_index(uint64_t address)
{
    return address >> PAGE_SHIFT & (FANOUT - 1);
}

static inline unsigned cell_index(uint64_t address)
{
    return address >> CELL_SHIFT & (CELLS - 1);
}

static inline unsigned position_of(uint64_t address)
{
    return address >> POSITION_SHIFT & (POSITIONS - 1);
}

/* The page's entry, or NULL when nothing in its 2 MiB was ever tracked. */
static inline const struct page_entry *block_map_find_page(const struct block_map *map,
                                                           uint64_t address)
{
    const struct middle_table *middle =
        atomic_load_explicit(&map->huge[address >> HUGE_SHIFT].middle, memory_order_acquire);
    if (middle == NULL)
        return NULL;
    const struct page_table *pages =
        atomic_load_explicit(&middle->entry[middle_index(address)].pages, memory_order_acquire);
    return pages == NULL ? NULL : &pages->entry[page_index(address)];
}

static inline struct page_entry *block_map_create_page(struct block_map *map, uint64_t address)
{
    struct middle_table *middle = CHILD(map, &map->huge[address >> HUGE_SHIFT].middle);
    if (middle == NULL)
        return NULL;
    struct page_table *pages = CHILD(map, &middle->entry[middle_index(address)].pages);
    return pages == NULL ? NULL : &pages->entry[page_index(address)];
}

/* Blocks that cover no whole page; base is a multiple of 8. */
bool block_map_insert_small(struct block_map *, const struct block *);
bool block_map_remove_small(struct block_map *, uint64_t base, struct block *removed);
bool block_map_find_small(const struct block_map *, uint64_t address, struct block *found);

/* Blocks that cover a whole page. */
bool block_map_insert_large(struct block_map *, const struct block *);
bool block_map_remove_large(struct block_map *, uint64_t base, struct block *removed);

/* Whether a block covers the whole page of `page_address` and also contains `address`. */
bool block_map_covering(const struct block_map *, uint64_t page_address, uint64_t address,
                        struct block *found);

static inline uint64_t first_whole_page(uint64_t base)
{
    return (base + PAGE_BYTES - 1) & -(uint64_t)PAGE_BYTES;
}

static inline uint64_t end_of_whole_pages(const struct block *block)
{
    return (block->base + block->size) & -(uint64_t)PAGE_BYTES;
}

#endif

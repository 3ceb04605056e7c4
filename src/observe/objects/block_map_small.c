/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small blocks of the block map: words in tables of cells, a chain of tables per page, each for
 * blocks of one weight. Signal-safe.
 */
#include "objects/block_map_internal.h"

#include "signal_safe.h"

static uint32_t word_position(uint32_t word)
{
    return word >> 29;
}

static struct block word_block(const struct cells *cells, uint32_t word, uint64_t cell_base)
{
    return (struct block){.base = cell_base + ((uint64_t)word_position(word) << POSITION_SHIFT),
                          .size = word >> 16 & 0x1fff,
                          .site = word & 0xffff,
                          .tracked_log2 = cells->tracked_log2};
}

static uint64_t cell_bit(unsigned cell)
{
    return UINT64_C(1) << cell;
}

/* Takes out the block whose word this is. Its bit goes first: once the word is 0 the cell may have
 * a new owner. */
static void clear_cell(struct cells *cells, unsigned cell)
{
    atomic_fetch_and_explicit(&cells->occupied, ~cell_bit(cell), memory_order_release);
    atomic_store_explicit(&cells->start[cell], 0, memory_order_release);
}

/* Ends the chain with a table for blocks of this probability; NULL when the budget is used up. */
static struct cells *new_cells(struct block_map *map, _Atomic(struct cells *) *link,
                               unsigned tracked_log2)
{
    struct cells *next = NULL, *fresh = block_map_node(map, sizeof *fresh);
    if (fresh == NULL)
        return NULL;
    fresh->tracked_log2 = (uint8_t)tracked_log2;
    /* One that loses the race to be installed is not reused. */
    return atomic_compare_exchange_strong_explicit(link, &next, fresh, memory_order_acq_rel,
                                                   memory_order_acquire)
               ? fresh
               : next;
}

/* True when the cell was free, or the block there started at the same place: its release went
 * unseen, the memory has a new owner now. */
static bool enter_cell(struct cells *cells, unsigned cell, uint32_t word)
{
    uint32_t old = atomic_load_explicit(&cells->start[cell], memory_order_relaxed);
    while (old == 0 || word_position(old) == word_position(word)) {
        if (!atomic_compare_exchange_weak_explicit(&cells->start[cell], &old, word,
                                                   memory_order_release, memory_order_relaxed))
            continue;
        atomic_fetch_or_explicit(&cells->occupied, cell_bit(cell), memory_order_release);
        return true;
    }
    return false;
}

/* Takes out what started at the same place and was not seen to go. */
static void clear_stale(struct cells *cells, unsigned cell, uint32_t position)
{
    const uint32_t old = atomic_load_explicit(&cells->start[cell], memory_order_relaxed);
    if (__builtin_expect(old != 0 && word_position(old) == position, 0))
        clear_cell(cells, cell);
}

bool block_map_insert_small(struct block_map *map, const struct block *block)
{
    struct middle_table *middle = CHILD(map, &map->huge[block->base >> HUGE_SHIFT].middle);
    struct page_entry *page = middle == NULL ? NULL : block_map_create_page(map, block->base);
    if (page == NULL)
        return false;
    note_untracked(middle, block->base);
    const unsigned cell = cell_index(block->base);
    const uint32_t position = position_of(block->base);
    const uint32_t word = block->site | (uint32_t)block->size << 16 | position << 29;
    bool entered = false;
    _Atomic(struct cells *) *link = &page->cells;
    struct cells *cells;
    while ((cells = atomic_load_explicit(link, memory_order_acquire)) != NULL || !entered) {
        if (cells == NULL)
            cells = new_cells(map, link, block->tracked_log2);
        if (cells == NULL)
            return false;
        if (entered || cells->tracked_log2 != block->tracked_log2)
            clear_stale(cells, cell, position);
        else
            entered = enter_cell(cells, cell, word);
        link = &cells->next;
    }
    return true;
}

bool block_map_remove_small(struct block_map *map, uint64_t base, struct block *removed)
{
    const struct page_entry *page = block_map_find_page(map, base);
    if (page == NULL)
        return false;
    const unsigned cell = cell_index(base);
    const uint32_t position = position_of(base);
    struct cells *cells = atomic_load_explicit(&page->cells, memory_order_acquire);
    while (cells != NULL) {
        const uint32_t word = atomic_load_explicit(&cells->start[cell], memory_order_relaxed);
        if (word != 0 && word_position(word) == position) {
            clear_cell(cells, cell);
            *removed = word_block(cells, word, base & -(uint64_t)(1 << CELL_SHIFT));
            return true;
        }
        cells = atomic_load_explicit(&cells->next, memory_order_acquire);
    }
    return false;
}

/* Of the table's blocks that start at or before the address, which lies in the same page, the
 * last. */
static bool last_start_in(const struct cells *cells, uint64_t address, struct block *found)
{
    const uint64_t page_base = address & -(uint64_t)PAGE_BYTES;
    uint64_t cells_left = atomic_load_explicit(&cells->occupied, memory_order_acquire) &
                          (UINT64_MAX >> (CELLS - 1 - cell_index(address)));
    while (cells_left != 0) {
        const unsigned cell = CELLS - 1 - (unsigned)__builtin_clzll(cells_left);
        const uint32_t word = atomic_load_explicit(&cells->start[cell], memory_order_relaxed);
        *found = word_block(cells, word, page_base + (cell << CELL_SHIFT));
        if (word != 0 && found->base <= address)
            return true;
        cells_left &= ~cell_bit(cell);
    }
    return false;
}

/* The same for all blocks that start in the page. */
static bool last_start(const struct block_map *map, uint64_t address, struct block *found)
{
    const struct page_entry *page = block_map_find_page(map, address);
    const struct cells *cells =
        page == NULL ? NULL : atomic_load_explicit(&page->cells, memory_order_acquire);
    bool any = false;
    for (; cells != NULL; cells = atomic_load_explicit(&cells->next, memory_order_acquire)) {
        struct block block;
        if (last_start_in(cells, address, &block) && (!any || block.base > found->base)) {
            *found = block;
            any = true;
        }
    }
    return any;
}

bool block_map_find_small(const struct block_map *map, uint64_t address, struct block *found)
{
    /* A small block lies in at most two pages. Blocks do not overlap: the last start decides. */
    if (!last_start(map, address, found) &&
        (address < PAGE_BYTES || !last_start(map, (address & -(uint64_t)PAGE_BYTES) - 1, found)))
        return false;
    return address - found->base < found->size;
}

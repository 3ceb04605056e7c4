/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Address -> live memory block, for the blocks that the target's allocator handed out, or for a
 * sample of them.
 *
 * Written by the interposed allocation functions (any thread), read by signal handlers (any thread,
 * any time). Lock-free: a block's entries are written only by the thread that owns the block
 * between its allocation and its release; shared nodes are installed by compare-and-swap and never
 * freed.
 *
 * A radix tree over a 48-bit address space with nodes at 1 GiB, 2 MiB and 4 KiB. A block that
 * covers a whole 4 KiB page ("large") has a descriptor, and the entries of every whole page, 2 MiB
 * or 1 GiB range inside it point to that; its ragged ends need no entries, the neighbour page
 * tells. Every other block ("small", below 8 KiB) is one 32-bit word in its page's table of 64-byte
 * cells: site, size and position of the block that starts in the cell. Where several blocks start
 * in one cell, or blocks of several weights in one page, a further table is chained. So a page of
 * small blocks costs 288 bytes per table, a small block one word and one bit written when it comes
 * and when it goes, and the size of a block is exact.
 *
 * Memory is bounded by the callback: when it gives no more, further blocks go untracked and are
 * counted. Blocks above 2^48 (five-level page tables, only on request of the target) go untracked.
 */
#ifndef REUSE_OBJECTS_BLOCK_MAP_H
#define REUSE_OBJECTS_BLOCK_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct block_map;

struct block {
    uint64_t base;
    uint64_t size; /* bytes as requested */
    uint32_t site; /* who allocated it; 1 .. BLOCK_SITE_MAX */
    /* It was chosen for tracking with probability 2^-tracked_log2 and stands for the inverse of
     * that many blocks (block_choice.h). 0: certain. */
    uint8_t tracked_log2;
};

enum { BLOCK_SITE_MAX = 65000 };

/* Most bytes asked of block_map_pages in one call. */
enum { BLOCK_MAP_CHUNK = 65536 };

/* Obtains zeroed, page-aligned memory for nodes; NULL when the budget is used up. Signal-safe
 * (mmap). */
typedef void *(*block_map_pages)(void *context, size_t bytes);

/* The map's fixed part: some MiB of address space, of which only the pages in use are touched. */
size_t block_map_size(void);

/* memory: block_map_size() zeroed bytes, page-aligned, owned by the caller, never freed while in
 * use. */
struct block_map *block_map_create(void *memory, block_map_pages pages, void *context);

/*
 * False (and counted) when it could not be tracked. size 0 counts as 1. Small blocks start at a
 * multiple of 8, as every allocator's do; site is in range. A stale block of the same class (small,
 * large) at the same base, one whose release went unseen, is replaced.
 */
bool block_map_insert(struct block_map *, const struct block *);

/*
 * Forgets the block that starts at base; fills *removed if it was tracked. To be called before the
 * memory goes back to the allocator, else a new owner's block could be forgotten in its place.
 */
bool block_map_remove(struct block_map *, uint64_t base, struct block *removed);

/*
 * The block that contains address. Signal-safe, wait-free. Exact for blocks that are neither being
 * inserted nor removed during the call; for those it is either found whole or not found.
 */
bool block_map_find(const struct block_map *, uint64_t address, struct block *found);

/*
 * The first block that covers a whole page of [from, to), in order of addresses; from and to are
 * multiples of 4096. Ranges where nothing was ever tracked are passed over in steps of 2 MiB and 1
 * GiB.
 */
bool block_map_next(const struct block_map *, uint64_t from, uint64_t to, struct block *found);

/* Whether the address's page holds, or ever held, the start of a small block. Signal-safe,
 * wait-free. */
bool block_map_page_seen(const struct block_map *, uint64_t address);

/* A block that is not tracked lies there: wherever small blocks are not near, nothing else tells
 * that the memory is heap. Of all ranges of BLOCK_MAP_NEAR bytes that it touches; wait-free where
 * that is known by then. */
enum { BLOCK_MAP_NEAR = 1 << 21 };
void block_map_note_untracked(struct block_map *, uint64_t base, uint64_t size);

/* Whether a small block ever started in the address's 2 MiB, or a block lay there that was noted.
 * Signal-safe, wait-free. */
bool block_map_near_untracked(const struct block_map *, uint64_t address);

struct block_map_statistics {
    uint64_t untracked;  /* blocks that could not be inserted */
    uint64_t node_bytes; /* obtained through block_map_pages */
};
void block_map_statistics(const struct block_map *, struct block_map_statistics *);

#endif

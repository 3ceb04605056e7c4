/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Address -> live memory block, for every block that the target's allocator handed out.
 *
 * Written by the interposed allocation functions (any thread), read by signal handlers (any thread,
 * any time). Lock-free: a block's entries are written only by the thread that owns the block between
 * its allocation and its release; shared nodes are installed by compare-and-swap and never freed.
 *
 * A radix tree over the address space. A block covers whole pages by leaf entries at the level that
 * fits (4 KiB, 2 MiB, 1 GiB), and the page parts at its ends by granules of 16 bytes; small blocks are
 * granules only. Memory is bounded: when the budget is used up, further blocks go untracked and
 * are counted.
 */
#ifndef REUSE_OBJECTS_BLOCK_MAP_H
#define REUSE_OBJECTS_BLOCK_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct block_map; /* one per process */

struct block {
    uint64_t base;
    uint64_t size;  /* bytes as requested (small blocks: rounded up to 16) */
    uint32_t site;  /* who allocated it; 1 .. BLOCK_SITE_MAX */
};

enum { BLOCK_SITE_MAX = 65000 };

/* Obtains zeroed, page-aligned memory for nodes; NULL when the budget is used up. Signal-safe (mmap). */
typedef void *(*block_map_pages)(void *context, size_t bytes);

size_t block_map_size(void);
struct block_map *block_map_create(void *memory, block_map_pages pages, void *context);

/* False (and counted) when it could not be tracked. size 0 counts as 1. */
bool block_map_insert(struct block_map *, uint64_t base, uint64_t size, uint32_t site);

/* Forgets the block that starts at base; fills *removed if it was tracked. */
bool block_map_remove(struct block_map *, uint64_t base, struct block *removed);

/* The block that contains address. Signal-safe, wait-free. */
bool block_map_find(const struct block_map *, uint64_t address, struct block *found);

struct block_map_statistics {
    uint64_t inserted, removed, untracked, node_bytes;
};
void block_map_statistics(const struct block_map *, struct block_map_statistics *);

#endif

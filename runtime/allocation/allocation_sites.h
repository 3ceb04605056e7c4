/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allocation sites: their numbers, names and totals. Internal to the allocation wrappers.
 * Signal-safe, except where the caller's own data says otherwise.
 */
#ifndef REUSE_RUNTIME_ALLOCATION_SITES_H
#define REUSE_RUNTIME_ALLOCATION_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocation/interpose_allocation.h"
#include "unwinding/unwind.h"

/* Bytes of the tables of sites. */
size_t allocation_sites_size(void);

/* memory: zeroed, of the tables' size, page-aligned; it and options are kept, nothing is touched.
 */
void allocation_sites_begin(const struct allocation_options *options, void *memory);

/* Makes the tables and announces ALLOCATION_SITE_OTHER; by one thread at a time, before any site is
 * asked for. */
void allocation_sites_make(void);

/* Number of the site at which `caller` calls `allocator`; creates and announces it at its first
 * time. stands_for: allocations of which this is one, chosen to be looked at. */
uint32_t allocation_site(const struct unwind_start *caller, enum allocator allocator,
                         uint32_t stands_for);

/* The same for an object with a name given through the API. */
uint32_t allocation_named_site(const struct unwind_start *caller, const char *name);

/* Whether the site's objects have a name given through the API. */
bool allocation_site_is_named(uint32_t site);

/* Adds a block to its site's totals, for all that it stands for; live_bytes: of it, as tracked. */
void allocation_site_came(const struct block *block, uint64_t live_bytes);

/* Takes live bytes of the block, or of what it stands for, from its site's totals. */
void allocation_site_went(const struct block *block, uint64_t live_bytes);

/* Adds the calling thread's batches to the totals. */
void allocation_sites_thread_end(void);

/* See allocation_fork_child(). */
void allocation_sites_fork_child(void);

/* False after allocation_end(). */
bool allocation_hooks_are_live(void);

struct allocation_sites_statistics {
    uint64_t other_blocks, frames_walked, contexts_shortened;
};
void allocation_sites_statistics(struct allocation_sites_statistics *statistics);

#endif

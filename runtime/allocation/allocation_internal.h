/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files that follow the target's allocations share: the maps, and what guards them. */
#ifndef REUSE_RUNTIME_ALLOCATION_INTERNAL_H
#define REUSE_RUNTIME_ALLOCATION_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "allocation/interpose_allocation.h"
#include "objects/block_map.h"
#include "objects/layers.h"

/* Held with signals blocked: a handler of the target may leave by a jump, and never come back. */
struct allocation_lock {
    _Atomic bool held;
    unsigned long mask; /* of signals, before; belongs to who holds it */
};

/*
 * Set up by allocation_begin() and constant from then on, but for the atomics and what a lock
 * protects. A lock is only ever held between allocation_enter() and allocation_leave(), so never
 * taken twice by a thread.
 */
struct allocation_state {
    struct allocation_options options;
    struct block_map *maps[LAYER_COUNT];
    uint64_t page_bytes;
    _Atomic bool paused;
    struct allocation_lock mappings_lock; /* of changes to LAYER_MAPPING */
};
extern struct allocation_state allocation_state __attribute__((visibility("hidden")));

/* allocation_lock.c. */
void allocation_lock(struct allocation_lock *);
void allocation_unlock(struct allocation_lock *);

/* allocation_maps.c: before anything is inserted; the tables are made for the first block. */
void allocation_need_tables(void);

/* Memory from the kernel, of zeros; NULL when there is none. Keeps errno. */
void *allocation_obtain(size_t bytes);

/* What the nodes of all maps may take, bytes. */
void allocation_limit_nodes(uint64_t bytes);

/* False when there is no room. is_new: as in struct allocation_hooks. */
bool allocation_insert(enum object_layer, const struct block *, bool is_new);

/* Takes the block at base out; false if none was tracked there. */
bool allocation_take_out(enum object_layer, uint64_t base, struct block *);

/* [base, base + size) went back to the system: forgets its named parts, and tells who watches an
 * address in it. */
void allocation_tell_released(uint64_t base, uint64_t size);

/* allocation_parts.c: forgets the named parts that overlap [base, base + size). */
void allocation_drop_parts(uint64_t base, uint64_t size);

/* brk_area.c: whether the address lies in what the process got by brk(). Keeps errno. */
bool allocation_is_brk_area(uint64_t address);

/* Of a forked child: who held a lock is not in it. */
void allocation_maps_fork_child(void);
void allocation_parts_fork_child(void);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks of the guest, told through objects/doorbell.h, and the allocation sites that name them:
 * a copy of the maps that the library in the guest keeps. Any thread.
 */
#ifndef REUSE_EXACT_HEAP_H
#define REUSE_EXACT_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "objects/block_map.h"
#include "objects/layers.h"
#include "profile/writer.h"

/* DOORBELL_SITE. frames and name are guest addresses. */
void heap_site(uint64_t site, uint64_t allocator, uint64_t frames, uint64_t frame_count,
               uint64_t name);

/* DOORBELL_INSERTED and DOORBELL_REMOVED; nonsense is ignored. */
void heap_inserted(uint64_t layer, const struct block *block, bool is_new);
void heap_removed(uint64_t layer, uint64_t address);

/* Whether blocks are told at all: then unknown memory may become a block at any time. */
bool heap_is_told(void);

/*
 * The object that the address belongs to, as the clock engine would name it: OBJECT_NAMED,
 * OBJECT_HEAP or OBJECT_MAPPING with *block, or OBJECT_HEAP_UNTRACKED with *block zeroed.
 * OBJECT_UNKNOWN when it is in no block. *lasting: true if the block's extent is the object's
 * until objects_epoch() changes, false if only until heap_version() does.
 */
enum object_kind heap_find(uint64_t address, struct block *block, bool *lasting);

/* Grows with every change. */
extern uint32_t heap_version_value;
static inline uint32_t heap_version(void)
{
    return __atomic_load_n(&heap_version_value, __ATOMIC_ACQUIRE);
}

/* Return addresses of a site's allocation, the allocator's caller first, and its name or "" (of
 * DOORBELL_NAME_MAX bytes). Returns how many there are, at most max. */
size_t heap_site_frames(uint32_t site, uint64_t *frames, size_t max, char *name);

/* Appends contexts and sites that have not been written, and the totals of all sites. */
void heap_write(struct profile_writer *, uint64_t now_ns);

/* In a forked child: blocks stay, but everything has to be written again. */
void heap_after_fork(void);

#endif

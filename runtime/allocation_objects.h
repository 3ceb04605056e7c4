/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the allocation wrappers report: blocks and mappings that came and went. Internal to them;
 * each call is made between allocation_enter() and allocation_leave().
 */
#ifndef REUSE_RUNTIME_ALLOCATION_OBJECTS_H
#define REUSE_RUNTIME_ALLOCATION_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "interpose_allocation.h"
#include "unwind.h"

/* True once allocation_begin() succeeded: releases are followed from then on. */
extern _Atomic bool allocation_following;

/* The real allocator returned [pointer, pointer + size); pointer may be NULL. */
void allocation_came(const void *pointer, size_t size, enum allocator allocator,
                     const struct unwind_start *caller);

/* The block is about to be given to the real allocator; pointer may be NULL or unknown. */
void allocation_goes(const void *pointer);

/*
 * realloc: takes the block out before the call of the real one (*old; false: it was not tracked),
 * and says afterwards what became of it.
 */
bool allocation_moving(const void *pointer, struct block *old);
void allocation_moved(const struct block *old, const void *pointer, size_t size,
                      enum allocator allocator, const struct unwind_start *caller);
void allocation_stayed(const struct block *old);

/* Pages were mapped. */
void mapping_came(const struct allocation_mapping *mapping, enum allocator allocator,
                  const struct unwind_start *caller);

/* Pages are about to be unmapped; length is rounded up to whole ones. */
void mapping_goes(const void *start, size_t length);

/* Around a system call that moves pages: no mapping is recorded meanwhile. length 0: none moved. */
void mapping_hold(void);
void mapping_let_go(const void *old_start, size_t length);

/* Length in whole pages. */
size_t mapping_length(size_t length);

#endif

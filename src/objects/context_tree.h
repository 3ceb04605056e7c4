/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calling contexts as a prefix tree with small integer names. Lock-free insertion from signal
 * handlers and allocator wrappers of any thread; nodes are never removed.
 */
#ifndef REUSE_OBJECTS_CONTEXT_TREE_H
#define REUSE_OBJECTS_CONTEXT_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct context_tree;

/* Called once for each new node, before its number is returned to anybody. Signal-safe. */
typedef void (*context_created)(void *user, uint32_t context_id, uint32_t parent_id, uint64_t ip);

/* capacity: most nodes it can hold. Memory must be zeroed and page-aligned. */
size_t context_tree_size(uint32_t capacity);
struct context_tree *context_tree_create(void *memory, uint32_t capacity, context_created created,
                                         void *user);

/*
 * Number of the context whose frames are ips[0] (innermost) .. ips[n-1] (outermost). 0 when full
 * (counted). A context that another thread is creating just now may be created twice; both are valid.
 */
uint32_t context_tree_intern(struct context_tree *, const uint64_t *ips, size_t n);

uint32_t context_tree_count(const struct context_tree *);
uint64_t context_tree_overflows(const struct context_tree *);

#endif

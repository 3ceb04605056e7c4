/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calling contexts as a prefix tree with small integer names. Lock-free insertion from signal
 * handlers and allocator wrappers of any thread; nodes are never removed.
 *
 * A node is the pair (parent, ip). The tree is no more than a table that numbers such pairs from 1
 * on, so it also serves to number other pairs of a small and a large integer, as allocation sites
 * are.
 */
#ifndef REUSE_OBJECTS_CONTEXT_TREE_H
#define REUSE_OBJECTS_CONTEXT_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct context_tree;

/*
 * Called once for each new node, before its number is returned to anybody, in the thread that
 * creates it. Must be signal-safe, and may be entered again from a signal handler that interrupts
 * it.
 */
typedef void (*context_created)(void *user, uint32_t context_id, uint32_t parent_id, uint64_t ip);

/* capacity: most nodes it can hold, 1 .. 2^30. About 40 bytes a node; what is touched grows with
 * the nodes that there are. */
size_t context_tree_size(uint32_t capacity);

/* memory: context_tree_size(capacity) zeroed bytes, page-aligned, the caller's. created may be
 * NULL. */
struct context_tree *context_tree_create(void *memory, uint32_t capacity, context_created created,
                                         void *user);

/*
 * Number of the context whose frames are ips[0] (innermost) .. ips[n-1] (outermost); 0 for n = 0,
 * and when full (counted). A node that another thread, or an interrupted one, is creating just now
 * may be announced twice; from then on all get the same one of its numbers.
 */
uint32_t context_tree_intern(struct context_tree *, const uint64_t *ips, size_t n);

/* One step of it: the child of parent (0: the root) at ip; 0 when full (counted). */
uint32_t context_tree_child(struct context_tree *, uint32_t parent, uint64_t ip);

/* Parent and ip of a number that was returned before. */
void context_tree_node(const struct context_tree *, uint32_t context_id, uint32_t *parent,
                       uint64_t *ip);

/* Nodes created; numbers run from 1 to this. */
uint32_t context_tree_count(const struct context_tree *);

/* How often a node was wanted and there was no room. */
uint64_t context_tree_overflows(const struct context_tree *);

#endif

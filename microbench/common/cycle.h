/* SPDX-License-Identifier: BSD-3-Clause */
/* A cycle of nodes in random order, for the programs that chase pointers. */
#ifndef MICROBENCH_CYCLE_H
#define MICROBENCH_CYCLE_H

#include <stddef.h>
#include <stdint.h>

struct node {
    struct node *next;
};

/* Node number i of an array of nodes of node_size bytes each. */
static inline struct node *node_at(struct node *nodes, size_t node_size, size_t i)
{
    return (struct node *)((char *)nodes + i * node_size);
}

/*
 * Links count >= 1 nodes into one cycle of random order that starts at nodes. Returns the number of
 * accesses to nodes that this took. Ends the program when out of memory.
 */
uint64_t cycle_build(struct node *nodes, size_t node_size, size_t count, uint64_t seed);

/* `steps` >= 1 loads along the cycle, from `node`; returns the node reached. */
struct node *cycle_walk(struct node *node, size_t steps);

#endif

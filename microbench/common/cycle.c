/* SPDX-License-Identifier: BSD-3-Clause */
/* A cycle of nodes in random order; see cycle.h. */
#include "cycle.h"

#include <stdlib.h>

#include "options.h"
#include "random.h"

uint64_t cycle_build(struct node *nodes, size_t node_size, size_t count, uint64_t seed)
{
    uint64_t state = random_start(seed);
    size_t *order = malloc(count * sizeof *order);
    check_allocation(order, "the order of the nodes", count * sizeof *order);
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t i = count - 1; i > 1; i--) { /* node 0 stays first */
        size_t j = 1 + random_below(&state, i), swapped = order[i];
        order[i] = order[j];
        order[j] = swapped;
    }
    for (size_t i = 0; i < count; i++)
        node_at(nodes, node_size, order[i])->next =
            node_at(nodes, node_size, order[i + 1 < count ? i + 1 : 0]);
    free(order);
    return count;
}

__attribute__((noinline)) struct node *cycle_walk(struct node *node, size_t steps)
{
    do
        node = node->next;
    while (--steps > 0);
    return node;
}

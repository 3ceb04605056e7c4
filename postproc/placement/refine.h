/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Improves a mapping by exchanging what two places hold until no exchange helps: first whole groups
 * of every level (subtrees change their place in the machine), then single threads, or a thread and
 * an empty place. Never makes a mapping worse in hop-bytes.
 */
#ifndef REUSE_PLACEMENT_REFINE_H
#define REUSE_PLACEMENT_REFINE_H

#include <stdbool.h>
#include <stdint.h>

#include "placement/matrix.h"
#include "placement/tree.h"

/*
 * place: one per thread, improved in place. The number of threads at a place never exceeds its
 * capacity. Time grows with (sum of capacities)^2, memory with threads times groups of the tree:
 * problems beyond 4096 of either are left as they are, and false is returned.
 */
bool refine_mapping(const struct communication_matrix *, const struct placement_tree *,
                    const uint32_t *capacity, uint32_t *place);

#endif

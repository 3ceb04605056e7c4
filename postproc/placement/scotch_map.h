/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A mapping by Scotch: the threads are divided among a level's groups so that little passes between
 * them, then each group's threads among the groups inside, down to the places. Any tree and any
 * capacities will do. The same arguments give the same mapping.
 */
#ifndef REUSE_PLACEMENT_SCOTCH_MAP_H
#define REUSE_PLACEMENT_SCOTCH_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "placement/matrix.h"
#include "placement/tree.h"

/* False: built without Scotch, scotch_map() always fails. */
bool scotch_is_built_in(void);

/*
 * place: one entry per thread, filled in. The capacities' sum must be at least the number of
 * threads. Other seeds give other mappings, some better. False, with one line in message, if Scotch
 * fails. Not for several threads at a time: Scotch's errors come through a global function.
 */
bool scotch_map(const struct communication_matrix *, const struct placement_tree *,
                const uint32_t *capacity, unsigned seed, uint32_t *place, char *message,
                size_t message_size);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding the mapping: Scotch's, and the obvious ones, each improved; the best is taken. */
#ifndef REUSE_PLACEMENT_SEARCH_H
#define REUSE_PLACEMENT_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "placement/matrix.h"
#include "placement/tree.h"

/*
 * The mapping with least hop-bytes that could be found; place has an entry per thread. Never worse
 * than mapping_identity() and mapping_scatter() where these respect the capacities. A function of
 * its arguments alone. False with one line in message on failure.
 */
bool search_mapping(const struct communication_matrix *, const struct placement_tree *,
                    const uint32_t *capacity, uint32_t *place, char *message, size_t message_size);

#endif

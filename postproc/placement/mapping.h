/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A mapping gives every thread a place: an array of place numbers, one per thread. This file has
 * the mappings that others are compared with, and what a mapping costs.
 */
#ifndef REUSE_PLACEMENT_MAPPING_H
#define REUSE_PLACEMENT_MAPPING_H

#include <stddef.h>
#include <stdint.h>

#include "placement/matrix.h"
#include "placement/tree.h"

/*
 * How many threads each place takes; capacity has tree->places entries. Packed: one everywhere if
 * there are enough places, so that some stay empty. Spread: exactly as many as there are threads,
 * divided at every level as evenly as the groups allow. More threads than places: both spread.
 */
void capacity_packed(const struct placement_tree *, size_t threads, uint32_t *capacity);
void capacity_spread(const struct placement_tree *, size_t threads, uint32_t *capacity);

/* Thread i at place i, modulo the places: what "close" binding makes. */
void mapping_identity(const struct placement_tree *, size_t threads, uint32_t *place);

/* Each thread as far from those before it as can be: what "spread" or "scatter" binding makes. */
void mapping_scatter(const struct placement_tree *, size_t threads, uint32_t *place);

/* Sum over pairs of weight times hops; less is better. */
double mapping_hop_bytes(const struct communication_matrix *, const struct placement_tree *,
                         const uint32_t *place);

/*
 * EagerMap's figure of merit: sum over pairs of weight / (distance + 1), more is better; distances
 * are tree_eagermap_distance(). (Cruz et al., "EagerMap: a task mapping algorithm to improve
 * communication and load balancing in clusters of multicore systems", ACM TOPC 5(4), 2019.)
 */
double mapping_quality(const struct communication_matrix *, const struct placement_tree *,
                       const uint32_t *place);

/*
 * The part of all communication whose innermost common group is at each level or inside of it:
 * share[0] is 1; share has tree->level_count entries. All 1 without communication.
 */
void mapping_shares(const struct communication_matrix *, const struct placement_tree *,
                    const uint32_t *place, double *share);

/*
 * Median hop-bytes of `mappings` (>= 1) random mappings that respect the capacities, whose sum must
 * be at least the number of threads. A function of its arguments alone.
 */
double mapping_random_median(const struct communication_matrix *, const struct placement_tree *,
                             const uint32_t *capacity, size_t mappings, uint64_t seed);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What threads cost each other in a cache that they share, from the miss-ratio curve of each alone:
 * the price of packing threads together.
 */
#ifndef REUSE_PLACEMENT_CACHE_SHARE_H
#define REUSE_PLACEMENT_CACHE_SHARE_H

#include <stddef.h>
#include <stdint.h>

#include "placement/matrix.h"
#include "placement/tree.h"

/* A thread's locality: misses per access at cache sizes that ascend, and its accesses. */
struct thread_locality {
    double accesses;
    size_t points;
    const double *bytes;      /* ascending */
    const double *miss_ratio; /* at those sizes */
};

/*
 * Misses of each thread when all of them share a fully associative LRU cache, taking turns in
 * proportion to their accesses. A thread holds what it fetched since the common eviction time: its
 * occupancy c grows with line_size * accesses * miss_ratio(c), and the cache is full when the
 * occupancies add up to its size (the composition of footprints of Xiang et al., "HOTL: a higher
 * order theory of locality", ASPLOS 2013). Data that several threads use is counted for each, so
 * misses are overstated where threads share a lot. misses: one entry per thread.
 */
void cache_share_misses(const struct thread_locality *, size_t threads, double cache_bytes,
                        double line_size, double *misses);

/* What crosses the edge of the caches of a level, in lines. */
struct edge_traffic {
    double misses;    /* fetched from outside, all groups */
    double transfers; /* between threads of different groups */
    double busiest;   /* both, of the group that has most: a transfer counts at both its ends */
};

/* Under a mapping; the level's groups share caches of its cache_bytes. */
struct edge_traffic cache_share_traffic(const struct communication_matrix *,
                                        const struct placement_tree *, size_t level,
                                        const uint32_t *place, const struct thread_locality *,
                                        double line_size);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The machine as a tree whose leaves are the places that threads can be bound to: what mapping
 * works on, whatever the topology came from.
 *
 * Levels are numbered from the outermost: level 0 has one group, the machine; each group lies in
 * one group of the level before it. The places are the level below the last one. Two places are
 * 2 hops apart for every level that they do not share, their own included: 2 under the same
 * innermost group, 2 * level_count at worst.
 */
#ifndef REUSE_PLACEMENT_TREE_H
#define REUSE_PLACEMENT_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TREE_LEVELS_MAX = 12 };

struct tree_level {
    char name[48]; /* "package", "L3 cache" ... */
    size_t groups;
    uint32_t *group;      /* of each place; groups are numbered in the order of their places */
    uint64_t cache_bytes; /* of the cache that a group shares; 0: none */
};

struct placement_tree {
    size_t level_count; /* >= 1 */
    struct tree_level levels[TREE_LEVELS_MAX];
    size_t places;
    unsigned *cpu;     /* OS number of each place */
    char unit[8];      /* what a place is: "core" or "cpu" */
    bool hypothetical; /* not this host: the numbers are of no use here */
};

void tree_free(struct placement_tree *);

/* Level of the innermost group that holds both; level_count when a == b. */
size_t tree_common_level(const struct placement_tree *, uint32_t a, uint32_t b);

/* In hops; see above. */
unsigned tree_distance(const struct placement_tree *, uint32_t a, uint32_t b);

/* As EagerMap weighs edges: 2 next to the leaves, doubling with every level outwards. */
double tree_eagermap_distance(const struct placement_tree *, uint32_t a, uint32_t b);

#endif

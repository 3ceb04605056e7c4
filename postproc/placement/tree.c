/* SPDX-License-Identifier: BSD-3-Clause */
#include "placement/tree.h"

#include <math.h>
#include <stdlib.h>

void tree_free(struct placement_tree *tree)
{
    if (tree == NULL)
        return;
    for (size_t i = 0; i < tree->level_count; i++)
        free(tree->levels[i].group);
    free(tree->cpu);
    free(tree);
}

size_t tree_common_level(const struct placement_tree *tree, uint32_t a, uint32_t b)
{
    size_t level = 0;

    if (a == b)
        return tree->level_count;
    while (level + 1 < tree->level_count &&
           tree->levels[level + 1].group[a] == tree->levels[level + 1].group[b])
        level++;
    return level;
}

unsigned tree_distance(const struct placement_tree *tree, uint32_t a, uint32_t b)
{
    return 2 * (unsigned)(tree->level_count - tree_common_level(tree, a, b));
}

double tree_eagermap_distance(const struct placement_tree *tree, uint32_t a, uint32_t b)
{
    int height = (int)(tree->level_count - tree_common_level(tree, a, b));

    /* 2 (2^1 + ... + 2^height) */
    return 2 * (ldexp(1, height + 1) - 2);
}

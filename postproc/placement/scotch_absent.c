/* SPDX-License-Identifier: BSD-3-Clause */
/* In the place of scotch_map.c where Scotch is not installed. */
#include <stdio.h>

#include "placement/scotch_map.h"

bool scotch_is_built_in(void)
{
    return false;
}

bool scotch_map(const struct communication_matrix *matrix, const struct placement_tree *tree,
                const uint32_t *capacity, unsigned seed, uint32_t *place, char *message,
                size_t message_size)
{
    (void)matrix, (void)tree, (void)capacity, (void)seed, (void)place;
    snprintf(message, message_size, "this build has no mapping library (Scotch)");
    return false;
}

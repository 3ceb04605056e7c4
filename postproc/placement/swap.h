/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairwise exchange on one level: the engine of refine.c. */
#ifndef REUSE_PLACEMENT_SWAP_H
#define REUSE_PLACEMENT_SWAP_H

#include <stddef.h>
#include <stdint.h>

#include "placement/matrix.h"

/*
 * Units at slots of a tree. Units 0 .. matrix->threads-1 communicate; those from there up to
 * `slots` are empty and fill the slots that no unit has. Levels are those that can separate two
 * slots, outermost first.
 */
struct swap_problem {
    const struct communication_matrix *matrix;
    size_t slots; /* >= matrix->threads */
    size_t levels;
    const uint32_t *const *group; /* [level][slot] */
    const size_t *groups;         /* of each level */
};

/* slot_of: a slot for every unit, all different; improved until no exchange of two helps. */
void swap_until_stable(const struct swap_problem *, uint32_t *slot_of);

#endif

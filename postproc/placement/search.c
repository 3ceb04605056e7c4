/* SPDX-License-Identifier: BSD-3-Clause */
#include "placement/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "placement/mapping.h"
#include "placement/refine.h"
#include "placement/scotch_map.h"
#include "support/memory.h"

struct search {
    const struct communication_matrix *matrix;
    const struct placement_tree *tree;
    const uint32_t *capacity;
    uint32_t *best;
    double best_cost;
};

static bool respects(const struct search *search, const uint32_t *place)
{
    uint32_t *held = allocate_zeroed(search->tree->places, sizeof(*held));
    bool fits = true;

    for (size_t i = 0; i < search->matrix->threads; i++)
        fits &= ++held[place[i]] <= search->capacity[place[i]];
    free(held);
    return fits;
}

/* Improves a candidate and keeps it if it is the best so far. */
static void try_from(struct search *search, uint32_t *place)
{
    double cost;

    if (!respects(search, place))
        return;
    refine_mapping(search->matrix, search->tree, search->capacity, place);
    cost = mapping_hop_bytes(search->matrix, search->tree, place);
    if (cost < search->best_cost * (1 - 1e-9)) {
        memcpy(search->best, place, search->matrix->threads * sizeof(*place));
        search->best_cost = cost;
    }
}

/*
 * How many mappings to ask Scotch for: it is quick, and the best of several is some per cent better
 * where communication has the shape of a mesh. Large dense problems have time for one.
 */
static unsigned attempts_for(const struct communication_matrix *matrix)
{
    enum { MOST = 6, ENTRIES = 200000 };
    size_t entries = matrix->begin[matrix->threads] + matrix->threads;

    if (!scotch_is_built_in())
        return 0;
    return entries * MOST < ENTRIES ? MOST : (unsigned)(ENTRIES / entries) + 1;
}

bool search_mapping(const struct communication_matrix *matrix, const struct placement_tree *tree,
                    const uint32_t *capacity, uint32_t *place, char *message, size_t message_size)
{
    struct search search = {
        .matrix = matrix, .tree = tree, .capacity = capacity, .best = place, .best_cost = INFINITY};
    uint32_t *candidate = allocate_zeroed(matrix->threads, sizeof(*candidate));
    bool done = true;

    /* The obvious ones first: of equally good mappings users prefer them. */
    mapping_identity(tree, matrix->threads, candidate);
    try_from(&search, candidate);
    mapping_scatter(tree, matrix->threads, candidate);
    try_from(&search, candidate);
    for (unsigned i = 0; i < attempts_for(matrix) && done; i++) {
        done = scotch_map(matrix, tree, capacity, 1 + 2 * i, candidate, message, message_size);
        if (done)
            try_from(&search, candidate);
    }
    free(candidate);
    return done;
}

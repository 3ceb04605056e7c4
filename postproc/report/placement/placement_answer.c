/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/placement/placement_answer.h"

#include <stdlib.h>

#include "placement/mapping.h"
#include "placement/search.h"

enum { RANDOM_MAPPINGS = 1000, RANDOM_SEED = 1 };

static void evaluate(struct placement_answer *answer, struct placement_candidate *candidate)
{
    const struct placement_problem *problem = answer->problem;

    candidate->hop_bytes = mapping_hop_bytes(problem->matrix, problem->tree, candidate->place);
    candidate->quality = mapping_quality(problem->matrix, problem->tree, candidate->place);
    mapping_shares(problem->matrix, problem->tree, candidate->place, candidate->share);
    if (answer->edge_level > 0)
        candidate->edge =
            cache_share_traffic(problem->matrix, problem->tree, answer->edge_level,
                                candidate->place, problem->locality, problem->line_size);
}

/* The outermost caches that several groups of cores have each: crossing them is what costs. */
static size_t find_edge_level(const struct placement_tree *tree)
{
    for (size_t level = 1; level < tree->level_count; level++)
        if (tree->levels[level].cache_bytes > 0)
            return level;
    return 0;
}

/* Whether sitting close is good for one and bad for the other of communication and caches. */
static void compare_styles(struct placement_answer *answer)
{
    const struct placement_candidate *packed = &answer->candidates[PLACEMENT_PACKED];
    const struct placement_candidate *spread = &answer->candidates[PLACEMENT_SPREAD_OUT];

    if (!answer->room || answer->edge_level == 0)
        return;
    answer->spread_wins = spread->edge.busiest < (1 - PLACEMENT_WORTHWHILE) * packed->edge.busiest;
    answer->conflict = answer->spread_wins
                           ? packed->hop_bytes < (1 - PLACEMENT_WORTHWHILE) * spread->hop_bytes
                           : spread->edge.misses < (1 - PLACEMENT_WORTHWHILE) * packed->edge.misses;
}

/* Near or far: what loads the busiest cache's edge less, near when there is no difference. */
static size_t choose(const struct placement_answer *answer)
{
    enum placement_style style = answer->problem->model->options->placement;

    if (style != PLACEMENT_AUTO && answer->room)
        return style == PLACEMENT_PACK ? PLACEMENT_PACKED : PLACEMENT_SPREAD_OUT;
    return answer->spread_wins ? PLACEMENT_SPREAD_OUT : PLACEMENT_PACKED;
}

bool placement_answer_find(struct placement_answer *answer, char *message, size_t size)
{
    static const char *const names[PLACEMENT_CANDIDATES] = {"found, packed", "found, spread",
                                                            "identity", "scatter"};
    const struct placement_problem *problem = answer->problem;
    const struct placement_tree *tree = problem->tree;
    size_t threads = problem->rows;

    for (size_t i = 0; i < PLACEMENT_CANDIDATES; i++) {
        answer->candidates[i].name = names[i];
        answer->candidates[i].place = allocate_zeroed(threads, sizeof(uint32_t));
        answer->candidates[i].capacity = allocate_zeroed(tree->places, sizeof(uint32_t));
    }
    capacity_packed(tree, threads, answer->candidates[PLACEMENT_PACKED].capacity);
    capacity_spread(tree, threads, answer->candidates[PLACEMENT_SPREAD_OUT].capacity);
    answer->room = threads < tree->places;
    /* Only where threads may choose whether to share a cache do caches tell mappings apart. */
    answer->edge_level = answer->room ? find_edge_level(tree) : 0;
    if (answer->edge_level > 0)
        placement_take_curves(answer->problem);
    if (!answer->room)
        answer->candidates[PLACEMENT_PACKED].name = "found";
    for (size_t i = PLACEMENT_PACKED; i <= (answer->room ? PLACEMENT_SPREAD_OUT : PLACEMENT_PACKED);
         i++)
        if (!search_mapping(problem->matrix, tree, answer->candidates[i].capacity,
                            answer->candidates[i].place, message, size))
            return false;
    mapping_identity(tree, threads, answer->candidates[PLACEMENT_IDENTITY].place);
    mapping_scatter(tree, threads, answer->candidates[PLACEMENT_SCATTER].place);
    for (size_t i = 0; i < PLACEMENT_CANDIDATES; i++)
        evaluate(answer, &answer->candidates[i]);
    compare_styles(answer);
    answer->chosen = choose(answer);
    answer->random_median =
        mapping_random_median(problem->matrix, tree, answer->candidates[PLACEMENT_PACKED].capacity,
                              RANDOM_MAPPINGS, RANDOM_SEED);
    answer->heterogeneity = matrix_heterogeneity(problem->matrix);
    if (!placement_gain_of(problem, answer->candidates[answer->chosen].capacity, &answer->gain,
                           message, size))
        return false;
    answer->matters =
        answer->gain.over_random.value >= PLACEMENT_WORTHWHILE && answer->gain.over_random.lo > 0;
    /* What is simpler and as good is better. */
    if (answer->chosen == PLACEMENT_PACKED &&
        (!answer->matters || answer->gain.over_identity.lo <= 0.01))
        answer->chosen = PLACEMENT_IDENTITY;
    return true;
}

void placement_answer_free(struct placement_answer *answer)
{
    for (size_t i = 0; i < PLACEMENT_CANDIDATES; i++) {
        free(answer->candidates[i].place);
        free(answer->candidates[i].capacity);
    }
    placement_problem_free(answer->problem);
}

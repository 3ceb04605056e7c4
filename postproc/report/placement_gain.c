/* SPDX-License-Identifier: BSD-3-Clause */
/* How much of a placement's gain is real. See placement_problem.h. */
#include <math.h>
#include <stdlib.h>

#include "placement/mapping.h"
#include "placement/search.h"
#include "report/placement_problem.h"
#include "sampling/random.h"

enum { HALVES = 2, CLASSES = TREE_LEVELS_MAX + 1, DEALING_SEED = 1 };

/* Sums over flows of transfers times hops, and the variances of the savings. */
struct sums {
    double random, identity, mapping;
    double variance_random, variance_identity;
};

/* Mean hops between two different slots: what a random mapping costs per transfer. */
static double mean_distance(const struct placement_tree *tree, const uint32_t *capacity)
{
    double slots = 0, sum = 0;

    for (size_t i = 0; i < tree->places; i++)
        slots += capacity[i];
    /* 2 hops for every level that a pair of slots does not share, the places' own included. */
    for (size_t level = 1; level <= tree->level_count; level++) {
        double same = 0, held = 0;

        for (size_t i = 0; i < tree->places; i++) {
            bool last = i + 1 == tree->places || level == tree->level_count ||
                        tree->levels[level].group[i + 1] != tree->levels[level].group[i];

            held += capacity[i];
            if (last) {
                same += held * (held - 1);
                held = 0;
            }
        }
        sum += slots > 1 ? 2 * (1 - same / (slots * (slots - 1))) : 0;
    }
    return sum;
}

static double variance_of(struct estimate estimate)
{
    double deviation = (estimate.hi - estimate.lo) / (2 * 1.96);

    return deviation * deviation;
}

/* Judges a mapping by the flows that `judged` marks (per pair; NULL: all). */
static void judge(const struct placement_problem *problem, const uint32_t *capacity,
                  const uint32_t *mapping, const uint8_t *half, uint8_t judged, struct sums *sums)
{
    const struct placement_tree *tree = problem->tree;
    uint32_t *labels = allocate_zeroed(problem->view->count, sizeof(*labels));
    uint32_t *identity = allocate_zeroed(problem->rows, sizeof(*identity));
    struct estimate totals[CLASSES * CLASSES];
    double random = mean_distance(tree, capacity);

    mapping_identity(tree, problem->rows, identity);
    for (size_t i = 0; i < problem->view->count; i++)
        labels[i] = GROUP_NONE;
    for (size_t i = 0; i < problem->pairs.count; i++) {
        const struct traffic_pair *pair = &problem->pairs.items[i];
        unsigned by_identity = tree_distance(tree, identity[pair->a], identity[pair->b]) / 2;
        unsigned by_mapping = tree_distance(tree, mapping[pair->a], mapping[pair->b]) / 2;

        if (half == NULL || half[i] == judged)
            labels[problem->pair_flow.items[i]] = by_identity * CLASSES + by_mapping;
    }
    communication_totals(problem->view->communication, labels, CLASSES * CLASSES, totals);
    for (size_t class = 0; class < CLASSES * CLASSES; class ++) {
        double by_identity = 2 * (double)(class / CLASSES),
               by_mapping = 2 * (double)(class % CLASSES);
        double variance = variance_of(totals[class]);

        sums->random += totals[class].value * random;
        sums->identity += totals[class].value * by_identity;
        sums->mapping += totals[class].value * by_mapping;
        sums->variance_random += variance * (random - by_mapping) * (random - by_mapping);
        sums->variance_identity +=
            variance * (by_identity - by_mapping) * (by_identity - by_mapping);
    }
    free(identity);
    free(labels);
}

/* Deals the flows into halves and lets the mapping of one be judged by the other. */
static bool cross_judge(const struct placement_problem *problem, const uint32_t *capacity,
                        struct sums *sums, char *message, size_t size)
{
    uint8_t *half = allocate_zeroed(problem->pairs.count, 1);
    uint32_t *mapping = allocate_zeroed(problem->rows, sizeof(*mapping));
    struct traffic_pair *pairs = allocate_zeroed(problem->pairs.count, sizeof(*pairs));
    struct random random;
    bool done = true;

    random_seed(&random, DEALING_SEED);
    for (size_t i = 0; i < problem->pairs.count; i++)
        half[i] = (uint8_t)random_below(&random, HALVES);
    for (uint8_t by = 0; by < HALVES && done; by++) {
        struct communication_matrix *matrix;
        size_t count = 0;

        for (size_t i = 0; i < problem->pairs.count; i++)
            if (half[i] == by)
                pairs[count++] = problem->pairs.items[i];
        matrix = matrix_create(problem->rows, pairs, count);
        done = search_mapping(matrix, problem->tree, capacity, mapping, message, size);
        matrix_free(matrix);
        if (done)
            judge(problem, capacity, mapping, half, (uint8_t)(1 - by), sums);
    }
    free(pairs);
    free(mapping);
    free(half);
    return done;
}

static struct estimate saving(double base, double cost, double variance)
{
    double half = 1.96 * sqrt(variance) / base, value = (base - cost) / base;

    if (!(base > 0))
        return (struct estimate){0};
    return (struct estimate){value, value - half, value + half};
}

bool placement_gain_of(const struct placement_problem *problem, const uint32_t *capacity,
                       const uint32_t *mapping, struct placement_gain *gain, char *message,
                       size_t size)
{
    struct sums sums = {0};

    if (problem->model->exact)
        judge(problem, capacity, mapping, NULL, 0, &sums);
    else if (!cross_judge(problem, capacity, &sums, message, size))
        return false;
    gain->over_random = saving(sums.random, sums.mapping, sums.variance_random);
    gain->over_identity = saving(sums.identity, sums.mapping, sums.variance_identity);
    return true;
}

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

/*
 * Each pair's transfers dealt into two independent halves. A sample goes to one of them as a whole.
 * Of a counted flow each transfer goes either way: what is counted in one run is itself a draw, the
 * next run's threads will meet in another order, and halves of a Poisson number are independent.
 */
struct halves {
    double *weight[HALVES]; /* of each pair */
};

/* Of `count` transfers those that fall into the first half. */
static double deal(struct random *random, double count)
{
    enum { ONE_BY_ONE = 64 };
    double first = 0, deviation = -6;

    if (count <= ONE_BY_ONE) {
        for (int i = 0; i < (int)count; i++)
            first += random_below(random, 2);
        return first + (count - floor(count)) / 2;
    }
    /* Twelve uniform numbers add up to a normal one, nearly. */
    for (int i = 0; i < 12; i++)
        deviation += random_below(random, 1 << 20) / (double)(1 << 20);
    return fmin(fmax(count / 2 + deviation * sqrt(count) / 2, 0), count);
}

static void deal_all(const struct placement_problem *problem, struct halves *halves)
{
    struct random random;

    random_seed(&random, DEALING_SEED);
    for (size_t half = 0; half < HALVES; half++)
        halves->weight[half] = allocate_zeroed(problem->pairs.count, sizeof(double));
    for (size_t i = 0; i < problem->pairs.count; i++) {
        double whole = problem->pairs.items[i].weight;

        halves->weight[0][i] = problem->model->exact           ? deal(&random, whole)
                               : random_below(&random, HALVES) ? whole
                                                               : 0;
        halves->weight[1][i] = whole - halves->weight[0][i];
    }
}

/* How far apart a pair is under both mappings, as one number below CLASSES * CLASSES. */
static uint32_t class_of(const struct placement_problem *problem, const uint32_t *identity,
                         const uint32_t *mapping, size_t pair)
{
    uint32_t a = problem->pairs.items[pair].a, b = problem->pairs.items[pair].b;

    return tree_distance(problem->tree, identity[a], identity[b]) / 2 * CLASSES +
           tree_distance(problem->tree, mapping[a], mapping[b]) / 2;
}

/* Transfers of each class, by the pairs' weights in one half. */
static void total_classes(const struct placement_problem *problem, const uint32_t *identity,
                          const uint32_t *mapping, const double *weight, struct estimate *totals)
{
    uint32_t *labels = allocate_zeroed(problem->view->count, sizeof(*labels));

    for (size_t i = 0; i < problem->view->count; i++)
        labels[i] = GROUP_NONE;
    for (size_t i = 0; i < problem->pairs.count; i++) {
        uint32_t class = class_of(problem, identity, mapping, i);

        if (problem->model->exact)
            totals[class].value += weight[i];
        else if (weight[i] > 0)
            labels[problem->pair_flow.items[i]] = class;
    }
    if (!problem->model->exact)
        communication_totals(problem->view->communication, labels, CLASSES * CLASSES, totals);
    else
        for (size_t class = 0; class < CLASSES * CLASSES; class ++) {
            double half = 1.96 * sqrt(totals[class].value);

            totals[class].lo = totals[class].value - half;
            totals[class].hi = totals[class].value + half;
        }
    free(labels);
}

/* Judges a mapping by one half. */
static void judge(const struct placement_problem *problem, const uint32_t *capacity,
                  const uint32_t *mapping, const double *weight, struct sums *sums)
{
    struct estimate totals[CLASSES * CLASSES] = {0};
    uint32_t *identity = allocate_zeroed(problem->rows, sizeof(*identity));
    double random = mean_distance(problem->tree, capacity);

    mapping_identity(problem->tree, problem->rows, identity);
    total_classes(problem, identity, mapping, weight, totals);
    for (size_t class = 0; class < CLASSES * CLASSES; class ++) {
        double by_identity = 2 * (double)(class / CLASSES);
        double by_mapping = 2 * (double)(class % CLASSES);
        double variance = variance_of(totals[class]);

        sums->random += totals[class].value * random;
        sums->identity += totals[class].value * by_identity;
        sums->mapping += totals[class].value * by_mapping;
        sums->variance_random += variance * (random - by_mapping) * (random - by_mapping);
        sums->variance_identity +=
            variance * (by_identity - by_mapping) * (by_identity - by_mapping);
    }
    free(identity);
}

/* Seeks a mapping with either half and lets the other judge it. */
static bool cross_judge(const struct placement_problem *problem, const uint32_t *capacity,
                        struct sums *sums, char *message, size_t size)
{
    uint32_t *mapping = allocate_zeroed(problem->rows, sizeof(*mapping));
    struct traffic_pair *pairs = allocate_zeroed(problem->pairs.count, sizeof(*pairs));
    struct halves halves;
    bool done = true;

    deal_all(problem, &halves);
    for (size_t by = 0; by < HALVES && done; by++) {
        struct communication_matrix *matrix;

        for (size_t i = 0; i < problem->pairs.count; i++) {
            pairs[i] = problem->pairs.items[i];
            pairs[i].weight = halves.weight[by][i];
        }
        matrix = matrix_create(problem->rows, pairs, problem->pairs.count);
        done = search_mapping(matrix, problem->tree, capacity, mapping, message, size);
        matrix_free(matrix);
        if (done)
            judge(problem, capacity, mapping, halves.weight[1 - by], sums);
    }
    for (size_t half = 0; half < HALVES; half++)
        free(halves.weight[half]);
    free(pairs);
    free(mapping);
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
                       struct placement_gain *gain, char *message, size_t size)
{
    struct sums sums = {0};

    if (!cross_judge(problem, capacity, &sums, message, size))
        return false;
    gain->over_random = saving(sums.random, sums.mapping, sums.variance_random);
    gain->over_identity = saving(sums.identity, sums.mapping, sums.variance_identity);
    return true;
}

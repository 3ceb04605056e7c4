/* SPDX-License-Identifier: BSD-3-Clause */
/* How much of a placement's gain is real. See placement_problem.h. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "placement/mapping.h"
#include "placement/search.h"
#include "report/placement/placement_problem.h"
#include "sampling/random.h"

enum { HALVES = 2, DEALING_SEED = 1, WATCH_FLOWS_MAX = 4 };

/*
 * A ratio of two costs, and what its error follows from: sums over independent observations of both
 * costs, their squares and their product. An error in the scale of all transfers is in both costs
 * and leaves the ratio alone, so the intervals of totals would say too much.
 */
struct ratio {
    double cost, base;
    double cost_squared, base_squared, product;
    double observations;
};

/* Of the cost of a mapping to that of random ones and of the identity. */
struct ratios {
    struct ratio to_random, to_identity;
};

static void ratio_add(struct ratio *ratio, double cost, double base, double times)
{
    ratio->cost += times * cost;
    ratio->base += times * base;
    ratio->cost_squared += times * cost * cost;
    ratio->base_squared += times * base * base;
    ratio->product += times * cost * base;
    ratio->observations += times;
}

/* One minus the ratio. Of n observations none has a relative error below 1/sqrt(n). */
static struct estimate ratio_saving(const struct ratio *ratio)
{
    double value, quotient, variance, half;

    if (!(ratio->base > 0))
        return (struct estimate){0};
    quotient = ratio->cost / ratio->base;
    variance = ratio->cost_squared - 2 * quotient * ratio->product +
               quotient * quotient * ratio->base_squared;
    value = 1 - quotient;
    half = 1.96 * fmax(sqrt(fmax(0, variance)) / ratio->base,
                       fabs(value) / sqrt(fmax(1, ratio->observations)));
    return (struct estimate){value, value - half, value + half};
}

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

/*
 * Each pair's transfers dealt into two independent halves. What one watch of a sampled profile saw
 * goes to one of them as a whole: these are flows that follow each other and are about one line. Of
 * a counted flow each transfer goes either way: what is counted in one run is itself a draw, the
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

/* Whether a pair comes from the watch that the `length` pairs before it come from. */
static bool is_of_same_watch(const struct placement_problem *problem, size_t pair, size_t length)
{
    const struct communication *communication = problem->view->communication;
    const uint32_t *flows = problem->pair_flow.items;

    return length > 0 && length < WATCH_FLOWS_MAX && flows[pair] == flows[pair - 1] + 1 &&
           communication_flow(communication, flows[pair])->line_address ==
               communication_flow(communication, flows[pair - 1])->line_address;
}

static void deal_all(const struct placement_problem *problem, struct halves *halves)
{
    struct random random;
    size_t length = 0;
    bool first = false;

    random_seed(&random, DEALING_SEED);
    for (size_t half = 0; half < HALVES; half++)
        halves->weight[half] = allocate_zeroed(problem->pairs.count, sizeof(double));
    for (size_t i = 0; i < problem->pairs.count; i++) {
        double whole = problem->pairs.items[i].weight;

        length = is_of_same_watch(problem, i, length) ? length + 1 : 1;
        if (length == 1)
            first = random_below(&random, HALVES) == 0;
        halves->weight[0][i] = problem->model->exact ? deal(&random, whole) : first ? whole : 0;
        halves->weight[1][i] = whole - halves->weight[0][i];
    }
}

/* Judges a mapping by one half. */
static void judge(const struct placement_problem *problem, const uint32_t *capacity,
                  const uint32_t *mapping, const double *weight, struct ratios *ratios)
{
    const struct placement_tree *tree = problem->tree;
    uint32_t *identity = allocate_zeroed(problem->rows, sizeof(*identity));
    double random = mean_distance(tree, capacity);
    double watch_transfers = 0, watch_cost = 0, watch_identity = 0;
    size_t length = 0;

    mapping_identity(tree, problem->rows, identity);
    for (size_t i = 0; i <= problem->pairs.count; i++) {
        bool last = i == problem->pairs.count;
        const struct traffic_pair *pair = &problem->pairs.items[last ? 0 : i];
        double cost, by_identity;

        if (last || !is_of_same_watch(problem, i, length)) {
            if (watch_transfers > 0) {
                ratio_add(&ratios->to_random, watch_cost, watch_transfers * random, 1);
                ratio_add(&ratios->to_identity, watch_cost, watch_identity, 1);
            }
            watch_transfers = watch_cost = watch_identity = 0;
            length = 0;
        }
        length++;
        if (last || !(weight[i] > 0))
            continue;
        cost = tree_distance(tree, mapping[pair->a], mapping[pair->b]);
        by_identity = tree_distance(tree, identity[pair->a], identity[pair->b]);
        if (problem->model->exact) {
            ratio_add(&ratios->to_random, cost, random, weight[i]);
            ratio_add(&ratios->to_identity, cost, by_identity, weight[i]);
            continue;
        }
        watch_transfers += weight[i];
        watch_cost += weight[i] * cost;
        watch_identity += weight[i] * by_identity;
    }
    free(identity);
}

/* Seeks a mapping with either half and lets the other judge it. */
static bool cross_judge(const struct placement_problem *problem, const uint32_t *capacity,
                        struct ratios *ratios, char *message, size_t size)
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
            judge(problem, capacity, mapping, halves.weight[1 - by], ratios);
    }
    for (size_t half = 0; half < HALVES; half++)
        free(halves.weight[half]);
    free(pairs);
    free(mapping);
    return done;
}

bool placement_gain_of(const struct placement_problem *problem, const uint32_t *capacity,
                       struct placement_gain *gain, char *message, size_t size)
{
    struct ratios ratios = {0};

    if (problem->pairs.count > 0 && !cross_judge(problem, capacity, &ratios, message, size))
        return false;
    gain->over_random = ratio_saving(&ratios.to_random);
    gain->over_identity = ratio_saving(&ratios.to_identity);
    return true;
}

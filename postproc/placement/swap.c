/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an exchange gains is read from a table of how much each unit communicates with each group:
 * a few additions for a pair, whatever their numbers of partners. The table is kept up to date by
 * the partners of what moved. A group's figures lie together and slots are visited in order, so
 * that the search stays in the first caches.
 */
#include "placement/swap.h"

#include <stdbool.h>
#include <stdlib.h>

#include "support/memory.h"

struct state {
    const struct swap_problem *problem;
    uint32_t *slot_of, *unit_at; /* of units; of slots */
    size_t *first;               /* number of each level's first group, counted over all levels */
    size_t columns;              /* units that communicate, and one that stands for empty ones */
    double *with;                /* [group][column]: what the unit communicates with the group */
    double tolerance;            /* smaller gains are rounding */
};

static size_t column_of(const struct state *state, uint32_t unit)
{
    return unit < state->problem->matrix->threads ? unit : state->problem->matrix->threads;
}

static double *group_at(const struct state *state, size_t level, uint32_t slot)
{
    size_t group = state->first[level] + state->problem->group[level][slot];

    return &state->with[group * state->columns];
}

/* A unit has moved: its partners see its traffic in other groups. */
static void tell_partners(struct state *state, uint32_t unit, uint32_t from, uint32_t to)
{
    const struct communication_matrix *matrix = state->problem->matrix;

    if (unit >= matrix->threads)
        return;
    for (size_t level = 0; level < state->problem->levels; level++) {
        double *left = group_at(state, level, from), *entered = group_at(state, level, to);

        for (size_t i = matrix->begin[unit]; left != entered && i < matrix->begin[unit + 1]; i++) {
            left[matrix->entries[i].column] -= matrix->entries[i].weight;
            entered[matrix->entries[i].column] += matrix->entries[i].weight;
        }
    }
}

static void fill_table(struct state *state)
{
    const struct communication_matrix *matrix = state->problem->matrix;

    for (uint32_t unit = 0; unit < matrix->threads; unit++)
        for (size_t level = 0; level < state->problem->levels; level++) {
            double *group = group_at(state, level, state->slot_of[unit]);

            for (size_t i = matrix->begin[unit]; i < matrix->begin[unit + 1]; i++)
                group[matrix->entries[i].column] += matrix->entries[i].weight;
        }
}

/*
 * What an exchange saves, without what the two say to each other: after it they are as far apart as
 * before. *apart: levels that separate the two.
 */
static double gain_of(const struct state *state, uint32_t slot_a, uint32_t slot_b, size_t *apart)
{
    size_t a = column_of(state, state->unit_at[slot_a]);
    size_t b = column_of(state, state->unit_at[slot_b]);
    double gain = 0;

    *apart = 0;
    for (size_t level = state->problem->levels; level-- > 0;) {
        const double *here = group_at(state, level, slot_a);
        const double *there = group_at(state, level, slot_b);

        if (here == there)
            break; /* and so on every level further out */
        gain += there[a] - here[a] + here[b] - there[b];
        ++*apart;
    }
    return gain;
}

static void exchange(struct state *state, uint32_t slot_a, uint32_t slot_b)
{
    uint32_t a = state->unit_at[slot_a], b = state->unit_at[slot_b];

    state->unit_at[slot_a] = b;
    state->unit_at[slot_b] = a;
    state->slot_of[a] = slot_b;
    state->slot_of[b] = slot_a;
    tell_partners(state, a, slot_a, slot_b);
    tell_partners(state, b, slot_b, slot_a);
}

/* Makes the best exchange that a unit can make; false if none helps. */
static bool move_unit(struct state *state, uint32_t unit)
{
    const struct swap_problem *problem = state->problem;
    uint32_t slot = state->slot_of[unit], best = slot;
    double best_gain = state->tolerance;

    for (uint32_t other = 0; other < problem->slots; other++) {
        size_t apart;
        double gain = gain_of(state, slot, other, &apart);

        if (gain <= best_gain)
            continue;
        if (state->unit_at[other] < problem->matrix->threads)
            gain -= 2 * (double)apart * matrix_weight(problem->matrix, unit, state->unit_at[other]);
        if (gain > best_gain) {
            best_gain = gain;
            best = other;
        }
    }
    if (best == slot)
        return false;
    exchange(state, slot, best);
    return true;
}

void swap_until_stable(const struct swap_problem *problem, uint32_t *slot_of)
{
    enum { PASSES_MAX = 50 }; /* passes gain less and less: a handful is usual */
    struct state state = {.problem = problem,
                          .slot_of = slot_of,
                          .columns = problem->matrix->threads + 1,
                          .tolerance = 1e-9 * problem->matrix->total};
    size_t groups = 0;
    bool moved = true;

    state.unit_at = allocate_zeroed(problem->slots, sizeof(*state.unit_at));
    for (uint32_t unit = 0; unit < problem->slots; unit++)
        state.unit_at[slot_of[unit]] = unit;
    state.first = allocate_zeroed(problem->levels + 1, sizeof(*state.first));
    for (size_t level = 0; level < problem->levels; level++) {
        state.first[level] = groups;
        groups += problem->groups[level];
    }
    state.with = allocate_zeroed(groups * state.columns + 1, sizeof(*state.with));
    fill_table(&state);
    for (int pass = 0; pass < PASSES_MAX && moved; pass++) {
        moved = false;
        for (uint32_t unit = 0; unit < problem->matrix->threads; unit++)
            moved |= move_unit(&state, unit);
    }
    free(state.with);
    free(state.first);
    free(state.unit_at);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Misses of divided caches in one replicate: each side evicts what its own members leave open. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/sectors/sectors_internal.h"
#include "support/memory.h"

/* A cell in one replicate: its members' curves and shares. */
struct cell_state {
    struct partition_member *members; /* all of them; the parts are picked from here */
    struct partition_member *isolated, *rest;
    const struct sector_member **whose;
    double *weights;
    size_t count;
    double total;
};

static void describe_cell(const struct sector_model *model, uint32_t cell, struct cell_state *state)
{
    state->count = 0;
    state->total = 0;
    for (size_t p = model->first_piece[cell]; p < model->first_piece[cell + 1]; p++) {
        const struct sector_piece *piece = &model->pieces[p];

        if (!(piece->weight > 0))
            continue;
        state->members[state->count].curve = &piece->curve;
        state->whose[state->count] = &model->members[piece->member];
        state->weights[state->count++] = piece->weight;
        state->total += piece->weight;
    }
    for (size_t i = 0; i < state->count; i++)
        state->members[i].share = state->weights[i] / state->total;
}

static bool is_isolated(const struct sector_split *split, const struct sector_member *member)
{
    return member->structure < SECTOR_STRUCTURES_MAX && split->isolated >> member->structure & 1;
}

/* Adds the misses of a cell, in accesses, to each region and side; unknown: of those, what nobody
 * saw. */
static void add_cell(const struct cell_state *state, const struct sector_split *split,
                     size_t regions, double *misses, double *unknown)
{
    size_t isolated = 0, rest = 0;

    for (size_t i = 0; i < state->count; i++) {
        if (is_isolated(split, state->whose[i]))
            state->isolated[isolated++] = state->members[i];
        else
            state->rest[rest++] = state->members[i];
    }
    double isolated_time =
        isolated ? partition_eviction_time(state->isolated, isolated, split->isolated_lines) : 0;
    double rest_time = partition_eviction_time(state->rest, rest, split->rest_lines);
    for (size_t i = 0; i < state->count; i++) {
        enum sector_side side = is_isolated(split, state->whose[i]) ? SECTOR_ISOLATED : SECTOR_REST;
        struct survival_point at = survival_at(state->members[i].curve,
                                               side == SECTOR_ISOLATED ? isolated_time : rest_time);
        double missed = fmin(1, at.survival + at.invalidated);
        for (size_t r = 0; r < regions; r++) {
            if (!(state->whose[i]->regions >> r & 1))
                continue;
            misses[r * SECTOR_SIDES + side] += state->weights[i] * missed;
            if (unknown)
                unknown[r] += state->weights[i] * at.unknown;
        }
    }
}

void sector_replicate(struct sector_model *model, uint32_t replicate, size_t cells,
                      const struct sector_split *splits, size_t n, double *misses, double *unknown)
{
    size_t regions = model->question.regions, room = model->piece_count + 1;
    double accesses[SECTOR_REGIONS_MAX] = {0};
    struct cell_state state = {.members = allocate(room, sizeof *state.members),
                               .isolated = allocate(room, sizeof *state.isolated),
                               .rest = allocate(room, sizeof *state.rest),
                               .whose = allocate(room, sizeof *state.whose),
                               .weights = allocate(room, sizeof *state.weights)};

    memset(misses, 0, n * regions * SECTOR_SIDES * sizeof *misses);
    if (unknown)
        memset(unknown, 0, n * regions * sizeof *unknown);
    sector_pieces_estimate(model, replicate);
    for (size_t c = 0; c < cells; c++) {
        uint32_t cell = model->cell_order[c];
        describe_cell(model, cell, &state);
        for (size_t i = 0; i < state.count; i++)
            for (size_t r = 0; r < regions; r++)
                if (state.whose[i]->regions >> r & 1)
                    accesses[r] += state.weights[i];
        for (size_t s = 0; s < n && state.count; s++)
            add_cell(&state, &splits[s], regions, &misses[s * regions * SECTOR_SIDES],
                     unknown ? &unknown[s * regions] : NULL);
    }
    for (size_t i = 0; i < n * regions; i++) {
        double of = accesses[i % regions];
        for (size_t k = i * SECTOR_SIDES; k < (i + 1) * SECTOR_SIDES; k++)
            misses[k] = of > 0 ? misses[k] / of : 0;
        if (unknown)
            unknown[i] = of > 0 ? unknown[i] / of : 0;
    }
    free(state.members);
    free(state.isolated);
    free(state.rest);
    free(state.whose);
    free(state.weights);
}

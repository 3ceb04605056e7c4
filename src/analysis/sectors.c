/* SPDX-License-Identifier: BSD-3-Clause */
/* Divided caches from samples; profiles with histograms are handed on to exact_sectors.c. */
#include "analysis/sectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/sectors_internal.h"

enum {
    OWN_VIEW_MIN = 64,    /* samples that a cell needs to be estimated apart, as in evaluation.c */
    SEARCH_CELLS_MAX = 48 /* searches look at the cells with most weight */
};

/* Members: samples of one structure in the same regions. */
static int find_members(struct sector_model *model)
{
    const struct sector_question *question = &model->question;
    size_t capacity = 0;

    for (size_t i = 0; i < model->analysis->count; i++) {
        struct sector_member key = {question->structure_of[i], question->regions_of[i]};
        size_t m = 0;
        while (m < model->member_count && (model->members[m].structure != key.structure ||
                                           model->members[m].regions != key.regions))
            m++;
        if (m == capacity) {
            capacity = 2 * capacity + 16;
            struct sector_member *members =
                realloc(model->members, capacity * sizeof *model->members);
            if (!members)
                return -1;
            model->members = members;
        }
        if (m == model->member_count)
            model->members[model->member_count++] = key;
        model->member_of[i] = (uint32_t)m;
    }
    return 0;
}

static int add_view(struct sector_model *model, uint32_t member, const uint32_t *samples, size_t n)
{
    struct sector_view *views;

    if (n == 0)
        return 0;
    views = realloc(model->views, (model->view_count + 1) * sizeof *views);
    if (!views)
        return -1;
    model->views = views;
    views[model->view_count] = (struct sector_view){.member = member};
    if (view_create(model->analysis, samples, n, &views[model->view_count].view))
        return -1;
    model->view_count++;
    return 0;
}

/* A member's samples: cells that hold many of them alone, those of all other cells together. */
static int view_member(struct sector_model *model, uint32_t member, uint32_t *own, uint32_t *few)
{
    const struct analysis *analysis = model->analysis;
    size_t few_count = 0;

    for (size_t c = 0; c < analysis->cell_count; c++) {
        const struct cell *cell = &analysis->cells[c];
        size_t n = 0;
        for (size_t i = cell->first; i < cell->first + cell->count; i++)
            if (model->member_of[analysis->by_cell[i]] == member)
                own[n++] = analysis->by_cell[i];
        if (n >= OWN_VIEW_MIN) {
            if (add_view(model, member, own, n))
                return -1;
        } else {
            for (size_t i = 0; i < n; i++)
                few[few_count++] = own[i];
        }
    }
    return add_view(model, member, few, few_count);
}

static int view_members(struct sector_model *model)
{
    size_t count = model->analysis->count;
    uint32_t *own = malloc((count + 1) * sizeof *own), *few = malloc((count + 1) * sizeof *few);
    int result = own && few ? 0 : -1;

    for (uint32_t m = 0; m < model->member_count && result == 0; m++)
        result = view_member(model, m, own, few);
    free(own);
    free(few);
    return result;
}

/* The pieces of all views, so that each cell finds its own. A view's samples are ordered by cell.
 */
static int list_pieces(struct sector_model *model)
{
    const struct analysis *analysis = model->analysis;

    model->first_piece = calloc(analysis->cell_count + 2, sizeof *model->first_piece);
    if (!model->first_piece)
        return -1;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t v = 0; v < model->view_count; v++) {
            const struct view *view = &model->views[v].view;
            for (size_t i = 0, end; i < view->count; i = end) {
                uint32_t cell = analysis->samples[view->sample[i]].cell;
                for (end = i;
                     end < view->count && analysis->samples[view->sample[end]].cell == cell; end++)
                    ;
                if (pass == 0)
                    model->first_piece[cell + 2]++;
                else
                    model->pieces[model->first_piece[cell + 1]++] =
                        (struct sector_piece){(uint32_t)v, (uint32_t)i, (uint32_t)end};
            }
        }
        if (pass == 0) {
            for (size_t c = 0; c < analysis->cell_count; c++)
                model->first_piece[c + 2] += model->first_piece[c + 1];
            model->pieces =
                malloc((model->first_piece[analysis->cell_count + 1] + 1) * sizeof *model->pieces);
            if (!model->pieces)
                return -1;
        }
    }
    return 0;
}

static double weight_of_cell(const struct analysis *analysis, uint32_t cell)
{
    double weight = 0;

    for (size_t i = 0; i < analysis->cells[cell].count; i++)
        weight += analysis->samples[analysis->by_cell[analysis->cells[cell].first + i]].weight;
    return weight;
}

struct heavy_cell {
    uint32_t cell;
    double weight;
};

static int compare_weights(const void *a, const void *b)
{
    const struct heavy_cell *x = a, *y = b;

    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->cell < y->cell ? -1 : x->cell > y->cell;
}

static int order_cells(struct sector_model *model)
{
    size_t n = model->analysis->cell_count;
    struct heavy_cell *cells = malloc((n + 1) * sizeof *cells);

    model->cell_order = malloc((n + 1) * sizeof *model->cell_order);
    if (!cells || !model->cell_order) {
        free(cells);
        return -1;
    }
    for (uint32_t c = 0; c < n; c++)
        cells[c] = (struct heavy_cell){c, weight_of_cell(model->analysis, c)};
    if (n)
        qsort(cells, n, sizeof *cells, compare_weights);
    for (size_t c = 0; c < n; c++)
        model->cell_order[c] = cells[c].cell;
    free(cells);
    return 0;
}

struct sector_model *sector_model_create(const struct analysis *analysis,
                                         const struct sector_question *question)
{
    struct sector_model *model = calloc(1, sizeof *model);
    int result = model ? 0 : -1;

    if (result == 0) {
        model->analysis = analysis;
        model->question = *question;
        if (analysis->exact) {
            result = exact_sectors_create(model);
        } else {
            model->member_of = malloc((analysis->count + 1) * sizeof *model->member_of);
            result = model->member_of && find_members(model) == 0 && view_members(model) == 0 &&
                             list_pieces(model) == 0 && order_cells(model) == 0
                         ? 0
                         : -1;
        }
    }
    if (result) {
        sector_model_free(model);
        return NULL;
    }
    return model;
}

void sector_model_free(struct sector_model *model)
{
    if (!model)
        return;
    exact_sectors_free(model);
    for (size_t v = 0; v < model->view_count; v++) {
        view_free(&model->views[v].view);
        survival_free(&model->views[v].curve);
    }
    free(model->views);
    free(model->members);
    free(model->member_of);
    free(model->pieces);
    free(model->first_piece);
    free(model->cell_order);
    free(model);
}

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
        const struct sector_view *view = &model->views[piece->view];
        double weight = 0;
        for (size_t i = piece->begin; i < piece->end; i++)
            weight += view->view.weight[i];
        if (weight <= 0 || view->curve.count == 0)
            continue;
        state->members[state->count].curve = &view->curve;
        state->whose[state->count] = &model->members[view->member];
        state->weights[state->count++] = weight;
        state->total += weight;
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
static void add_cell(const struct cell_state *state, const struct sector_split *split, double run,
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
        struct miss_shares shares = misses_in_run(
            state->members[i].curve, side == SECTOR_ISOLATED ? isolated_time : rest_time, run);
        double missed = fmin(1, shares.missed + shares.invalidated);
        for (size_t r = 0; r < regions; r++) {
            if (!(state->whose[i]->regions >> r & 1))
                continue;
            misses[r * SECTOR_SIDES + side] += state->weights[i] * missed;
            if (unknown)
                unknown[r] += state->weights[i] * shares.unknown;
        }
    }
}

/*
 * One replicate of all splits, over the first `cells` cells in order of weight. misses as in
 * sector_misses(); unknown[split * regions + region], or NULL.
 */
static int evaluate(struct sector_model *model, uint32_t replicate, size_t cells,
                    const struct sector_split *splits, size_t n, double *misses, double *unknown)
{
    const struct analysis *analysis = model->analysis;
    size_t regions = model->question.regions, views = model->view_count + 1;
    double accesses[SECTOR_REGIONS_MAX] = {0};
    struct cell_state state = {.members = malloc(views * sizeof *state.members),
                               .isolated = malloc(views * sizeof *state.isolated),
                               .rest = malloc(views * sizeof *state.rest),
                               .whose = malloc(views * sizeof *state.whose),
                               .weights = malloc(views * sizeof *state.weights)};
    int result =
        state.members && state.isolated && state.rest && state.whose && state.weights ? 0 : -1;

    memset(misses, 0, n * regions * SECTOR_SIDES * sizeof *misses);
    if (unknown)
        memset(unknown, 0, n * regions * sizeof *unknown);
    for (size_t v = 0; v < model->view_count && result == 0; v++)
        result = view_estimate(analysis, &model->views[v].view, replicate, &model->views[v].curve);
    for (size_t c = 0; c < cells && result == 0; c++) {
        uint32_t cell = model->cell_order[c];
        describe_cell(model, cell, &state);
        for (size_t i = 0; i < state.count; i++)
            for (size_t r = 0; r < regions; r++)
                if (state.whose[i]->regions >> r & 1)
                    accesses[r] += state.weights[i];
        for (size_t s = 0; s < n && state.count; s++)
            add_cell(&state, &splits[s], analysis->cells[cell].run, regions,
                     &misses[s * regions * SECTOR_SIDES], unknown ? &unknown[s * regions] : NULL);
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
    return result;
}

int sector_misses(struct sector_model *model, const struct sector_split *splits, size_t n,
                  double *values)
{
    size_t cells = model->analysis->cell_count;

    if (model->analysis->exact) {
        exact_sectors_misses(model, splits, n, values);
        return 0;
    }
    return evaluate(model, 0, cells < SEARCH_CELLS_MAX ? cells : SEARCH_CELLS_MAX, splits, n,
                    values, NULL);
}

static double reduction(double misses, double before)
{
    return before > 0 ? 1 - misses / before : 0;
}

/* Replicates that draw hardly a miss say nothing of how many times more there could be. */
#define REDUCTION_MIN (-1.0)

static double bounded_reduction(double misses, double before)
{
    return fmax(REDUCTION_MIN, reduction(misses, before));
}

static struct estimate certain(double value)
{
    return (struct estimate){value, value, value};
}

/* In place, from two sides each to n sums. */
static void add_sides(double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        values[i] = values[i * SECTOR_SIDES] + values[i * SECTOR_SIDES + 1];
}

static int compare_exact(struct sector_model *model, const struct sector_split *splits, size_t n,
                         struct sector_outcome *outcomes)
{
    size_t regions = model->question.regions;
    double *values = malloc((n * regions * SECTOR_SIDES + 1) * sizeof *values);

    if (!values)
        return -1;
    exact_sectors_misses(model, splits, n, values);
    add_sides(values, n * regions);
    for (size_t i = 0; i < n * regions; i++)
        outcomes[i] = (struct sector_outcome){
            .misses = certain(values[i]),
            .reduction = certain(reduction(values[i], values[i % regions]))};
    free(values);
    return 0;
}

/* Samples in a region: what none of n shows may still be a 3/n part of its accesses (95 %). */
static double least_claim(const struct sector_model *model, size_t region)
{
    size_t n = 0;

    for (size_t i = 0; i < model->analysis->count; i++)
        n += model->question.regions_of[i] >> region & 1;
    return n ? fmin(1, 3.0 / (double)n) : 1;
}

/* What nobody saw until it would have been evicted may or may not be a miss, with and without the
 * division. */
static void add_unknown(struct sector_outcome *outcome, double unknown_before, double before)
{
    double misses = outcome->misses.value, known_before = before - unknown_before;

    outcome->misses.lo = fmax(0, outcome->misses.lo - outcome->unknown);
    if (outcome->unknown <= 0 && unknown_before <= 0)
        return;
    outcome->reduction.lo = fmin(outcome->reduction.lo, bounded_reduction(misses, known_before));
    outcome->reduction.hi =
        fmax(outcome->reduction.hi, bounded_reduction(misses - outcome->unknown, before));
}

/* values: [replicate][split * regions + region] */
static void judge(const struct sector_model *model, const double *values, const double *unknown,
                  size_t n, double *of_replicate, struct sector_outcome *outcomes)
{
    uint32_t replicates = replicate_count(model->analysis);
    size_t regions = model->question.regions, stride = n * regions;

    for (size_t region = 0; region < regions; region++) {
        double floor = least_claim(model, region);
        for (size_t i = region; i < stride; i += regions) {
            for (uint32_t r = 0; r < replicates; r++)
                of_replicate[r] = values[r * stride + i];
            outcomes[i].misses = replicate_interval(model->analysis, of_replicate, floor);
            for (uint32_t r = 0; r < replicates; r++)
                of_replicate[r] =
                    bounded_reduction(values[r * stride + i], values[r * stride + region]);
            outcomes[i].reduction = replicate_spread(model->analysis, of_replicate);
            outcomes[i].reduction.value = reduction(values[i], values[region]);
            outcomes[i].reduction.lo = fmin(outcomes[i].reduction.lo, outcomes[i].reduction.value);
            outcomes[i].unknown = unknown[i];
            add_unknown(&outcomes[i], unknown[region], values[region]);
            if (i == region || values[region] <= 0)
                continue;
            struct estimate *gain = &outcomes[i].reduction;
            double least = fmin(1, floor / values[region]);
            gain->lo = fmin(gain->lo, gain->value - least);
            gain->hi = fmin(fmax(gain->hi, gain->value + least), 1);
        }
    }
}

int sector_compare(struct sector_model *model, const struct sector_split *splits, size_t n,
                   struct sector_outcome *outcomes)
{
    size_t stride = n * model->question.regions;
    uint32_t replicates;
    double *values, *unknown, *of_replicate;
    int result = 0;

    if (model->analysis->exact)
        return compare_exact(model, splits, n, outcomes);
    replicates = replicate_count(model->analysis);
    /* The last replicate needs room for both sides before they are added up. */
    values = malloc((replicates + 1) * (stride + 1) * sizeof *values);
    unknown = malloc((stride + 1) * sizeof *unknown);
    of_replicate = malloc(replicates * sizeof *of_replicate);
    if (!values || !unknown || !of_replicate)
        result = -1;
    for (uint32_t r = 0; r < replicates && result == 0; r++) {
        result = evaluate(model, r, model->analysis->cell_count, splits, n, values + r * stride,
                          r == 0 ? unknown : NULL);
        add_sides(values + r * stride, stride);
    }
    if (result == 0)
        judge(model, values, unknown, n, of_replicate, outcomes);
    free(values);
    free(unknown);
    free(of_replicate);
    return result;
}

enum sector_basis sector_basis(const struct sector_model *model, const struct sector_split *split,
                               size_t region)
{
    return model->analysis->exact ? exact_sectors_basis(model, split, region) : SECTOR_SAMPLED;
}

double sector_model_error(const struct sector_model *model, const struct sector_split *split,
                          size_t region)
{
    return model->analysis->exact ? exact_sectors_model_error(model, split, region) : 0;
}

struct estimate sector_accesses(const struct sector_model *model, size_t region)
{
    const struct analysis *analysis = model->analysis;

    if (analysis->exact)
        return certain(exact_sectors_accesses(model, region));
    uint32_t *groups = malloc((analysis->count + 1) * sizeof *groups);
    if (!groups)
        return (struct estimate){0};
    for (size_t i = 0; i < analysis->count; i++)
        groups[i] = model->question.regions_of[i] >> region & 1;
    struct estimate out =
        analysis_subset_accesses(analysis, (struct subset){.groups = groups, .group = 1});
    free(groups);
    return out;
}

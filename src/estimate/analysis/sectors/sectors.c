/* SPDX-License-Identifier: BSD-3-Clause */
/* Divided caches from bursts; profiles with histograms are handed on to exact_sectors.c. */
#include "analysis/sectors/sectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/sectors/sectors_internal.h"
#include "reuse/sort_keys.h"
#include "support/memory.h"

enum { SEARCH_CELLS_MAX = 48 /* searches look at the cells with most weight */ };

/* Members: probes of one structure in the same regions. */
static void find_members(struct sector_model *model)
{
    const struct sector_question *question = &model->question;
    size_t capacity = 0;

    for (size_t i = 0; i < model->analysis->probe_count; i++) {
        struct sector_member key = {question->structure_of[i], question->regions_of[i]};
        size_t m = 0;
        while (m < model->member_count && (model->members[m].structure != key.structure ||
                                           model->members[m].regions != key.regions))
            m++;
        if (m == capacity) {
            capacity = 2 * capacity + 16;
            model->members = reallocate(model->members, capacity, sizeof *model->members);
        }
        if (m == model->member_count)
            model->members[model->member_count++] = key;
        model->member_of[i] = (uint32_t)m;
    }
}

static uint32_t cell_of(const struct analysis *analysis, uint32_t probe)
{
    return analysis->bursts[analysis->probes[probe].burst].cell;
}

/* Groups of probes by cell and, in each, by member. */
static void list_pieces(struct sector_model *model)
{
    const struct analysis *analysis = model->analysis;
    size_t n = analysis->probe_count;
    struct sort_key *keys = allocate(2 * n + 1, sizeof *keys);

    model->probes = allocate(n + 1, sizeof *model->probes);
    model->pieces =
        allocate_zeroed(analysis->cell_count * model->member_count + 1, sizeof *model->pieces);
    model->first_piece = allocate_zeroed(analysis->cell_count + 2, sizeof *model->first_piece);
    model->scratch = allocate(analysis->stratum_count + 1, sizeof *model->scratch);
    for (uint32_t i = 0; i < n; i++)
        keys[i] = (struct sort_key){(uint64_t)cell_of(analysis, i) << 32 | model->member_of[i], i};
    const struct sort_key *sorted = sort_keys(keys, keys + n, n);
    for (size_t i = 0; i < n; i++) {
        uint32_t cell = (uint32_t)(sorted[i].key >> 32), member = (uint32_t)sorted[i].key;

        if (i == 0 || sorted[i].key != sorted[i - 1].key) {
            model->pieces[model->piece_count++] =
                (struct sector_piece){.member = member, .cell = cell, .first = i};
            model->first_piece[cell + 1]++;
        }
        model->pieces[model->piece_count - 1].count++;
        model->probes[i] = sorted[i].index;
    }
    for (size_t c = 0; c < analysis->cell_count; c++)
        model->first_piece[c + 1] += model->first_piece[c];
    free(keys);
}

static double weight_of_cell(const struct analysis *analysis, uint32_t cell)
{
    double weight = 0;

    for (size_t i = 0; i < analysis->burst_count; i++)
        if (analysis->bursts[i].cell == cell)
            weight += analysis->bursts[i].weight * analysis->bursts[i].touches;
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

static void order_cells(struct sector_model *model)
{
    size_t n = model->analysis->cell_count;
    struct heavy_cell *cells = allocate(n + 1, sizeof *cells);

    model->cell_order = allocate(n + 1, sizeof *model->cell_order);
    for (uint32_t c = 0; c < n; c++)
        cells[c] = (struct heavy_cell){c, weight_of_cell(model->analysis, c)};
    if (n)
        qsort(cells, n, sizeof *cells, compare_weights);
    for (size_t c = 0; c < n; c++)
        model->cell_order[c] = cells[c].cell;
    free(cells);
}

struct sector_model *sector_model_create(const struct analysis *analysis,
                                         const struct sector_question *question)
{
    struct sector_model *model = allocate_zeroed(1, sizeof *model);

    model->analysis = analysis;
    model->question = *question;
    if (analysis->exact) {
        exact_sectors_create(model);
        return model;
    }
    model->member_of = allocate(analysis->probe_count, sizeof *model->member_of);
    find_members(model);
    list_pieces(model);
    order_cells(model);
    return model;
}

void sector_model_free(struct sector_model *model)
{
    if (!model)
        return;
    exact_sectors_free(model);
    for (size_t i = 0; i < model->piece_count; i++)
        survival_free(&model->pieces[i].curve);
    free(model->probes);
    free(model->scratch);
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

/* What open lines of each stratum do at the points of the grid, in one replicate. */
struct stratum_grid {
    double survival[PACE_POINTS], unknown[PACE_POINTS], invalidated[PACE_POINTS];
};

/* Sets the piece's weight, and sums that are to be divided by it: of resolved probes by bins of
 * time, of open ones by stratum. */
static void add_up_piece(const struct sector_model *model, struct sector_piece *piece,
                         uint32_t replicate, double times[PROBE_TIME_BINS])
{
    const struct analysis *analysis = model->analysis;

    memset(times, 0, PROBE_TIME_BINS * sizeof *times);
    memset(model->scratch, 0, analysis->stratum_count * sizeof *model->scratch);
    piece->weight = 0;
    for (size_t i = piece->first; i < piece->first + piece->count; i++) {
        const struct analysed_probe *probe = &analysis->probes[model->probes[i]];
        double weight = analysis->bursts[probe->burst].weight *
                        replicate_burst_factor(analysis, replicate, probe->burst);

        piece->weight += weight * probe->count;
        model->scratch[probe->stratum] += weight * probe->open;
        for (uint32_t k = probe->first; k < probe->first + probe->entries && weight > 0; k++)
            if (!probe_code_open(analysis->counts[k].code))
                times[probe_code_time(analysis->counts[k].code)] +=
                    weight * analysis->counts[k].count;
    }
}

/* Of the bin's times, those after `time`. */
static double later(unsigned bin, double time)
{
    double low = probe_time_low(bin), high = probe_time_low(bin + 1);

    return time < low ? 1 : time >= high - 1 ? 0 : (high - 1 - time) / (high - low);
}

/* The survival of the piece's probes on the grid. */
static void estimate_piece(const struct sector_model *model, struct sector_piece *piece,
                           uint32_t replicate, const struct stratum_grid *grids)
{
    struct survival_curve *curve = &piece->curve;
    double times[PROBE_TIME_BINS];

    if (!curve->points) {
        curve->points = allocate(PACE_POINTS, sizeof *curve->points);
        curve->capacity = PACE_POINTS;
        curve->linear = true;
    }
    add_up_piece(model, piece, replicate, times);
    curve->count = piece->weight > 0 ? PACE_POINTS : 0;
    for (size_t k = 0; k < curve->count; k++) {
        struct survival_point *point = &curve->points[k];

        *point = (struct survival_point){.time = pace_time(k)};
        for (unsigned bin = 1; bin < PROBE_TIME_BINS; bin++)
            if (times[bin] > 0)
                point->survival += times[bin] * later(bin, floor(point->time));
        for (size_t g = 0; g < model->analysis->stratum_count; g++) {
            if (!(model->scratch[g] > 0))
                continue;
            point->survival += model->scratch[g] * grids[g].survival[k];
            point->unknown += model->scratch[g] * grids[g].unknown[k];
            point->invalidated += model->scratch[g] * grids[g].invalidated[k];
        }
        point->survival /= piece->weight;
        point->unknown /= piece->weight;
        point->invalidated /= piece->weight;
        if (k)
            point->area = point[-1].area + (point->time - point[-1].time) *
                                               (point->survival + point[-1].survival) / 2;
    }
}

static void estimate_pieces(struct sector_model *model, uint32_t replicate)
{
    const struct analysis *analysis = model->analysis;
    struct stratum_grid *grids = allocate(analysis->stratum_count + 1, sizeof *grids);

    for (uint32_t g = 0; g < analysis->stratum_count; g++)
        open_lines_grid(analysis, replicate, g, grids[g].survival, grids[g].unknown,
                        grids[g].invalidated);
    for (size_t i = 0; i < model->piece_count; i++)
        estimate_piece(model, &model->pieces[i], replicate, grids);
    free(grids);
}

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

/*
 * One replicate of all splits, over the first `cells` cells in order of weight. misses as in
 * sector_misses(); unknown[split * regions + region], or NULL.
 */
static void evaluate(struct sector_model *model, uint32_t replicate, size_t cells,
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
    estimate_pieces(model, replicate);
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

void sector_misses(struct sector_model *model, const struct sector_split *splits, size_t n,
                   double *values)
{
    size_t cells = model->analysis->cell_count;

    if (model->analysis->exact)
        exact_sectors_misses(model, splits, n, values);
    else
        evaluate(model, 0, cells < SEARCH_CELLS_MAX ? cells : SEARCH_CELLS_MAX, splits, n, values,
                 NULL);
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

static void compare_exact(struct sector_model *model, const struct sector_split *splits, size_t n,
                          struct sector_outcome *outcomes)
{
    size_t regions = model->question.regions;
    double *values = allocate(n * regions * SECTOR_SIDES + 1, sizeof *values);

    exact_sectors_misses(model, splits, n, values);
    add_sides(values, n * regions);
    for (size_t i = 0; i < n * regions; i++)
        outcomes[i] = (struct sector_outcome){
            .misses = certain(values[i]),
            .reduction = certain(reduction(values[i], values[i % regions]))};
    free(values);
}

/* Bursts with probes in a region. */
static size_t bursts_in(const struct sector_model *model, size_t region)
{
    uint32_t last = NO_BURST;
    size_t n = 0;

    for (size_t i = 0; i < model->analysis->probe_count; i++) {
        if (!(model->question.regions_of[i] >> region & 1) || model->analysis->probes[i].count == 0)
            continue;
        n += model->analysis->probes[i].burst != last;
        last = model->analysis->probes[i].burst;
    }
    return n;
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
        size_t bursts = bursts_in(model, region);
        /* What none of them shows may still be a 3/n part (95 %). */
        double floor = bursts ? fmin(1, 3.0 / (double)bursts) : 1;
        for (size_t i = region; i < stride; i += regions) {
            for (uint32_t r = 0; r < replicates; r++)
                of_replicate[r] = values[r * stride + i];
            outcomes[i].misses = replicate_interval(model->analysis, of_replicate,
                                                    values[i] > 0 ? 0 : floor, bursts);
            for (uint32_t r = 0; r < replicates; r++)
                of_replicate[r] =
                    bounded_reduction(values[r * stride + i], values[r * stride + region]);
            outcomes[i].reduction = replicate_spread(model->analysis, of_replicate, bursts);
            outcomes[i].reduction.value = reduction(values[i], values[region]);
            outcomes[i].reduction.lo = fmin(outcomes[i].reduction.lo, outcomes[i].reduction.value);
            outcomes[i].unknown = unknown[i];
            add_unknown(&outcomes[i], unknown[region], values[region]);
            if (i == region || values[region] <= 0)
                continue;
            struct estimate *gain = &outcomes[i].reduction;
            gain->hi = fmin(gain->hi, 1);
        }
    }
}

void sector_compare(struct sector_model *model, const struct sector_split *splits, size_t n,
                    struct sector_outcome *outcomes)
{
    size_t stride = n * model->question.regions;
    uint32_t replicates;
    double *values, *unknown, *of_replicate;

    if (model->analysis->exact) {
        compare_exact(model, splits, n, outcomes);
        return;
    }
    replicates = replicate_count(model->analysis);
    /* The last replicate needs room for both sides before they are added up. */
    values = allocate((replicates + 1) * (stride + 1), sizeof *values);
    unknown = allocate(stride + 1, sizeof *unknown);
    of_replicate = allocate(replicates, sizeof *of_replicate);
    for (uint32_t r = 0; r < replicates; r++) {
        evaluate(model, r, model->analysis->cell_count, splits, n, values + r * stride,
                 r == 0 ? unknown : NULL);
        add_sides(values + r * stride, stride);
    }
    judge(model, values, unknown, n, of_replicate, outcomes);
    free(values);
    free(unknown);
    free(of_replicate);
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
    uint32_t *groups = allocate(analysis->probe_count + 1, sizeof *groups);
    for (size_t i = 0; i < analysis->probe_count; i++)
        groups[i] = model->question.regions_of[i] >> region & 1;
    struct estimate out =
        analysis_subset_accesses(analysis, (struct subset){.groups = groups, .group = 1});
    free(groups);
    return out;
}

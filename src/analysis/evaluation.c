/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A subset's survival is estimated from its own samples, cell by cell where it has enough there,
 * and looked up at the eviction times of the whole cell: it shares the cache with everything else
 * that its thread does.
 */
#include "analysis/evaluation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reuse/sort_keys.h"

enum {
    OWN_VIEW_MIN = 64, /* samples of the subset that a cell needs to be estimated apart */
};

/* The subset as views: rich cells one each, the samples of all other cells together in one. */
struct views {
    struct view *items;
    size_t count;
    size_t samples;
};

static void views_free(struct views *views)
{
    for (size_t i = 0; i < views->count; i++)
        view_free(&views->items[i]);
    free(views->items);
}

static int add_view(const struct analysis *analysis, struct views *views, const uint32_t *samples,
                    size_t n)
{
    if (n == 0)
        return 0;
    int result = view_create(analysis, samples, n, &views->items[views->count]);
    views->count += result == 0;
    return result;
}

/* The subset's samples, cell by cell and ascending in each. The caller frees *out. 0 or -1. */
static int list_members(const struct analysis *analysis, struct subset subset, uint32_t **out,
                        size_t *count)
{
    size_t n = subset.members ? subset.member_count : analysis->count;
    struct sort_key *keys = subset.members ? malloc((2 * n + 1) * sizeof *keys) : NULL;
    uint32_t *own = malloc((n + 1) * sizeof *own);

    *out = own;
    *count = 0;
    if (!own || (subset.members && !keys)) {
        free(keys);
        return -1;
    }
    if (subset.members) {
        for (size_t i = 0; i < n; i++)
            keys[i] =
                (struct sort_key){analysis->samples[subset.members[i]].cell, subset.members[i]};
        const struct sort_key *sorted = sort_keys(keys, keys + n, n);
        for (size_t i = 0; i < n; i++)
            own[(*count)++] = sorted[i].index;
    } else {
        for (size_t i = 0; i < n; i++)
            if (in_subset(subset, analysis->by_cell[i]))
                own[(*count)++] = analysis->by_cell[i];
    }
    free(keys);
    return 0;
}

static int views_create(const struct analysis *analysis, struct subset subset, struct views *out)
{
    uint32_t *own, *few = NULL;
    size_t n, few_count = 0;
    int result = list_members(analysis, subset, &own, &n);

    *out = (struct views){.samples = n};
    if (result == 0) {
        few = malloc((n + 1) * sizeof *few);
        out->items = calloc(n / OWN_VIEW_MIN + 1, sizeof *out->items);
        result = few && out->items ? 0 : -1;
    }
    for (size_t i = 0, end; i < n && result == 0; i = end) {
        uint32_t cell = analysis->samples[own[i]].cell;

        for (end = i; end < n && analysis->samples[own[end]].cell == cell; end++)
            ;
        if (end - i >= OWN_VIEW_MIN)
            result = add_view(analysis, out, own + i, end - i);
        else
            for (size_t k = i; k < end; k++)
                few[few_count++] = own[k];
    }
    if (result == 0)
        result = add_view(analysis, out, few, few_count);
    free(few);
    free(own);
    if (result)
        views_free(out);
    return result;
}

static uint32_t replicates_at(const struct analysis *analysis, struct places places)
{
    return places.value_only ? 1 : replicate_count(analysis);
}

/* Adds what the view's samples do at the places in one replicate; returns their weight. */
static double look_up(const struct analysis *analysis, const struct view *view,
                      const struct survival_curve *curve, uint32_t replicate, struct places places,
                      struct window_tally *tally, struct results *out)
{
    uint32_t replicates = replicates_at(analysis, places);
    double total = 0;

    /* A view's samples are ordered by cell. */
    for (size_t i = 0, end; i < view->count; i = end) {
        uint32_t number = analysis->samples[view->sample[i]].cell;
        const struct cell *cell = &analysis->cells[number];
        bool seen = places.sizes && !places.averages && cell->lines_counted;
        double weight = 0;
        for (end = i; end < view->count &&
                      (view->one_cell || analysis->samples[view->sample[end]].cell == number);
             end++)
            weight += view->weight[end];
        if (weight <= 0)
            continue;
        if (seen)
            window_tally_add_up(view->weight, i, end, tally);
        for (size_t k = 0; k < places.n; k++) {
            /* Times are told in accesses to lines; the curve steps at whole accesses. */
            double time = places.times ? ceil(places.times[k] / cell->lines_per_access) : 0;
            const double *times =
                places.times ? &time
                             : eviction_times_of(analysis, places.sizes[k], replicate, number);
            miss_shares_add(&out->shares[k * replicates + replicate],
                            window_misses(cell, curve, times, seen ? tally : NULL, k, weight),
                            weight);
        }
        miss_shares_add(&out->cold[replicate], misses_in_run(curve, INFINITY, cell->run), weight);
        total += weight;
    }
    return total;
}

static int evaluate_view(const struct analysis *analysis, struct view *view, struct places places,
                         struct results *out, double *weights)
{
    struct survival_curve curve = {0};
    struct window_tally tally = {0};
    double *lines = malloc((places.n + 1) * sizeof *lines);
    bool by_windows = places.sizes && !places.averages;
    int result = lines ? 0 : -1;

    for (size_t k = 0; k < places.n && by_windows && lines; k++)
        lines[k] = evictions_lines(analysis, places.sizes[k]);
    if (by_windows && lines)
        result = window_tally_create(analysis, view->sample, view->count, lines, places.n, &tally);
    for (uint32_t r = 0; r < replicates_at(analysis, places) && result == 0; r++) {
        result = view_estimate(analysis, view, r, &curve);
        if (result == 0 && curve.count)
            weights[r] += look_up(analysis, view, &curve, r, places, &tally, out);
    }
    window_tally_free(&tally);
    survival_free(&curve);
    free(lines);
    return result;
}

void results_free(struct results *results)
{
    free(results->shares);
    free(results->cold);
    *results = (struct results){0};
}

int evaluate(const struct analysis *analysis, struct subset subset, struct places places,
             struct results *out)
{
    uint32_t replicates = replicates_at(analysis, places);
    double *weights = calloc(replicates, sizeof *weights);
    struct views views = {0};
    int result = -1;

    *out = (struct results){0};
    out->shares = calloc(replicates * places.n + 1, sizeof *out->shares);
    out->cold = calloc(replicates, sizeof *out->cold);
    if (weights && out->shares && out->cold)
        result = views_create(analysis, subset, &views);
    if (result == 0) {
        for (size_t i = 0; i < views.count && result == 0; i++)
            result = evaluate_view(analysis, &views.items[i], places, out, weights);
        out->samples = views.samples;
        views_free(&views);
    }
    for (uint32_t r = 0; r < replicates && result == 0; r++) {
        for (size_t k = 0; k < places.n; k++)
            miss_shares_divide(&out->shares[k * replicates + r], weights[r]);
        miss_shares_divide(&out->cold[r], weights[r]);
    }
    free(weights);
    if (result)
        results_free(out);
    return result;
}

/* The whole needs no second pass. */
int evaluate_sizes(const struct analysis *analysis, struct subset subset, const double *bytes,
                   size_t n, struct results *out)
{
    uint32_t replicates = replicate_count(analysis);
    size_t *index = malloc((n + 1) * sizeof *index);
    int result = -1;

    if (!index || evictions_prepare(analysis, bytes, n, index)) {
        free(index);
        return -1;
    }
    if (subset.groups) {
        result = evaluate(analysis, subset, (struct places){.sizes = index, .n = n}, out);
    } else {
        *out = (struct results){.samples = analysis->count};
        out->shares = malloc((replicates * n + 1) * sizeof *out->shares);
        out->cold = malloc(replicates * sizeof *out->cold);
        if (out->shares && out->cold) {
            for (uint32_t r = 0; r < replicates; r++) {
                for (size_t k = 0; k < n; k++)
                    out->shares[k * replicates + r] = *evictions_whole(analysis, index[k], r);
                out->cold[r] = *evictions_whole_cold(analysis, r);
            }
            result = 0;
        } else {
            results_free(out);
        }
    }
    free(index);
    return result;
}

double least_claim(size_t samples)
{
    return samples ? fmin(1, 3.0 / (double)samples) : 1;
}

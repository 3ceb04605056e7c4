/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Eviction times of every cell's caches, in every replicate. All questions about subsets need them,
 * so they are computed for a size once and kept. The whole program's outcome falls out on the way.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/internal.h"

struct cached_size {
    double bytes;
    double *times;             /* [replicate][cell][EVICTION_TIMES] */
    struct miss_shares *whole; /* [replicate] */
};

struct eviction_cache {
    struct cached_size *sizes; /* in the order in which they were asked for */
    size_t count;
    struct miss_shares *cold; /* [replicate], in a cache that holds everything */
};

struct eviction_cache *evictions_create(void)
{
    return calloc(1, sizeof(struct eviction_cache));
}

void evictions_free(struct eviction_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < cache->count; i++) {
        free(cache->sizes[i].times);
        free(cache->sizes[i].whole);
    }
    free(cache->sizes);
    free(cache->cold);
    free(cache);
}

static size_t find_size(const struct eviction_cache *cache, double bytes)
{
    size_t i = 0;

    while (i < cache->count && cache->sizes[i].bytes != bytes)
        i++;
    return i;
}

static double *times_of(const struct analysis *analysis, const struct cached_size *size,
                        uint32_t replicate, uint32_t cell)
{
    return &size->times[(replicate * analysis->cell_count + cell) * EVICTION_TIMES];
}

/* Eviction times of the cell's window classes; areas, times: scratch of n each. */
static void evict_classes(const struct analysis *analysis, uint32_t cell, uint32_t replicate,
                          const struct survival_curve *curve, struct cached_size *sizes, size_t n,
                          double *areas, double *times)
{
    bool persistent = replicate_persistent(analysis, replicate);

    for (unsigned k = 0; k < WINDOW_CLASSES; k++) {
        const struct window_class *class = &analysis->cells[cell].classes[k];

        for (size_t i = 0; i < n; i++)
            areas[i] = window_class_area(class, curve, sizes[i].bytes / analysis->line_size,
                                         analysis->cells[cell].lines_per_access, persistent);
        eviction_times(curve, areas, n, times);
        for (size_t i = 0; i < n; i++)
            times_of(analysis, &sizes[i], replicate, cell)[1 + k] = areas[i] > 0 ? times[i] : 0;
    }
}

/* One cell, all replicates: fills times, adds the cell's part to the whole. */
static int evict_cell(const struct analysis *analysis, uint32_t cell, struct cached_size *sizes,
                      size_t n, double *weights, struct miss_shares *cold)
{
    const struct cell *range = &analysis->cells[cell];
    struct view view;
    struct survival_curve curve = {0};
    double *lines = malloc(3 * n * sizeof *lines), *times = lines + n, *areas = times + n;
    struct window_tally tally = {0};
    int result =
        lines ? view_create(analysis, analysis->by_cell + range->first, range->count, &view) : -1;

    if (result) {
        free(lines);
        return -1;
    }
    for (size_t i = 0; i < n; i++)
        lines[i] = sizes[i].bytes / analysis->line_size;
    if (range->lines_counted)
        result = window_tally_create(analysis, view.sample, view.count, lines, n, &tally);
    for (uint32_t r = 0; r < replicate_count(analysis) && result == 0; r++) {
        result = view_estimate(analysis, &view, r, &curve);
        if (result)
            break;
        double weight = 0;
        for (size_t i = 0; i < view.count; i++)
            weight += view.weight[i];
        for (size_t i = 0; i < n; i++)
            areas[i] = lines[i] / range->lines_per_access;
        if (curve.count)
            eviction_times(&curve, areas, n, times);
        for (size_t i = 0; i < n; i++)
            times_of(analysis, &sizes[i], r, cell)[0] = curve.count ? times[i] : INFINITY;
        if (curve.count && range->lines_counted) {
            evict_classes(analysis, cell, r, &curve, sizes, n, areas, times);
            window_tally_add_up(view.weight, 0, view.count, &tally);
        }
        for (size_t i = 0; i < n && curve.count; i++)
            miss_shares_add(&sizes[i].whole[r],
                            window_misses(range, &curve, times_of(analysis, &sizes[i], r, cell),
                                          range->lines_counted ? &tally : NULL, i, weight),
                            weight);
        if (curve.count && cold)
            miss_shares_add(&cold[r], misses_in_run(&curve, INFINITY, range->run), weight);
        weights[r] += weight;
    }
    window_tally_free(&tally);
    view_free(&view);
    survival_free(&curve);
    free(lines);
    return result;
}

static int compare_sizes(const void *a, const void *b)
{
    const struct cached_size *x = a, *y = b;

    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

/* Computes n new sizes, which start at cache->sizes[cache->count]. */
static int compute(const struct analysis *analysis, struct eviction_cache *cache, size_t n)
{
    uint32_t replicates = replicate_count(analysis);
    struct cached_size *sizes = cache->sizes + cache->count;
    double *weights = calloc(replicates, sizeof *weights);
    struct miss_shares *cold = cache->cold ? NULL : calloc(replicates, sizeof *cold);
    int result = weights && (cold || cache->cold) ? 0 : -1;

    qsort(sizes, n, sizeof *sizes, compare_sizes);
    for (size_t i = 0; i < n; i++) {
        sizes[i].times = malloc((replicates * analysis->cell_count + 1) * EVICTION_TIMES *
                                sizeof *sizes[i].times);
        sizes[i].whole = calloc(replicates, sizeof *sizes[i].whole);
        if (!sizes[i].times || !sizes[i].whole)
            result = -1;
    }
    for (uint32_t c = 0; c < analysis->cell_count && result == 0; c++)
        result = evict_cell(analysis, c, sizes, n, weights, cold);
    for (uint32_t r = 0; r < replicates && result == 0; r++) {
        for (size_t i = 0; i < n; i++)
            miss_shares_divide(&sizes[i].whole[r], weights[r]);
        if (cold)
            miss_shares_divide(&cold[r], weights[r]);
    }
    free(weights);
    if (result) {
        for (size_t i = 0; i < n; i++) {
            free(sizes[i].times);
            free(sizes[i].whole);
        }
        free(cold);
        return -1;
    }
    if (cold)
        cache->cold = cold;
    cache->count += n;
    return 0;
}

/* Appends a size that is not known yet behind the n that are missing; returns how many then are. */
static size_t want_size(struct eviction_cache *cache, size_t missing, double bytes)
{
    for (size_t i = 0; i < cache->count + missing; i++) {
        if (cache->sizes[i].bytes == bytes)
            return missing;
    }
    cache->sizes[cache->count + missing] = (struct cached_size){.bytes = bytes};
    return missing + 1;
}

/*
 * Sizes that reports ask for anyway: one pass over the samples serves them all. Those of the curve,
 * of the run's caches and the A64FX's, and powers of two in lines (histograms of stack distances).
 */
enum { STANDARD_MAX = 256, OCTAVES = 47 };

static size_t want_standard_sizes(const struct analysis *analysis, struct eviction_cache *cache)
{
    double curve[ANALYSIS_CURVE_SIZES];
    size_t missing = want_size(cache, 0, EVICTIONS_NO_CACHE);

    analysis_curve_sizes(curve);
    for (int i = 0; i < ANALYSIS_CURVE_SIZES; i++)
        missing = want_size(cache, missing, curve[i]);
    for (int i = 0; i < OCTAVES; i++)
        missing = want_size(cache, missing, ldexp(analysis->line_size, i));
    for (size_t p = 0; p < analysis->profile_count; p++) {
        for (size_t i = 0; i < analysis->profiles[p]->caches.count && missing < STANDARD_MAX; i++)
            missing =
                want_size(cache, missing, (double)analysis->profiles[p]->caches.items[i].bytes);
    }
    return missing;
}

int evictions_prepare(const struct analysis *analysis, const double *bytes, size_t n, size_t *index)
{
    struct eviction_cache *cache = analysis->evictions;
    struct cached_size *sizes =
        realloc(cache->sizes, (cache->count + n + STANDARD_MAX) * sizeof *cache->sizes);

    if (!sizes)
        return -1;
    cache->sizes = sizes;
    size_t missing = cache->count ? 0 : want_standard_sizes(analysis, cache);
    for (size_t i = 0; i < n; i++)
        missing = want_size(cache, missing, bytes[i]);
    if (missing && compute(analysis, cache, missing))
        return -1;
    for (size_t i = 0; i < n; i++)
        index[i] = find_size(cache, bytes[i]);
    return 0;
}

const double *eviction_times_of(const struct analysis *analysis, size_t size, uint32_t replicate,
                                uint32_t cell)
{
    return times_of(analysis, &analysis->evictions->sizes[size], replicate, cell);
}

double evictions_lines(const struct analysis *analysis, size_t size)
{
    return analysis->evictions->sizes[size].bytes / analysis->line_size;
}

const struct miss_shares *evictions_whole(const struct analysis *analysis, size_t size,
                                          uint32_t replicate)
{
    return &analysis->evictions->sizes[size].whole[replicate];
}

const struct miss_shares *evictions_whole_cold(const struct analysis *analysis, uint32_t replicate)
{
    return &analysis->evictions->cold[replicate];
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Miss ratios, their parts, and histograms of subsets of samples.
 *
 * A subset's survival is estimated from its own samples, cell by cell where it has enough there,
 * and looked up at the eviction times of the whole cell: it shares the cache with everything else
 * that its thread does.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/internal.h"

enum {
    OWN_VIEW_MIN = 64, /* samples of the subset that a cell needs to be estimated apart */
};
/* More than this share of accesses unobserved at a size: the size is beyond what is known. */
#define UNKNOWN_MAX 0.01

static bool in_subset(struct subset subset, size_t index)
{
    return !subset.groups || subset.groups[index] == subset.group;
}

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

static int views_create(const struct analysis *analysis, struct subset subset, struct views *out)
{
    uint32_t *few = malloc((analysis->count + 1) * sizeof *few);
    uint32_t *own = malloc((analysis->count + 1) * sizeof *own);
    size_t few_count = 0;
    int result = -1;

    *out = (struct views){0};
    out->items = calloc(analysis->cell_count + 1, sizeof *out->items);
    if (few && own && out->items) {
        result = 0;
        for (size_t c = 0; c < analysis->cell_count && result == 0; c++) {
            const struct cell *cell = &analysis->cells[c];
            size_t n = 0;
            for (size_t i = cell->first; i < cell->first + cell->count; i++) {
                if (in_subset(subset, analysis->by_cell[i]))
                    own[n++] = analysis->by_cell[i];
            }
            out->samples += n;
            if (n >= OWN_VIEW_MIN) {
                result = add_view(analysis, out, own, n);
            } else {
                for (size_t i = 0; i < n; i++)
                    few[few_count++] = own[i];
            }
        }
        if (result == 0)
            result = add_view(analysis, out, few, few_count);
    }
    free(few);
    free(own);
    if (result)
        views_free(out);
    return result;
}

/*
 * Everything about a subset at given places of the reuse-time axis. A place is a cache size (then
 * the time depends on replicate and cell) or a time.
 */
struct places {
    const size_t *sizes; /* indexes of evictions.c, or NULL */
    const double *times; /* else these */
    size_t n;
    bool value_only; /* the estimate without its replicates */
    bool averages;   /* by average eviction times alone, whatever windows counted */
};

static uint32_t replicates_at(const struct analysis *analysis, struct places places)
{
    return places.value_only ? 1 : replicate_count(analysis);
}

/* shares[place * replicates + replicate]; cold[replicate]: in a cache that holds everything. */
struct results {
    struct miss_shares *shares;
    struct miss_shares *cold;
    size_t samples;
};

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
        for (end = i; end < view->count && analysis->samples[view->sample[end]].cell == number;
             end++)
            weight += view->weight[end];
        if (weight <= 0)
            continue;
        if (seen)
            window_tally_add_up(analysis, view->sample, view->weight, i, end, tally);
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

static void results_free(struct results *results)
{
    free(results->shares);
    free(results->cold);
    *results = (struct results){0};
}

static int evaluate(const struct analysis *analysis, struct subset subset, struct places places,
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

/* At cache sizes; the whole needs no second pass. */
static int evaluate_sizes(const struct analysis *analysis, struct subset subset,
                          const double *bytes, size_t n, struct results *out)
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

/* Rule of three: what none of n samples shows may still be a 3/n part (95 %). */
static double least_claim(size_t samples)
{
    return samples ? fmin(1, 3.0 / (double)samples) : 1;
}

static struct estimate interval_of(const struct analysis *analysis,
                                   const struct miss_shares *shares, size_t samples,
                                   double (*part)(const struct miss_shares *))
{
    uint32_t replicates = replicate_count(analysis);
    double *values = malloc(replicates * sizeof *values);

    if (!values)
        return (struct estimate){part(shares), 0, 1};
    for (uint32_t r = 0; r < replicates; r++)
        values[r] = part(&shares[r]);
    struct estimate out = replicate_interval(analysis, values, least_claim(samples));
    free(values);
    return out;
}

static double all_misses(const struct miss_shares *shares)
{
    return fmin(1, shares->missed + shares->invalidated);
}

static double coherence_misses(const struct miss_shares *shares)
{
    return shares->invalidated;
}

static double crossing_uses(const struct miss_shares *shares)
{
    return shares->crossing;
}

static struct estimate less_unknown(struct estimate estimate, double unknown)
{
    estimate.lo = fmax(0, estimate.lo - fmax(0, unknown));
    return estimate;
}

static const struct estimate nothing_known = {1, 0, 1};

void analysis_miss_ratio_curve(const struct analysis *analysis, struct subset subset,
                               const double *bytes, size_t n, struct curve_point *points)
{
    uint32_t replicates = replicate_count(analysis);
    struct results results;

    if (analysis->exact) {
        exact_miss_ratio_curve(analysis, subset, bytes, n, points);
        return;
    }
    if (evaluate_sizes(analysis, subset, bytes, n, &results)) {
        for (size_t k = 0; k < n; k++)
            points[k] = (struct curve_point){bytes[k], nothing_known, true};
        return;
    }
    for (size_t k = 0; k < n; k++) {
        const struct miss_shares *shares = &results.shares[k * replicates];
        points[k].bytes = bytes[k];
        points[k].miss_ratio = less_unknown(
            interval_of(analysis, shares, results.samples, all_misses), shares[0].unknown);
        points[k].beyond = shares[0].unknown > UNKNOWN_MAX;
        /* Rounding and rates that differ between cells must not make a larger cache look worse. */
        if (k && points[k].miss_ratio.value > points[k - 1].miss_ratio.value) {
            points[k].miss_ratio.value = points[k - 1].miss_ratio.value;
            points[k].miss_ratio.lo = fmin(points[k].miss_ratio.lo, points[k].miss_ratio.value);
        }
    }
    results_free(&results);
}

struct miss_split analysis_misses(const struct analysis *analysis, struct subset subset,
                                  double bytes)
{
    struct results results;

    if (analysis->exact)
        return exact_misses(analysis, subset, bytes);
    if (evaluate_sizes(analysis, subset, &bytes, 1, &results))
        return (struct miss_split){nothing_known, nothing_known, nothing_known, nothing_known,
                                   true};

    uint32_t replicates = replicate_count(analysis);
    struct miss_shares *shares = results.shares, *cold = results.cold;
    double accesses = analysis_subset_accesses(analysis, subset).value;
    double footprint =
        accesses > 0 ? fmin(1, analysis_footprint(analysis) / analysis->line_size / accesses) : 1;
    double unknown = shares[0].unknown;
    struct miss_split out = {.beyond = unknown > UNKNOWN_MAX};

    out.coherence = interval_of(analysis, shares, results.samples, coherence_misses);
    if (analysis->options.groups)
        out.crossing = interval_of(analysis, shares, results.samples, crossing_uses);
    for (uint32_t r = 0; r < replicates; r++) {
        cold[r].missed = fmin(fmin(cold[r].missed, footprint), shares[r].missed);
        cold[r].invalidated = shares[r].invalidated = 0;
        shares[r].missed -= cold[r].missed;
    }
    out.cold =
        less_unknown(interval_of(analysis, cold, results.samples, all_misses), cold[0].unknown);
    out.capacity =
        less_unknown(interval_of(analysis, shares, results.samples, all_misses), unknown);
    results_free(&results);
    return out;
}

/* Bins between ascending bounds, the last one open. results: at place k what was not reused before
 * bounds[k]. */
static size_t octaves(const struct analysis *analysis, const struct results *results,
                      const double *bounds, size_t n, struct histogram_share **out)
{
    uint32_t replicates = replicate_count(analysis);
    struct histogram_share *bins = calloc(n, sizeof *bins);
    double *values = malloc(replicates * sizeof *values);

    *out = NULL;
    if (!bins || !values) {
        free(bins);
        free(values);
        return 0;
    }
    for (size_t k = 0; k < n; k++) {
        for (uint32_t r = 0; r < replicates; r++) {
            double left = results->shares[k * replicates + r].missed;
            double next = k + 1 < n ? results->shares[(k + 1) * replicates + r].missed : 0;
            values[r] = left > next ? left - next : 0;
        }
        bins[k].lo = bounds[k];
        bins[k].hi = k + 1 < n ? bounds[k + 1] : INFINITY;
        bins[k].share = replicate_interval(analysis, values, least_claim(results->samples));
    }
    /* Drop the empty octaves between the last one in use and the open bin. */
    size_t last = n - 1;
    while (last > 0 && bins[last - 1].share.value <= 0)
        last--;
    bins[last] = bins[n - 1];
    bins[last].lo = bounds[last];
    free(values);
    *out = bins;
    return last + 1;
}

enum { OCTAVES = 48 };

size_t analysis_reuse_time_histogram(const struct analysis *analysis, struct subset subset,
                                     struct histogram_share **out)
{
    double bounds[OCTAVES], before[OCTAVES];
    struct results results;

    if (analysis->exact)
        return exact_histogram_shares(analysis, subset, MEASURE_REUSE_TIME, out);
    for (int k = 0; k < OCTAVES; k++) {
        bounds[k] = ldexp(1, k);
        before[k] = bounds[k] - 1; /* not reused before the bound: reuse times are whole */
    }
    *out = NULL;
    if (evaluate(analysis, subset, (struct places){.times = before, .n = OCTAVES}, &results))
        return 0;
    size_t n = octaves(analysis, &results, bounds, OCTAVES, out);
    results_free(&results);
    return n;
}

size_t analysis_stack_distance_histogram(const struct analysis *analysis, struct subset subset,
                                         struct histogram_share **out)
{
    double bounds[OCTAVES], bytes[OCTAVES];
    struct results results;

    if (analysis->exact)
        return exact_histogram_shares(analysis, subset, MEASURE_STACK_DISTANCE, out);
    /* A distance of d or more misses in a cache of d lines; all distances are 0 or more. */
    bounds[0] = 0;
    bytes[0] = EVICTIONS_NO_CACHE;
    for (int k = 1; k < OCTAVES; k++) {
        bounds[k] = ldexp(1, k - 1);
        bytes[k] = bounds[k] * analysis->line_size;
    }
    *out = NULL;
    if (evaluate_sizes(analysis, subset, bytes, OCTAVES, &results))
        return 0;
    size_t n = octaves(analysis, &results, bounds, OCTAVES, out);
    results_free(&results);
    return n;
}

struct estimate analysis_subset_accesses(const struct analysis *analysis, struct subset subset)
{
    double squares = 0, sum = 0;
    double *of_loop;

    if (analysis->exact)
        return exact_accesses(analysis, subset);
    of_loop = calloc(analysis->rates.count + 1, sizeof *of_loop);
    for (size_t i = 0; i < analysis->count; i++) {
        if (!in_subset(subset, i))
            continue;
        double weight = analysis->samples[i].weight;
        sum += weight;
        squares += weight * weight;
        if (of_loop)
            of_loop[analysis->samples[i].loop] += weight;
    }
    /* Samples come at regular times: their number is certain, only what they hit is drawn. */
    double variance = analysis->count ? squares - sum * sum / (double)analysis->count : 0;
    double common = 0;
    for (size_t k = 0; of_loop && k < analysis->rates.count; k++) {
        variance += pow(of_loop[k] * analysis->rates.loops[k].log_deviation, 2);
        common += of_loop[k] * analysis->rates.loops[k].common_deviation;
    }
    variance += common * common;
    free(of_loop);
    /* Rates are uncertain by factors, so the interval is one, too. */
    double factor = sum > 0 && variance > 0 ? exp(1.96 * sqrt(variance) / sum) : 1;
    return (struct estimate){sum, sum / factor, sum * factor};
}

uint32_t analysis_granule(const struct analysis *analysis)
{
    if (analysis->exact)
        return exact_granule(analysis);
    return LINE_SIZE_MIN < analysis->line_size ? LINE_SIZE_MIN : analysis->line_size;
}

static double part_used(const struct miss_shares *blocks, const struct miss_shares *lines,
                        double part)
{
    return lines->missed > 0 ? fmin(1, blocks->missed * part / lines->missed) : NAN;
}

int analysis_line_use(const struct analysis *analysis, struct subset subset, const double *bytes,
                      size_t n, uint32_t granule, double *used)
{
    struct analysis blocks = *analysis; /* asked about smaller ones */
    struct results of_blocks = {0}, of_lines = {0};
    size_t *index;
    int result = -1;

    if (analysis->exact)
        return exact_line_use(analysis, bytes, n, granule, used);
    index = malloc((n + 1) * sizeof *index);
    if (index)
        result = evictions_prepare(analysis, bytes, n, index);
    /* Windows counted whole lines: one eviction time for these and for the blocks in them. */
    struct places places = {.sizes = index, .n = n, .value_only = true, .averages = true};
    blocks.line_size = granule;
    if (result == 0)
        result = evaluate(analysis, subset, places, &of_lines);
    if (result == 0)
        result = evaluate(&blocks, subset, places, &of_blocks);
    for (size_t k = 0; k < n && result == 0; k++)
        used[k] = part_used(&of_blocks.shares[k], &of_lines.shares[k],
                            (double)granule / analysis->line_size);
    results_free(&of_blocks);
    results_free(&of_lines);
    free(index);
    return result;
}

int analysis_miss_ratios(const struct analysis *analysis, struct subset subset, const double *bytes,
                         size_t n, double *ratios)
{
    struct results results;
    size_t *index = malloc((n + 1) * sizeof *index);
    int result = -1;

    if (index && evictions_prepare(analysis, bytes, n, index) == 0)
        result = evaluate(analysis, subset,
                          (struct places){.sizes = index, .n = n, .value_only = true}, &results);
    for (size_t k = 0; k < n && result == 0; k++) {
        double ratio = all_misses(&results.shares[k]);
        ratios[k] = k ? fmin(ratio, ratios[k - 1]) : ratio;
    }
    if (result == 0)
        results_free(&results);
    free(index);
    return result;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Miss ratios of subsets of probes, their parts, and how much of its lines a cache uses. */
#include <math.h>
#include <stdlib.h>

#include "analysis/sectors/evaluation.h"
#include "analysis/sectors/evaluation_groups.h"
#include "support/memory.h"

/* More than this share of accesses unobserved at a size: the size is beyond what is known. */
#define UNKNOWN_MAX 0.01

static struct estimate interval_of(const struct analysis *analysis,
                                   const struct miss_shares *shares, double floor, size_t bursts,
                                   double (*part)(const struct miss_shares *))
{
    uint32_t replicates = replicate_count(analysis);
    double *values = allocate(replicates, sizeof *values);

    for (uint32_t r = 0; r < replicates; r++)
        values[r] = part(&shares[r]);
    struct estimate out = replicate_interval(analysis, values, floor, bursts);
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

/* What other threads' stores may have taken away unseen comes on top. */
static struct estimate with_coherence(struct estimate estimate, const struct miss_shares *shares,
                                      double least)
{
    estimate.hi = fmin(1, fmax(estimate.hi, estimate.value + least - shares->invalidated));
    return estimate;
}

/* What nobody observed may all be hits, or all be misses. */
static struct estimate with_unseen(struct estimate estimate, const struct miss_shares *shares)
{
    estimate.lo = fmax(0, estimate.lo - fmax(0, shares->unknown));
    estimate.hi = fmin(1, estimate.hi + fmax(0, shares->spared));
    return estimate;
}

static bool is_beyond(const struct miss_shares *shares)
{
    return shares->unknown + shares->spared > UNKNOWN_MAX;
}

/* That other threads came to a line, watches for them tell, not the bursts: what none of n of these
 * saw may still be a 3/n part. */
static double least_crossing(const struct analysis *analysis)
{
    return analysis->crossing_count ? fmin(1, 3.0 / (double)analysis->crossing_count) : 0;
}

/* What misses in a cache misses in each smaller one as well: what is excluded of one is excluded of
 * all larger ones, and what is certain of one, of all smaller ones. Rounding, and rates that differ
 * between cells, must not make a larger cache look worse. */
static void make_monotone(struct curve_point *points, size_t n)
{
    for (size_t k = 1; k < n; k++) {
        const struct estimate *smaller = &points[k - 1].miss_ratio;
        struct estimate *larger = &points[k].miss_ratio;

        larger->value = fmin(larger->value, smaller->value);
        larger->lo = fmin(larger->lo, larger->value);
        larger->hi = fmin(larger->hi, smaller->hi);
    }
    for (size_t k = n; k-- > 1;)
        points[k - 1].miss_ratio.lo = fmax(points[k - 1].miss_ratio.lo, points[k].miss_ratio.lo);
}

void analysis_miss_ratio_curve(const struct analysis *analysis, struct subset subset,
                               const double *bytes, size_t n, struct curve_point *points)
{
    uint32_t replicates = replicate_count(analysis);
    struct results results;

    if (analysis->exact) {
        exact_miss_ratio_curve(analysis, subset, bytes, n, points);
        return;
    }
    evaluate_sizes(analysis, subset, bytes, n, &results);
    for (size_t k = 0; k < n; k++) {
        const struct miss_shares *shares = &results.shares[k * replicates];
        points[k].bytes = bytes[k];
        points[k].miss_ratio = with_coherence(
            with_unseen(interval_of(analysis, shares, least_claim(analysis, &results, k),
                                    results.bursts, all_misses),
                        shares),
            shares, least_coherence(analysis, &results, k));
        points[k].beyond = is_beyond(shares);
    }
    make_monotone(points, n);
    results_free(&results);
}

/* Nobody else stores to its lines. What processes share is told apart (communication). */
static bool is_of_single_threads(const struct analysis *analysis)
{
    for (size_t p = 0; p < analysis->profile_count; p++)
        if (analysis->profiles[p]->threads.count != 1)
            return false;
    return true;
}

/* At one place of the results, which are used up. cold: scratch, by replicate. footprint: at most
 * this share of the accesses are first uses. */
static struct miss_split split_misses(const struct analysis *analysis, struct results *results,
                                      size_t place, double footprint, struct miss_shares *cold)
{
    uint32_t replicates = replicate_count(analysis);
    struct miss_shares *shares = results->shares + place * replicates;
    double floor = least_claim(analysis, results, place);
    struct miss_split out = {.beyond = is_beyond(shares)};

    if (!is_of_single_threads(analysis))
        out.coherence =
            interval_of(analysis, shares, fmax(floor, least_coherence(analysis, results, place)),
                        results->bursts, coherence_misses);
    if (analysis->options.groups)
        out.crossing = interval_of(analysis, shares, fmax(floor, least_crossing(analysis)),
                                   results->bursts, crossing_uses);
    for (uint32_t r = 0; r < replicates; r++) {
        cold[r] = results->cold[r];
        cold[r].missed = fmin(fmin(cold[r].missed, footprint), shares[r].missed);
        cold[r].invalidated = shares[r].invalidated = 0;
        shares[r].missed -= cold[r].missed;
    }
    out.cold = with_unseen(interval_of(analysis, cold, floor, results->bursts, all_misses), cold);
    out.capacity =
        with_unseen(interval_of(analysis, shares, floor, results->bursts, all_misses), shares);
    return out;
}

void analysis_misses_at(const struct analysis *analysis, struct subset subset, const double *bytes,
                        size_t n, struct miss_split *splits)
{
    struct miss_shares *cold;
    struct results results;
    double footprint = 1;

    if (analysis->exact) {
        for (size_t k = 0; k < n; k++)
            splits[k] = exact_misses(analysis, subset, bytes[k]);
        return;
    }
    evaluate_sizes(analysis, subset, bytes, n, &results);
    if (results.accesses[0] > 0)
        footprint =
            fmin(1, analysis_footprint(analysis) / analysis->line_size / results.accesses[0]);
    cold = allocate(replicate_count(analysis), sizeof *cold);
    for (size_t k = 0; k < n; k++) {
        splits[k] = split_misses(analysis, &results, k, footprint, cold);
        /* As in make_monotone(): first uses are the same in all. */
        if (k > 0 && bytes[k] >= bytes[k - 1])
            splits[k].capacity.hi = fmax(splits[k].capacity.value,
                                         fmin(splits[k].capacity.hi, splits[k - 1].capacity.hi));
    }
    free(cold);
    results_free(&results);
}

struct miss_split analysis_misses(const struct analysis *analysis, struct subset subset,
                                  double bytes)
{
    struct miss_split split;

    analysis_misses_at(analysis, subset, &bytes, 1, &split);
    return split;
}

struct estimate analysis_subset_accesses(const struct analysis *analysis, struct subset subset)
{
    struct results results;
    struct estimate out;

    if (analysis->exact)
        return exact_accesses(analysis, subset);
    evaluate(analysis, subset, (struct places){.n = 0}, &results);
    out = replicate_spread(analysis, results.accesses, results.bursts);
    /* Rates are uncertain by factors, so the interval is one, too. */
    double factor = out.value > 0 ? out.hi / out.value : 1;
    results_free(&results);
    return (struct estimate){out.value, out.value / factor, out.value * factor};
}

/* By replicate. Those of everything are kept: most questions are about parts of it. *own: what the
 * caller has to free. */
static const double *accesses_of_whole(const struct analysis *analysis, struct subset whole,
                                       double **own)
{
    double **known = &analysis->known->accesses[whole.objects];
    bool all = !whole.groups && !whole.members;
    struct results results;

    *own = NULL;
    if (all && *known)
        return *known;
    evaluate(analysis, whole, (struct places){.n = 0}, &results);
    *(all ? known : own) = results.accesses;
    results.accesses = NULL;
    results_free(&results);
    return all ? *known : *own;
}

struct estimate analysis_share_of_accesses(const struct analysis *analysis, struct subset part,
                                           struct subset whole)
{
    struct results of_part;
    struct estimate out;
    const double *all;
    double *own;

    if (analysis->exact) {
        double accesses = exact_accesses(analysis, whole).value;
        double share = accesses > 0 ? exact_accesses(analysis, part).value / accesses : 0;

        return (struct estimate){share, share, share};
    }
    evaluate(analysis, part, (struct places){.n = 0}, &of_part);
    all = accesses_of_whole(analysis, whole, &own);
    for (uint32_t r = 0; r < replicate_count(analysis); r++)
        of_part.accesses[r] = all[r] > 0 ? of_part.accesses[r] / all[r] : 0;
    out = replicate_interval(analysis, of_part.accesses, 0, of_part.bursts);
    free(own);
    results_free(&of_part);
    return out;
}

size_t analysis_burst_count(const struct analysis *analysis, struct subset subset)
{
    size_t n = subset.members ? subset.member_count : analysis->probe_count, bursts = 0;
    uint32_t last = NO_BURST;

    for (size_t k = 0; k < n; k++) {
        size_t i = subset.members ? subset.members[k] : k;

        if (analysis->probes[i].count == 0 || (!subset.members && !in_subset(subset, i)))
            continue;
        bursts += analysis->probes[i].burst != last;
        last = analysis->probes[i].burst;
    }
    return bursts;
}

uint32_t analysis_granule(const struct analysis *analysis)
{
    uint32_t half = analysis->run_line_size / 2;

    if (analysis->exact)
        return exact_granule(analysis);
    return half >= LINE_SIZE_MIN && analysis->line_size == analysis->run_line_size
               ? half
               : analysis->line_size;
}

/* What is not used again up to each time, of all probes. */
static void missed_at(const struct analysis *analysis, const double *times, size_t n,
                      double *missed)
{
    struct results results;

    evaluate(analysis, (struct subset){0},
             (struct places){.times = times, .n = n, .value_only = true}, &results);
    for (size_t k = 0; k < n; k++)
        missed[k] = results.shares[k].missed;
    results_free(&results);
}

/*
 * Wide bursts tell blocks of half a line as well. A block of a cached line is used for the first
 * time when it was not used for as long as the cache keeps lines: one eviction time for the lines
 * and for the blocks in them.
 */
void analysis_line_use(const struct analysis *analysis, struct subset subset, const double *bytes,
                       size_t n, uint32_t granule, double *used)
{
    struct analysis_options options = analysis->options;
    struct analysis *of_blocks = NULL;
    char message[256];

    if (analysis->exact) {
        exact_line_use(analysis, bytes, n, granule, used);
        return;
    }
    for (size_t k = 0; k < n; k++)
        used[k] = NAN;
    options.line_size = granule;
    options.bootstrap = 1;
    options.like = analysis;
    /* Blocks have groups of their own: a subset's labels do not fit them. */
    if (granule < analysis->line_size && !subset.groups && !subset.members)
        of_blocks = analysis_create(analysis->profiles, analysis->profile_count, &options, message,
                                    sizeof message);
    if (of_blocks && of_blocks->probe_count) {
        double *times = allocate(3 * n, sizeof *times), *lines = times + n, *blocks = lines + n;

        for (size_t k = 0; k < n; k++)
            times[k] = open_lines_eviction_time(analysis, bytes[k] / analysis->line_size);
        missed_at(analysis, times, n, lines);
        missed_at(of_blocks, times, n, blocks);
        for (size_t k = 0; k < n; k++)
            used[k] =
                lines[k] > 0 ? fmin(1, blocks[k] / lines[k] * granule / analysis->line_size) : NAN;
        free(times);
    }
    analysis_free(of_blocks);
}

void analysis_miss_ratios(const struct analysis *analysis, struct subset subset,
                          const double *bytes, size_t n, double *ratios)
{
    struct results results;
    double *lines = allocate(n + 1, sizeof *lines);

    for (size_t k = 0; k < n; k++)
        lines[k] = bytes[k] / analysis->line_size;
    evaluate(analysis, subset, (struct places){.lines = lines, .n = n, .value_only = true},
             &results);
    for (size_t k = 0; k < n; k++) {
        double ratio = all_misses(&results.shares[k]);
        ratios[k] = k ? fmin(ratio, ratios[k - 1]) : ratio;
    }
    results_free(&results);
    free(lines);
}

/* A list's probes take several times as long as those that lie side by side. */
enum { ONE_BY_ONE = 8 };

/* Where they do not come by one walk over all probes. */
static void ratios_one_by_one(const struct analysis *analysis, const struct subset *subsets,
                              size_t count, const double *bytes, size_t n, double *ratios)
{
    struct curve_point *points = allocate(n + 1, sizeof *points);

    for (size_t s = 0; s < count; s++) {
        if (!analysis->exact) {
            analysis_miss_ratios(analysis, subsets[s], bytes, n, ratios + s * n);
            continue;
        }
        exact_miss_ratio_curve(analysis, subsets[s], bytes, n, points);
        for (size_t k = 0; k < n; k++)
            ratios[s * n + k] = points[k].miss_ratio.value;
    }
    free(points);
}

void analysis_miss_ratios_of(const struct analysis *analysis, const struct subset *subsets,
                             size_t count, const double *bytes, size_t n, double *ratios)
{
    struct miss_shares *shares;
    size_t members = 0;
    double *lines;

    for (size_t s = 0; s < count; s++)
        members += subsets[s].member_count;
    /* To walk over all probes for a few is not worth it. */
    if (analysis->exact || analysis->invalidations_seen || analysis->crossing_count ||
        members < analysis->probe_count / ONE_BY_ONE) {
        ratios_one_by_one(analysis, subsets, count, bytes, n, ratios);
        return;
    }
    shares = allocate(count * n + 1, sizeof *shares);
    lines = allocate(n + 1, sizeof *lines);
    for (size_t k = 0; k < n; k++)
        lines[k] = bytes[k] / analysis->line_size;
    evaluate_groups(analysis, subsets, count, lines, n, shares);
    for (size_t i = 0; i < count * n; i++) {
        double ratio = all_misses(&shares[i]);
        ratios[i] = i % n ? fmin(ratio, ratios[i - 1]) : ratio;
    }
    free(lines);
    free(shares);
}

uint32_t analysis_resampled_count(const struct analysis *analysis)
{
    return analysis->exact ? 0 : analysis->options.bootstrap;
}

/* Replicate 0 is the estimate itself. */
void analysis_resampled_ratios(const struct analysis *analysis, struct subset subset,
                               const double *bytes, size_t n, double *ratios)
{
    uint32_t replicates = replicate_count(analysis);
    struct results results;

    evaluate_sizes(analysis, subset, bytes, n, &results);
    for (uint32_t run = 0; run < analysis_resampled_count(analysis); run++)
        for (size_t k = 0; k < n; k++) {
            double ratio = all_misses(&results.shares[k * replicates + run + 1]);

            ratios[run * n + k] = k ? fmin(ratio, ratios[run * n + k - 1]) : ratio;
        }
    results_free(&results);
}

double analysis_resampled_draws(const struct analysis *analysis, uint32_t run, uint32_t burst)
{
    if (run == ANALYSIS_AS_OBSERVED)
        return 1;
    return replicate_burst_factor(analysis, run + 1, burst);
}

double analysis_design_effect(const struct analysis *analysis, double bytes)
{
    double lines = bytes / analysis->line_size, probes = 0, bursts = 0, squares = 0, p, variance;
    struct results results;

    if (analysis->exact || analysis->burst_count < 2)
        return NAN;
    evaluate(analysis, (struct subset){0}, (struct places){.lines = &lines, .n = 1}, &results);
    for (size_t i = 0; i < analysis->burst_count; i++) {
        probes += analysis->bursts[i].touches;
        bursts += analysis->bursts[i].touches > 0;
    }
    p = results.shares[0].missed;
    for (uint32_t r = 1; r <= analysis->options.bootstrap; r++)
        squares += pow(results.shares[r].missed - p, 2);
    variance = squares / analysis->options.bootstrap;
    results_free(&results);
    return p > 0 && p < 1 && bursts > 1 ? variance * probes / (p * (1 - p)) : NAN;
}

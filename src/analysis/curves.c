/* SPDX-License-Identifier: BSD-3-Clause */
/* Miss ratios of subsets of samples, their parts, and how much of its lines a cache uses. */
#include <math.h>
#include <stdlib.h>

#include "analysis/evaluation.h"

/* More than this share of accesses unobserved at a size: the size is beyond what is known. */
#define UNKNOWN_MAX 0.01

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

struct estimate analysis_subset_accesses(const struct analysis *analysis, struct subset subset)
{
    double squares = 0, sum = 0;
    double *of_loop;

    if (analysis->exact)
        return exact_accesses(analysis, subset);
    of_loop = calloc(analysis->rates.count + 1, sizeof *of_loop);
    for (size_t k = 0; k < (subset.members ? subset.member_count : analysis->count); k++) {
        size_t i = subset.members ? subset.members[k] : k;
        if (!subset.members && !in_subset(subset, i))
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

/* SPDX-License-Identifier: BSD-3-Clause */
/* Histograms of reuse times and stack distances, by octaves. */
#include <math.h>
#include <stdlib.h>

#include "analysis/sectors/evaluation.h"
#include "support/memory.h"

/* Shares that are smaller are errors of their sums. */
#define ROUNDING 1e-12

/* Bins between ascending bounds, the last one open. results: at place k what was not reused before
 * bounds[k]. */
static size_t octaves(const struct analysis *analysis, const struct results *results,
                      const double *bounds, size_t n, struct histogram_share **out)
{
    uint32_t replicates = replicate_count(analysis);
    struct histogram_share *bins = allocate_zeroed(n, sizeof *bins);
    double *values = allocate(replicates, sizeof *values);

    for (size_t k = 0; k < n; k++) {
        for (uint32_t r = 0; r < replicates; r++) {
            double left = results->shares[k * replicates + r].missed;
            double next = k + 1 < n ? results->shares[(k + 1) * replicates + r].missed : 0;
            values[r] = left - next > ROUNDING ? left - next : 0;
        }
        bins[k].lo = bounds[k];
        bins[k].hi = k + 1 < n ? bounds[k + 1] : INFINITY;
        bins[k].share = replicate_interval(analysis, values, least_claim(analysis, results, k),
                                           results->bursts);
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
    evaluate(analysis, subset, (struct places){.times = before, .n = OCTAVES}, &results);
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
    bytes[0] = 0;
    for (int k = 1; k < OCTAVES; k++) {
        bounds[k] = ldexp(1, k - 1);
        bytes[k] = bounds[k] * analysis->line_size;
    }
    evaluate_sizes(analysis, subset, bytes, OCTAVES, &results);
    size_t n = octaves(analysis, &results, bounds, OCTAVES, out);
    results_free(&results);
    return n;
}

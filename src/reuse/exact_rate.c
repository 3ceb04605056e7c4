/* SPDX-License-Identifier: BSD-3-Clause */
/* See exact_rate.h. */
#include "reuse/exact_rate.h"

#include <stdlib.h>

static double middle_of(uint32_t bin)
{
    double low = (double)histogram_bin_low(bin), high = (double)histogram_bin_low(bin + 1);
    return (low + high - 1) / 2;
}

/*
 * For each bin of reuse times, the expected distance of its middle: sum over j below it of the
 * probability that a reuse takes longer than j, less the line itself.
 */
static void expected_distances(const uint64_t time[HISTOGRAM_BIN_COUNT], uint64_t cold,
                               double distance[HISTOGRAM_BIN_COUNT])
{
    double total = (double)cold, longer, sum = 0, at = 0;
    for (uint32_t bin = 0; bin < HISTOGRAM_BIN_COUNT; bin++)
        total += (double)time[bin];
    longer = total;
    for (uint32_t bin = 0; bin < HISTOGRAM_BIN_COUNT && total > 0; bin++) {
        double middle = middle_of(bin);
        sum += (middle - at) * longer / total;
        at = middle;
        longer -= (double)time[bin];
        distance[bin] = sum > 1 ? sum - 1 : 0;
    }
}

void exact_rate_estimate(const struct exact_rate_counts *counts, uint32_t n, uint64_t *cold,
                         uint64_t distance[HISTOGRAM_BIN_COUNT], uint64_t time[HISTOGRAM_BIN_COUNT])
{
    uint64_t sampled = counts->cold, *adjusted = calloc(HISTOGRAM_BIN_COUNT, sizeof *adjusted);
    double *expected = calloc(HISTOGRAM_BIN_COUNT, sizeof *expected);
    if (adjusted == NULL || expected == NULL) {
        free(adjusted);
        free(expected);
        return;
    }
    uint64_t shortest = 0; /* sampled reuses whose number may be corrected */
    for (uint32_t bin = 0; bin < HISTOGRAM_BIN_COUNT; bin++) {
        sampled += counts->time[bin];
        shortest += counts->coarse_time[bin];
        adjusted[bin] = counts->time[bin] * n;
    }
    /* Too few: they are missing at reuse time 1. Too many: all short reuses count for less. */
    double all = (double)counts->accesses, have = (double)sampled * n;
    double missing = all > have ? all - have : 0, scale = 1;
    if (all < have && shortest > 0) {
        scale = 1 - (have - all) / ((double)shortest * n);
        scale = scale > 0 ? scale : 0;
        for (uint32_t bin = 0; bin < HISTOGRAM_BIN_COUNT; bin++)
            adjusted[bin] -= (uint64_t)((1 - scale) * (double)counts->coarse_time[bin] * (double)n);
    }
    adjusted[1] += (uint64_t)missing;
    expected_distances(adjusted, counts->cold * n, expected);

    *cold += counts->cold * n;
    distance[0] += (uint64_t)missing;
    for (uint32_t bin = 0; bin < HISTOGRAM_BIN_COUNT; bin++) {
        time[bin] += adjusted[bin];
        if (counts->coarse_time[bin] != 0)
            distance[histogram_bin_of((uint64_t)(expected[bin] + 0.5))] +=
                (uint64_t)((double)counts->coarse_time[bin] * n * scale + 0.5);
        if (counts->distance[bin] != 0)
            distance[histogram_bin_of((uint64_t)(middle_of(bin) * n))] += counts->distance[bin] * n;
    }
    free(adjusted);
    free(expected);
}

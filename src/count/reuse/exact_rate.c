/* SPDX-License-Identifier: BSD-3-Clause */
/* See exact_rate.h. */
#include "reuse/exact_rate.h"

#include <math.h>
#include <stdlib.h>

enum { WEIGHT, WEIGHT_SHARE, SQUARE, SQUARE_SHARE, SQUARE_SHARE_2 }; /* of bursts[] */

uint64_t exact_rate_gap(uint64_t accesses, struct random *random)
{
    uint64_t gap = accesses / 64, least = 7 * EXACT_RATE_BURST;
    gap = gap > least ? gap : least;
    uint32_t most = gap < UINT32_MAX ? (uint32_t)gap : UINT32_MAX;
    return gap / 2 + random_below(random, most);
}

void exact_rate_burst_begin(struct exact_rate_burst *burst, struct exact_rate_counts *counts,
                            uint64_t accesses)
{
    if (burst->open)
        exact_rate_burst_end(burst, counts);
    burst->open = exact_stack_create(&burst->stack);
    burst->weight = accesses > burst->started ? accesses - burst->started : EXACT_RATE_BURST;
    burst->started = accesses;
    burst->position = burst->measured = burst->short_ones = 0;
}

bool exact_rate_burst_use(struct exact_rate_burst *burst, struct exact_rate_counts *counts,
                          uint64_t line)
{
    if (!burst->open)
        return false;
    struct exact_reuse reuse = exact_stack_use(&burst->stack, line);
    /* What was used before the burst is not known: only the thread's very first burst can count
     * from its beginning. */
    bool counts_here = burst->started == 0 || burst->position >= EXACT_RATE_SHORT;
    burst->position++;
    if (!counts_here)
        return true;
    burst->measured++;
    if (reuse.distance == EXACT_STACK_COLD || reuse.time >= EXACT_RATE_SHORT)
        return true;
    double weight = (double)burst->weight /
                    (burst->started == 0 ? EXACT_RATE_BURST : EXACT_RATE_BURST - EXACT_RATE_SHORT);
    burst->short_ones++;
    counts->short_distance[histogram_bin_of(reuse.distance)] += weight;
    counts->short_time[histogram_bin_of(reuse.time)] += weight;
    return true;
}

void exact_rate_burst_end(struct exact_rate_burst *burst, struct exact_rate_counts *counts)
{
    if (!burst->open)
        return;
    burst->open = false;
    exact_stack_destroy(&burst->stack);
    if (burst->measured == 0)
        return;
    double share = (double)burst->short_ones / (double)burst->measured;
    double weight = (double)burst->weight, square = weight * weight;
    counts->bursts[WEIGHT] += weight;
    counts->bursts[WEIGHT_SHARE] += weight * share;
    counts->bursts[SQUARE] += square;
    counts->bursts[SQUARE_SHARE] += square * share;
    counts->bursts[SQUARE_SHARE_2] += square * share * share;
}

static double middle_of(uint32_t bin)
{
    double low = (double)histogram_bin_low(bin), high = (double)histogram_bin_low(bin + 1);
    return (low + high - 1) / 2;
}

/*
 * For each bin of reuse times, the expected distance of its middle: sum over j below it of the
 * probability that a reuse takes longer than j, less the line itself.
 */
static void expected_distances(const double time[HISTOGRAM_BIN_COUNT], double cold,
                               double distance[HISTOGRAM_BIN_COUNT])
{
    double total = cold, longer, sum = 0, at = 0;
    for (uint32_t bin = 0; bin < HISTOGRAM_BIN_COUNT; bin++)
        total += time[bin];
    longer = total;
    for (uint32_t bin = 0; bin < HISTOGRAM_BIN_COUNT && total > 0; bin++) {
        double middle = middle_of(bin);
        sum += (middle - at) * longer / total;
        at = middle;
        longer -= time[bin];
        distance[bin] = sum > 1 ? sum - 1 : 0;
    }
}

static double sum_of(const double values[HISTOGRAM_BIN_COUNT])
{
    double sum = 0;
    for (uint32_t bin = 0; bin < HISTOGRAM_BIN_COUNT; bin++)
        sum += values[bin];
    return sum;
}

/* The share of the accesses that are no short reuses, from both samples. */
static double long_share(const struct exact_rate_counts *counts, double followed_long, uint32_t n,
                         struct exact_rate_error *error)
{
    const double *bursts = counts->bursts;
    double all = (double)counts->accesses, lines = (double)counts->cold;
    double by_lines = fmin(followed_long * n / all, 1);
    /* Lines differ in how often they are used: twice the variance of equal ones. */
    double lines_variance = lines > 0 ? 2 * by_lines * by_lines / lines : 1;
    error->lines_share = lines > 0 ? 1 / sqrt(lines) : 1;
    if (bursts[WEIGHT] <= 0) {
        error->long_share = sqrt(lines_variance);
        return by_lines;
    }
    double share = bursts[WEIGHT_SHARE] / bursts[WEIGHT];
    double squares =
        bursts[SQUARE_SHARE_2] - 2 * share * bursts[SQUARE_SHARE] + share * share * bursts[SQUARE];
    /* At least what a single burst in a hundred that is all different would make. */
    double bursts_variance = fmax(squares, 0) / (bursts[WEIGHT] * bursts[WEIGHT]) +
                             1e-4 * bursts[SQUARE] / (bursts[WEIGHT] * bursts[WEIGHT]);
    double by_bursts = 1 - share;
    if (lines_variance <= 0)
        lines_variance = bursts_variance; /* no long reuse was followed: no variance to be seen */
    double precision = 1 / lines_variance + 1 / bursts_variance;
    error->long_share = sqrt(1 / precision);
    return (by_lines / lines_variance + by_bursts / bursts_variance) / precision;
}

struct exact_rate_error exact_rate_estimate(const struct exact_rate_counts *counts, uint32_t n,
                                            uint64_t *cold, uint64_t distance[HISTOGRAM_BIN_COUNT],
                                            uint64_t time[HISTOGRAM_BIN_COUNT])
{
    struct exact_rate_error error = {0};
    double *times = calloc(HISTOGRAM_BIN_COUNT, sizeof *times);
    double *expected = calloc(HISTOGRAM_BIN_COUNT, sizeof *expected);
    if (times == NULL || expected == NULL || counts->accesses == 0) {
        free(times);
        free(expected);
        return error;
    }
    double followed_long = (double)counts->cold, short_seen = sum_of(counts->short_time);
    for (uint32_t bin = 0; bin < HISTOGRAM_BIN_COUNT; bin++)
        followed_long += (double)counts->time[bin];
    double all = (double)counts->accesses;
    double long_ones = all * long_share(counts, followed_long, n, &error);
    if (short_seen <= 0)
        long_ones = followed_long > 0 ? all : 0;
    if (followed_long <= 0)
        long_ones = 0;
    double per_followed = followed_long > 0 ? long_ones / followed_long : 0;
    double per_short = short_seen > 0 ? (all - long_ones) / short_seen : 0;

    for (uint32_t bin = 0; bin < HISTOGRAM_BIN_COUNT; bin++)
        times[bin] = (double)counts->time[bin] * per_followed + counts->short_time[bin] * per_short;
    expected_distances(times, (double)counts->cold * per_followed, expected);
    *cold += (uint64_t)((double)counts->cold * per_followed + 0.5);
    for (uint32_t bin = 0; bin < HISTOGRAM_BIN_COUNT; bin++) {
        time[bin] += (uint64_t)(times[bin] + 0.5);
        distance[bin] += (uint64_t)(counts->short_distance[bin] * per_short + 0.5);
        if (counts->coarse_time[bin] != 0)
            distance[histogram_bin_of((uint64_t)(expected[bin] + 0.5))] +=
                (uint64_t)((double)counts->coarse_time[bin] * per_followed + 0.5);
        if (counts->distance[bin] != 0)
            distance[histogram_bin_of((uint64_t)(middle_of(bin) * n))] +=
                (uint64_t)((double)counts->distance[bin] * per_followed + 0.5);
    }
    free(times);
    free(expected);
    return error;
}

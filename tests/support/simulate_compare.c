/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * usage: simulate_compare [-v] [-s] PROFILE...
 * One line per profile of the engine simulate: error of the miss-ratio curve (mean, largest, pp),
 * sizes with a figure, share of these that the interval covers, accuracy of the histograms of stack
 * distances and reuse times, samples. -v: the curve, size by size; -s: of the cache that all
 * threads share.
 */
#include <stdio.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/comparison.h"
#include "profile/reader.h"

static void print_curve(const struct analysis *estimate, const struct analysis *truth)
{
    double bytes[ANALYSIS_CURVE_SIZES];
    struct curve_point a[ANALYSIS_CURVE_SIZES], b[ANALYSIS_CURVE_SIZES];

    analysis_curve_sizes(bytes);
    analysis_miss_ratio_curve(estimate, (struct subset){0}, bytes, ANALYSIS_CURVE_SIZES, a);
    analysis_miss_ratio_curve(truth, (struct subset){0}, bytes, ANALYSIS_CURVE_SIZES, b);
    for (size_t i = 0; i < ANALYSIS_CURVE_SIZES; i++) {
        double lo = a[i].miss_ratio.lo, hi = a[i].miss_ratio.hi, is = b[i].miss_ratio.value;

        printf("  %12.0f  %9.5f [%9.5f %9.5f]  %9.5f  %+8.5f %s%s\n", bytes[i],
               a[i].miss_ratio.value, lo, hi, is, a[i].miss_ratio.value - is,
               is < lo || is > hi ? "outside" : "", a[i].beyond ? " beyond" : "");
    }
}

int main(int argc, char **argv)
{
    static const struct cache_groups one = {0};
    int first = 1;
    bool verbose = first < argc && strcmp(argv[first], "-v") == 0;

    first += verbose;
    const struct cache_groups *groups =
        first < argc && strcmp(argv[first], "-s") == 0 ? &one : NULL;
    first += groups != NULL;
    for (int i = first; i < argc; i++) {
        struct analysis_options samples = {.source = SOURCE_SAMPLES, .groups = groups};
        struct analysis_options counts = {.source = SOURCE_COUNTS, .groups = groups};
        char message[512];
        struct profile *profile = profile_load(argv[i], message, sizeof message);
        const struct profile *profiles[] = {profile};
        struct analysis *estimate =
            profile ? analysis_create(profiles, 1, &samples, message, sizeof message) : NULL;
        struct analysis *truth =
            estimate ? analysis_create(profiles, 1, &counts, message, sizeof message) : NULL;
        struct comparison comparison;

        if (!truth) {
            fprintf(stderr, "simulate_compare: %s\n", message);
            return 1;
        }
        analysis_compare(estimate, truth, &comparison);
        printf("%-28s %6.2f %6.2f @%-10.0f %2zu %5.1f  %.4f %.4f %8zu %.3g\n",
               strrchr(argv[i], '/') ? strrchr(argv[i], '/') + 1 : argv[i], 100 * comparison.error,
               100 * comparison.worst, comparison.worst_bytes, comparison.sizes,
               100 * comparison.covered, comparison.stack_distance_accuracy,
               comparison.reuse_time_accuracy, analysis_sample_count(estimate),
               analysis_accesses(truth).value);
        if (verbose)
            print_curve(estimate, truth);
        analysis_free(truth);
        analysis_free(estimate);
        profile_free(profile);
    }
    return 0;
}

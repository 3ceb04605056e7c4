/* SPDX-License-Identifier: BSD-3-Clause */
#include "analysis/comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Share of the bin that starts at `lo`, and is the last one or not; 0 if there is none. */
static double share_of(const struct histogram_share *bins, size_t n, double lo, bool last)
{
    for (size_t i = 0; i < n; i++)
        if (isinf(bins[i].hi) ? last : !last && bins[i].lo == lo)
            return bins[i].share.value;
    return 0;
}

typedef size_t (*histogram_of)(const struct analysis *, struct subset, struct histogram_share **);

static double accuracy(const struct analysis *estimate, const struct analysis *truth,
                       histogram_of histogram)
{
    struct histogram_share *a, *b;
    size_t n = histogram(estimate, (struct subset){0}, &a);
    size_t m = histogram(truth, (struct subset){0}, &b);
    double distance = 0;

    for (size_t i = 0; i < n; i++)
        distance += fabs(a[i].share.value - share_of(b, m, a[i].lo, isinf(a[i].hi)));
    /* What only the truth has. */
    for (size_t i = 0; i < m; i++)
        if (isfinite(b[i].hi) && share_of(a, n, b[i].lo, false) <= 0)
            distance += b[i].share.value;
    free(a);
    free(b);
    return 1 - distance / 2;
}

void analysis_compare(const struct analysis *estimate, const struct analysis *truth,
                      struct comparison *out)
{
    /* Truths are counts; an interval that rounding leaves just beside one holds it. */
    const double rounding = 1e-9;
    double bytes[ANALYSIS_CURVE_SIZES];
    struct curve_point a[ANALYSIS_CURVE_SIZES], b[ANALYSIS_CURVE_SIZES];
    size_t covered = 0;

    memset(out, 0, sizeof *out);
    analysis_curve_sizes(bytes);
    analysis_miss_ratio_curve(estimate, (struct subset){0}, bytes, ANALYSIS_CURVE_SIZES, a);
    analysis_miss_ratio_curve(truth, (struct subset){0}, bytes, ANALYSIS_CURVE_SIZES, b);
    for (size_t i = 0; i < ANALYSIS_CURVE_SIZES; i++) {
        double error = fabs(a[i].miss_ratio.value - b[i].miss_ratio.value);

        if (a[i].beyond || b[i].beyond)
            continue;
        out->sizes++;
        out->error += error;
        if (error > out->worst) {
            out->worst = error;
            out->worst_bytes = bytes[i];
        }
        covered += b[i].miss_ratio.value >= a[i].miss_ratio.lo - rounding &&
                   b[i].miss_ratio.value <= a[i].miss_ratio.hi + rounding;
    }
    if (out->sizes > 0) {
        out->error /= (double)out->sizes;
        out->covered = (double)covered / (double)out->sizes;
    }
    out->stack_distance_accuracy = accuracy(estimate, truth, analysis_stack_distance_histogram);
    out->reuse_time_accuracy = accuracy(estimate, truth, analysis_reuse_time_histogram);
}

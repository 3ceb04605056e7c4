/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a program loses after a burst: the handler has filled caches, TLB and predictors with its
 * own, for it worked for milliseconds. How much that is, the way to the marker tells: the program
 * makes the burst's own accesses, of which it is known how many they are, and takes a few to tens
 * of times as long as at the rate of its loop. What watches see begins there, and is as late
 * (docs/estimators.md, section 2).
 */
#include <math.h>
#include <stdlib.h>

#include "analysis/internal.h"
#include "support/memory.h"

/* A single way may have met an interrupt: it counts as no more than so many times the median. */
static const double most = 2;

/* ns beyond what the accesses to the marker take at the loop's rate; below 0: not known. */
static double lost_to_marker(const struct analysis *analysis, const struct analysed_watch *watch)
{
    const struct record_sample *sample = watch->record;
    const struct analysed_burst *burst = &analysis->bursts[watch->burst];
    const struct record_burst *record = burst->record;
    double per_ns = analysis->rates.loops[burst->loop].per_ns.value;
    double accesses = (double)record->accesses - sample->accesses_ahead + sample->marker_accesses;

    /* A call of the system on the way takes time of its own. */
    if (sample->marker_accesses == 0 || record->stops > 0 || !(per_ns > 0) ||
        sample->app_ns < record->app_ns ||
        profile_counts_accesses(analysis->profiles[burst->profile]))
        return -1;
    return fmax(0, (double)(sample->app_ns - record->app_ns) - accesses / per_ns);
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* Of those of one profile; 0: there is none. */
static double median_of(const struct analysis *analysis, uint32_t profile, const double *lost,
                        double *values)
{
    size_t n = 0;

    for (size_t i = 0; i < analysis->burst_count; i++)
        if (analysis->bursts[i].profile == profile && lost[i] >= 0)
            values[n++] = lost[i];
    if (n == 0)
        return 0;
    qsort(values, n, sizeof *values, compare);
    return values[n / 2];
}

void analysis_find_losses(struct analysis *analysis)
{
    double *lost = allocate(2 * analysis->burst_count + 1, sizeof *lost);
    double *medians = allocate_zeroed(analysis->profile_count + 1, sizeof *medians);

    for (size_t i = 0; i < analysis->burst_count; i++)
        lost[i] = -1;
    for (size_t i = 0; i < analysis->watch_count; i++) {
        const struct analysed_watch *watch = &analysis->watches[i];

        if (lost[watch->burst] < 0)
            lost[watch->burst] = lost_to_marker(analysis, watch);
    }
    for (uint32_t p = 0; p < analysis->profile_count; p++)
        medians[p] = median_of(analysis, p, lost, lost + analysis->burst_count);
    for (size_t i = 0; i < analysis->burst_count; i++) {
        double median = medians[analysis->bursts[i].profile];

        analysis->bursts[i].lost_ns = lost[i] < 0 ? median : fmin(lost[i], most * median);
    }
    free(medians);
    free(lost);
}

double analysis_without_loss(double lost_ns, double elapsed_ns)
{
    const double least = 0.1;

    return fmax(elapsed_ns - lost_ns, least * elapsed_ns);
}

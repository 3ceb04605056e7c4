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

/* Of those that are known, for which there is room; 0: none is. */
static double median_of(const double *lost, size_t count, double *known)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        if (lost[i] >= 0)
            known[n++] = lost[i];
    qsort(known, n, sizeof *known, compare);
    return n > 0 ? known[n / 2] : 0;
}

void analysis_find_losses(struct analysis *analysis)
{
    size_t count = analysis->burst_count;
    double *lost = allocate(2 * count + 1, sizeof *lost);

    for (size_t i = 0; i < count; i++)
        lost[i] = -1;
    for (size_t i = 0; i < analysis->watch_count; i++) {
        const struct analysed_watch *watch = &analysis->watches[i];

        if (lost[watch->burst] < 0)
            lost[watch->burst] = lost_to_marker(analysis, watch);
    }
    /* Bursts are listed profile by profile. */
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1;
             end < count && analysis->bursts[end].profile == analysis->bursts[i].profile; end++)
            continue;
        double median = median_of(lost + i, end - i, lost + count);
        for (size_t k = i; k < end; k++)
            analysis->bursts[k].lost_ns = lost[k] < 0 ? median : fmin(lost[k], most * median);
    }
    free(lost);
}

double analysis_without_loss(double lost_ns, double elapsed_ns)
{
    const double least = 0.1;

    return fmax(elapsed_ns - lost_ns, least * elapsed_ns);
}

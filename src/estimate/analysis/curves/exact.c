/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers from histograms of an engine that saw every access. Counts are exact up to the bins'
 * width (1/64 octave above 127 lines; of objects, instructions and regions 1/8 octave above 15): a
 * bin that a cache size divides is split in proportion.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/internal.h"
#include "profile/histogram_bin.h"
#include "support/memory.h"

static bool wanted(const struct analysis *analysis, const struct record_histogram *histogram)
{
    if (histogram->line_size != analysis->line_size)
        return false;
    return !analysis->options.thread_id || histogram->scope != SCOPE_THREAD ||
           histogram->key == analysis->options.thread_id;
}

void analysis_collect_histograms(struct analysis *analysis)
{
    size_t capacity = 1, n = 0;

    for (size_t p = 0; p < analysis->profile_count; p++)
        capacity += analysis->profiles[p]->histograms.count;
    analysis->histograms = allocate_zeroed(capacity, sizeof *analysis->histograms);
    for (size_t p = 0; p < analysis->profile_count; p++) {
        for (size_t i = 0; i < analysis->profiles[p]->histograms.count; i++) {
            const struct record_histogram *record = analysis->profiles[p]->histograms.items[i];
            if (wanted(analysis, record)) {
                analysis->histograms[n].record = record;
                analysis->histograms[n++].profile = (uint32_t)p;
            }
        }
    }
    analysis->histogram_count = n;
}

bool exact_counts_shared(const struct analysis *analysis)
{
    for (size_t i = 0; i < analysis->histogram_count; i++)
        if (analysis->histograms[i].record->scope == SCOPE_SHARED)
            return true;
    return false;
}

/* Everything is the process, or the one thread that was asked for. */
static bool in_subset(const struct analysis *analysis, struct subset subset, size_t index)
{
    uint8_t whole = analysis->options.groups      ? SCOPE_SHARED
                    : analysis->options.thread_id ? SCOPE_THREAD
                                                  : SCOPE_PROCESS;

    if (subset.groups)
        return subset.groups[index] == subset.group;
    return analysis->histograms[index].record->scope == whole;
}

/* Part of a bin that lies at or above a value. */
static double part_above(const struct histogram_bin *bin, double value)
{
    double low = (double)histogram_bin_low(bin->bin);
    double high = (double)histogram_bin_low(bin->bin + bin->more + 1);

    if (value <= low)
        return (double)bin->count;
    if (value >= high)
        return 0;
    return (double)bin->count * (high - value) / (high - low);
}

double exact_count_above(const struct record_histogram *histogram, double value)
{
    double sum = 0;

    for (uint32_t i = 0; i < histogram->bin_count; i++)
        sum += part_above(&histogram->bins[i], value);
    return sum;
}

struct totals {
    double accesses, cold, far, coherence;
};

static struct totals totals_at(const struct analysis *analysis, struct subset subset, double lines)
{
    struct totals totals = {0};

    for (size_t i = 0; i < analysis->histogram_count; i++) {
        const struct record_histogram *histogram = analysis->histograms[i].record;
        if (!in_subset(analysis, subset, i))
            continue;
        if (histogram->measure == MEASURE_STACK_DISTANCE) {
            totals.accesses += (double)histogram->accesses;
            totals.cold += (double)histogram->cold;
            totals.far += exact_count_above(histogram, lines);
        } else if (histogram->measure == MEASURE_COHERENCE) {
            /* Part of the reuses above: those whose line was invalidated meanwhile. At or above the
             * capacity they would have missed anyway and are among the far ones. */
            totals.coherence +=
                exact_count_above(histogram, 0) - exact_count_above(histogram, lines);
        }
    }
    return totals;
}

/* A file that was tampered with may count more misses than accesses. */
static struct estimate certain(double count, double of)
{
    double share = of > 0 ? fmin(count / of, 1) : 0;

    return (struct estimate){share, share, share};
}

void exact_miss_ratio_curve(const struct analysis *analysis, struct subset subset,
                            const double *bytes, size_t n, struct curve_point *points)
{
    for (size_t k = 0; k < n; k++) {
        struct totals totals = totals_at(analysis, subset, bytes[k] / analysis->line_size);
        points[k].bytes = bytes[k];
        points[k].miss_ratio =
            certain(totals.cold + totals.far + totals.coherence, totals.accesses);
        points[k].beyond = totals.accesses <= 0;
    }
}

struct miss_split exact_misses(const struct analysis *analysis, struct subset subset, double bytes)
{
    struct totals totals = totals_at(analysis, subset, bytes / analysis->line_size);

    return (struct miss_split){
        .cold = certain(totals.cold, totals.accesses),
        .capacity = certain(totals.far, totals.accesses),
        .coherence = certain(totals.coherence, totals.accesses),
        .crossing = {0, 0, 1},
        .beyond = totals.accesses <= 0,
    };
}

size_t exact_histogram_shares(const struct analysis *analysis, struct subset subset,
                              uint8_t measure, struct histogram_share **out)
{
    enum { OCTAVES = 65 };
    struct histogram_share *bins = allocate_zeroed(OCTAVES + 1, sizeof *bins);
    double counts[OCTAVES] = {0}, cold = 0, accesses = 0;
    size_t n = 0;

    *out = bins;
    for (size_t i = 0; i < analysis->histogram_count; i++) {
        const struct record_histogram *histogram = analysis->histograms[i].record;
        if (histogram->measure != measure || !in_subset(analysis, subset, i))
            continue;
        accesses += (double)histogram->accesses;
        cold += (double)histogram->cold;
        for (uint32_t b = 0; b < histogram->bin_count; b++) {
            uint64_t low = histogram_bin_low(histogram->bins[b].bin);
            size_t octave = low ? 64 - (size_t)__builtin_clzll(low) : 0;
            counts[octave] += (double)histogram->bins[b].count;
        }
    }
    size_t first = measure == MEASURE_REUSE_TIME; /* reuse times start at 1 */
    size_t last = OCTAVES;
    while (last > first && counts[last - 1] <= 0)
        last--;
    for (size_t k = first; k < last; k++)
        bins[n++] = (struct histogram_share){k ? ldexp(1, (int)k - 1) : 0, ldexp(1, (int)k),
                                             certain(counts[k], accesses)};
    bins[n] = (struct histogram_share){n ? bins[n - 1].hi : (double)first, INFINITY,
                                       certain(cold, accesses)};
    return n + 1;
}

struct estimate exact_accesses(const struct analysis *analysis, struct subset subset)
{
    double accesses = totals_at(analysis, subset, 0).accesses;

    return (struct estimate){accesses, accesses, accesses};
}

/* The process's histogram of reuse times at a line size; NULL: not counted. */
static const struct record_histogram *reuse_times(const struct analysis *analysis,
                                                  uint32_t line_size)
{
    const struct profile *profile = analysis->profiles[0];

    for (size_t i = 0; i < profile->histograms.count && analysis->profile_count == 1; i++) {
        const struct record_histogram *histogram = profile->histograms.items[i];
        if (histogram->scope == SCOPE_PROCESS && histogram->measure == MEASURE_REUSE_TIME &&
            histogram->line_size == line_size)
            return histogram;
    }
    return NULL;
}

uint32_t exact_granule(const struct analysis *analysis)
{
    for (uint32_t size = LINE_SIZE_MIN; size < analysis->line_size; size *= 2)
        if (reuse_times(analysis, size))
            return size;
    return analysis->line_size;
}

/* Uses that do not come back within a time. */
static double unused_for(const struct record_histogram *histogram, double time)
{
    return (double)histogram->cold + exact_count_above(histogram, time);
}

/* The time at which a cache evicts: see partition_eviction_time(). */
static double exact_eviction_time(const struct record_histogram *histogram, double lines)
{
    double held = 0, accesses = (double)histogram->accesses;

    for (uint32_t bin = 0; bin < HISTOGRAM_BIN_COUNT; bin++) {
        double low = (double)histogram_bin_low(bin), high = (double)histogram_bin_low(bin + 1);
        double survival = unused_for(histogram, (low + high) / 2) / accesses;
        if (survival <= 0)
            break;
        if (held + survival * (high - low) >= lines)
            return low + (lines - held) / survival;
        held += survival * (high - low);
    }
    return INFINITY;
}

void exact_line_use(const struct analysis *analysis, const double *bytes, size_t n,
                    uint32_t granule, double *used)
{
    const struct record_histogram *lines = reuse_times(analysis, analysis->line_size);
    const struct record_histogram *blocks = reuse_times(analysis, granule);

    for (size_t k = 0; k < n; k++) {
        used[k] = NAN;
        if (!lines || !blocks || granule >= analysis->line_size || lines->accesses == 0)
            continue;
        double time = exact_eviction_time(lines, bytes[k] / analysis->line_size);
        double fetched = unused_for(lines, time);
        if (fetched > 0)
            used[k] = fmin(1, unused_for(blocks, time) / fetched * granule / analysis->line_size);
    }
}

double analysis_counted_width(const struct analysis *analysis)
{
    uint8_t whole = analysis->options.thread_id ? SCOPE_THREAD : SCOPE_PROCESS;
    double bytes = 0, accesses = 0;

    for (size_t p = 0; p < analysis->profile_count; p++) {
        const struct profile *profile = analysis->profiles[p];
        for (size_t i = 0; i < profile->histograms.count; i++) {
            const struct record_histogram *histogram = profile->histograms.items[i];
            if (histogram->scope != whole || histogram->measure != MEASURE_WIDTH ||
                (whole == SCOPE_THREAD && histogram->key != analysis->options.thread_id))
                continue;
            for (uint32_t b = 0; b < histogram->bin_count; b++) {
                accesses += (double)histogram->bins[b].count;
                bytes += (double)histogram->bins[b].count *
                         (double)histogram_bin_low(histogram->bins[b].bin);
            }
        }
    }
    return accesses > 0 ? bytes / accesses : NAN;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What an analysis answers without a curve: its observations one by one, and their sums. */
#include <math.h>
#include <stdlib.h>

#include "analysis/internal.h"
#include "support/memory.h"

bool analysis_is_exact(const struct analysis *analysis)
{
    return analysis->exact;
}

struct timed_lines analysis_timed_lines(const struct analysis *analysis)
{
    return analysis->line_sources.timed;
}

uint32_t analysis_line_size(const struct analysis *analysis)
{
    return analysis->line_size;
}

size_t analysis_group_count(const struct analysis *analysis)
{
    return analysis->exact ? 1 : analysis->domain_count;
}

size_t analysis_sample_count(const struct analysis *analysis)
{
    return analysis->count;
}

const struct record_sample *analysis_sample(const struct analysis *analysis, size_t index,
                                            size_t *profile_index)
{
    if (profile_index)
        *profile_index = analysis->samples[index].profile;
    return analysis->samples[index].record;
}

double analysis_sample_weight(const struct analysis *analysis, size_t index)
{
    return analysis->samples[index].weight;
}

size_t analysis_bursts_left_out(const struct analysis *analysis)
{
    size_t n = 0;

    for (size_t i = 0; i < analysis->burst_count; i++)
        n += analysis->bursts[i].left_out;
    return n;
}

size_t analysis_probe_count(const struct analysis *analysis)
{
    return analysis->probe_count;
}

const struct analysed_probe *analysis_probe(const struct analysis *analysis, size_t index,
                                            size_t *profile_index)
{
    const struct analysed_probe *probe = &analysis->probes[index];

    if (profile_index)
        *profile_index = analysis->bursts[probe->burst].profile;
    return probe;
}

double analysis_probe_time(const struct analysis *analysis, size_t index, double *own)
{
    const struct analysed_burst *burst = &analysis->bursts[analysis->probes[index].burst];

    *own = analysis->rates.loops[burst->loop].own;
    return burst->time_ns;
}

double analysis_probe_rate(const struct analysis *analysis, size_t index)
{
    const struct analysed_burst *burst = &analysis->bursts[analysis->probes[index].burst];
    const struct loop_rate *loop = &analysis->rates.loops[burst->loop];

    return loop->measured && loop->own > 0 && isfinite(loop->per_ns.value)
               ? loop->per_ns.value / loop->own
               : 0;
}

const struct record_burst *analysis_probe_burst(const struct analysis *analysis, size_t index)
{
    return analysis->bursts[analysis->probes[index].burst].record;
}

double analysis_probe_weight(const struct analysis *analysis, size_t index)
{
    const struct analysed_probe *probe = &analysis->probes[index];

    return analysis->bursts[probe->burst].weight * probe->count;
}

size_t analysis_watch_count(const struct analysis *analysis)
{
    return analysis->watch_count;
}

const struct record_sample *analysis_watch(const struct analysis *analysis, size_t index,
                                           size_t *profile_index)
{
    const struct analysed_watch *watch = &analysis->watches[index];

    if (profile_index)
        *profile_index = analysis->bursts[watch->burst].profile;
    return watch->record;
}

const struct record_watch_end *analysis_watch_end(const struct analysis *analysis, size_t index)
{
    return analysis->watches[index].end;
}

double analysis_watch_accesses(const struct analysis *analysis, size_t index)
{
    const struct analysed_watch *watch = &analysis->watches[index];

    return watch->record->marker_accesses + watch->ran;
}

double analysis_watch_weight(const struct analysis *analysis, size_t index)
{
    return analysis->watches[index].weight;
}

struct watch_summary analysis_watches(const struct analysis *analysis)
{
    struct watch_summary out = {0};
    double sum = 0;

    for (size_t i = 0; i < analysis->watch_count; i++) {
        const struct analysed_watch *watch = &analysis->watches[i];

        out.heaviest = fmax(out.heaviest, watch->weight);
        sum += watch->weight;
        if (watch->record->watch_mode == WATCH_PURSUED) {
            out.pursued++;
            out.found += watch->open.end == OPEN_USED;
            out.farthest = fmax(out.farthest, watch->end->pursued);
            continue;
        }
        out.begun++;
        out.used += watch->open.end == OPEN_USED;
        out.never += watch->open.end == OPEN_NEVER;
        out.censored += watch->open.end == OPEN_CENSORED;
        out.invalidated += watch->invalidation != NULL;
    }
    out.heaviest = sum > 0 ? out.heaviest / sum : 0;
    return out;
}

size_t analysis_histogram_count(const struct analysis *analysis)
{
    return analysis->histogram_count;
}

const struct record_histogram *analysis_histogram(const struct analysis *analysis, size_t index,
                                                  size_t *profile_index)
{
    if (profile_index)
        *profile_index = analysis->histograms[index].profile;
    return analysis->histograms[index].record;
}

struct estimate analysis_accesses(const struct analysis *analysis)
{
    return analysis_subset_accesses(analysis, (struct subset){0});
}

struct estimate analysis_thread_accesses(const struct analysis *analysis, size_t profile_index,
                                         uint32_t thread_id)
{
    size_t n = analysis->exact ? analysis->histogram_count : analysis->probe_count;
    uint32_t *groups = allocate_zeroed(n + 1, sizeof *groups);
    struct estimate out = {0};

    for (size_t i = 0; i < n; i++) {
        if (analysis->exact) {
            const struct record_histogram *histogram = analysis->histograms[i].record;
            groups[i] = analysis->histograms[i].profile == profile_index &&
                        histogram->scope == SCOPE_THREAD && histogram->key == thread_id;
        } else {
            const struct analysed_burst *burst = &analysis->bursts[analysis->probes[i].burst];
            groups[i] = burst->profile == profile_index && burst->record->thread_id == thread_id;
        }
    }
    out = analysis_subset_accesses(analysis, (struct subset){.groups = groups, .group = 1});
    free(groups);
    return out;
}

struct access_rate_summary analysis_access_rate(const struct analysis *analysis)
{
    struct access_rate_summary out = {.size_axis_low = 1, .size_axis_high = 1};
    double time = 0, covered = 0, accesses = 0, low = 0, high = 0;

    if (analysis->exact) {
        out.covered = 1;
        return out;
    }
    for (size_t i = 0; i < analysis->rates.count; i++) {
        const struct loop_rate *loop = &analysis->rates.loops[i];
        time += loop->time_ns;
        covered += loop->measured ? loop->time_ns : 0;
        accesses += loop->time_ns * loop->per_ns.value;
        low += loop->time_ns * loop->per_ns.lo;
        high += loop->time_ns * loop->per_ns.hi;
    }
    out.bursts = analysis->rates.bursts;
    if (time > 0) {
        out.covered = covered / time;
        out.per_ns = (struct estimate){accesses / time, low / time, high / time};
    }
    if (accesses > 0) {
        out.size_axis_low = low / accesses;
        out.size_axis_high = high / accesses;
    }
    return out;
}

void analysis_curve_sizes(double bytes[ANALYSIS_CURVE_SIZES])
{
    for (int i = 0; i < ANALYSIS_CURVE_SIZES; i++)
        bytes[i] = 1024 * pow(65536, (double)i / (ANALYSIS_CURVE_SIZES - 1));
}

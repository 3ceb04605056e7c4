/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds the analysis of one or several profiles and answers what needs no curve. */
#include "analysis/analysis.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/curves/memory_bound.h"
#include "analysis/internal.h"
#include "support/memory.h"

/* Enough for a standard deviation known to 7 %. Large profiles get fewer, down to one known to
 * 12 %, so that a report stays a matter of seconds. */
enum { BOOTSTRAP_DEFAULT = 100, BOOTSTRAP_LEAST = 35, BOOTSTRAP_BURSTS = 600 * 1000 };

static uint32_t replicates_for(const struct analysis *analysis)
{
    size_t bursts = analysis->burst_count - analysis_bursts_left_out(analysis);
    size_t affordable = BOOTSTRAP_BURSTS / (bursts + analysis->watch_count + 1);

    return affordable >= BOOTSTRAP_DEFAULT ? BOOTSTRAP_DEFAULT
           : affordable > BOOTSTRAP_LEAST  ? (uint32_t)affordable
                                           : BOOTSTRAP_LEAST;
}

static bool has_bursts(const struct profile *profile)
{
    return profile->bursts.count > 0;
}

static bool has_histograms(const struct profile *profile)
{
    return profile->histograms.count > 0;
}

bool analysis_has_source(const struct profile *const *profiles, size_t profile_count,
                         enum analysis_source source)
{
    for (size_t p = 0; p < profile_count; p++) {
        const struct profile *profile = profiles[p];
        if (source == SOURCE_COUNTS ? !has_histograms(profile) : !has_bursts(profile))
            return false;
    }
    return profile_count > 0;
}

/* Answers come from counts: the profile has no samples, or they are not wanted. */
static bool answers_by_counts(const struct analysis *analysis, const struct profile *profile)
{
    if (analysis->options.source == SOURCE_COUNTS)
        return has_histograms(profile);
    return has_histograms(profile) && !has_bursts(profile);
}

/* Of sampled profiles; sets the place of the size among those that wide bursts tell. */
static bool knows_line_size(struct analysis *analysis, uint32_t run)
{
    uint32_t wanted = analysis->options.line_size ? analysis->options.line_size : run;

    if (!line_size_is_valid(wanted))
        return true; /* refused below */
    for (unsigned i = 0; i < PROBE_LINE_SIZES; i++) {
        analysis->size_index = i;
        if (probe_line_size(run, i) == wanted)
            return true;
    }
    return false;
}

/* Decides line sizes and whether the profiles are exact; false with a message. */
static bool choose_basis(struct analysis *analysis, char *message, size_t size)
{
    const struct profile *first = analysis->profile_count ? analysis->profiles[0] : NULL;
    bool sampled = false, exact = false;

    if (!first) {
        snprintf(message, size, "no profile was given");
        return false;
    }
    uint64_t run = profile_run_number(first, "line_size", LINE_SIZE_DEFAULT);
    for (size_t p = 0; p < analysis->profile_count; p++) {
        const struct profile *profile = analysis->profiles[p];
        uint64_t other = profile_run_number(profile, "line_size", LINE_SIZE_DEFAULT);
        if (!line_size_is_valid(other)) {
            snprintf(message, size,
                     "%s: line size %llu of the run is not a power of two from %d "
                     "to %d: the profile is damaged",
                     profile->path, (unsigned long long)other, LINE_SIZE_MIN, LINE_SIZE_MAX);
            return false;
        }
        if (other != run) {
            snprintf(message, size,
                     "%s was recorded with %llu-byte lines, %s with %llu-byte "
                     "lines: look at them one at a time",
                     first->path, (unsigned long long)run, profile->path,
                     (unsigned long long)other);
            return false;
        }
        if (profile_counts_accesses(profile) != profile_counts_accesses(first)) {
            snprintf(message, size,
                     "%s and %s measure time in different ways (accesses and CPU time): look at "
                     "them one at a time",
                     first->path, profile->path);
            return false;
        }
        bool counts = answers_by_counts(analysis, profile);
        sampled |= has_bursts(profile) && !counts;
        exact |= counts;
    }
    if (sampled && exact) {
        snprintf(message, size,
                 "%s and others mix exact with sampled profiles: look at them "
                 "one at a time",
                 first->path);
        return false;
    }
    if (analysis->options.source == SOURCE_COUNTS && !exact) {
        snprintf(message, size,
                 "%s holds no counts of every access: record it with --engine exact or simulate",
                 first->path);
        return false;
    }
    if (analysis->options.source == SOURCE_SAMPLES && !sampled) {
        snprintf(message, size, "%s holds no bursts", first->path);
        return false;
    }
    if (!exact && !knows_line_size(analysis, (uint32_t)run)) {
        snprintf(message, size,
                 "%s tells of lines of %llu bytes, and half, twice and four times that, but not of "
                 "%u: record it with --line-size %u",
                 first->path, (unsigned long long)run, analysis->options.line_size,
                 analysis->options.line_size);
        return false;
    }
    analysis->exact = exact;
    analysis->simulated_cores = strcmp(profile_run_text(first, "engine", ""), "simulate") == 0;
    analysis->run_line_size = (uint32_t)run;
    analysis->line_size =
        analysis->options.line_size ? analysis->options.line_size : analysis->run_line_size;
    if (!line_size_is_valid(analysis->line_size)) {
        snprintf(message, size, "line size %u is not a power of two from %d to %d",
                 analysis->line_size, LINE_SIZE_MIN, LINE_SIZE_MAX);
        return false;
    }
    return true;
}

static void build(struct analysis *analysis)
{
    if (analysis->exact) {
        analysis_collect_histograms(analysis);
        return;
    }
    analysis_list_bursts(analysis);
    analysis_judge_samples(analysis);
    analysis_divide(analysis);
    analysis_stratify(analysis);
    analysis->memory = memory_bound_of(analysis);
    analysis->burst_worth = analysis_burst_worth(analysis);
    if (!analysis->options.bootstrap)
        analysis->options.bootstrap = replicates_for(analysis);
    replicates_create(analysis);
    analysis->known = allocate_zeroed(1, sizeof *analysis->known);
    analysis->open = open_lines_create(analysis);
}

static struct analysis *create(const struct profile *const *profiles, size_t profile_count,
                               const struct analysis_options *options,
                               struct program_line_sources sources, char *message,
                               size_t message_size)
{
    struct analysis *analysis = allocate_zeroed(1, sizeof *analysis);

    analysis->line_sources = sources;
    if (options)
        analysis->options = *options;
    if (analysis->options.groups) {
        analysis->groups = *analysis->options.groups;
        analysis->options.groups = &analysis->groups;
    }
    analysis->profiles = allocate(profile_count + 1, sizeof *analysis->profiles);
    for (size_t p = 0; p < profile_count; p++)
        analysis->profiles[p] = profiles[p];
    analysis->profile_count = profile_count;
    if (!choose_basis(analysis, message, message_size)) {
        analysis_free(analysis);
        return NULL;
    }
    build(analysis);
    analysis->options.like = NULL; /* it need not live as long */
    if (analysis->exact && analysis->options.groups && !exact_counts_shared(analysis)) {
        snprintf(message, message_size,
                 "%s holds no counts of a cache that threads share: it had one thread, or was "
                 "recorded without",
                 profiles[0]->path);
        analysis_free(analysis);
        return NULL;
    }
    if (analysis->exact && analysis->histogram_count == 0) {
        snprintf(message, message_size,
                 "%s holds no histograms for %u-byte lines: record it with "
                 "that line size",
                 profiles[0]->path, analysis->line_size);
        analysis_free(analysis);
        return NULL;
    }
    return analysis;
}

bool analysis_is_of(const struct analysis *analysis, const struct profile *const *profiles,
                    size_t profile_count)
{
    return analysis->profile_count == profile_count &&
           memcmp(analysis->profiles, profiles, profile_count * sizeof *profiles) == 0;
}

/* The curves rest on how fast loops are, and that on where their lines come from, which the curves
 * know: they are estimated twice. */
struct timed_lines analysis_timed_lines(const struct analysis *analysis)
{
    return analysis->line_sources.timed;
}

static struct program_line_sources line_sources(const struct profile *const *profiles,
                                                size_t profile_count,
                                                const struct analysis_options *options)
{
    const struct analysis *like = options ? options->like : NULL;
    const struct analysis_options first_options = {.source = SOURCE_SAMPLES, .bootstrap = 1};
    struct program_line_sources sources = {.rest = line_sources_usual};
    struct analysis *first;
    char message[256];

    if (!line_sources_are_told(profiles, profile_count) ||
        (options && options->source == SOURCE_COUNTS))
        return sources;
    if (like && analysis_is_of(like, profiles, profile_count))
        return line_sources_copy(&like->line_sources);
    first = create(profiles, profile_count, &first_options, sources, message, sizeof message);
    if (first)
        analysis_find_sources(first, &sources);
    analysis_free(first);
    return sources;
}

struct analysis *analysis_create(const struct profile *const *profiles, size_t profile_count,
                                 const struct analysis_options *options, char *message,
                                 size_t message_size)
{
    return create(profiles, profile_count, options, line_sources(profiles, profile_count, options),
                  message, message_size);
}

void analysis_free(struct analysis *analysis)
{
    if (!analysis)
        return;
    open_lines_free(analysis->open);
    for (int objects = 0; objects < 2 && analysis->known; objects++)
        free(analysis->known->accesses[objects]);
    free(analysis->known);
    analysis_free_listing(analysis);
    free(analysis->bursts);
    free(analysis->stratum_of);
    free(analysis->watches);
    free(analysis->samples);
    free(analysis->threads);
    free(analysis->domains);
    free(analysis->cells);
    free(analysis->strata);
    free(analysis->by_stratum);
    free(analysis->crossings);
    free(analysis->rate_factors);
    free(analysis->times_drawn);
    free(analysis->time_factors);
    free(analysis->histograms);
    free(analysis->line_sources.loops);
    free(analysis->profiles);
    free(analysis);
}

bool analysis_is_exact(const struct analysis *analysis)
{
    return analysis->exact;
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

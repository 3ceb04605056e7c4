/* SPDX-License-Identifier: BSD-3-Clause */
/* What an analysis rests on: samples or counts, and lines of which size; and why it cannot. */
#include <stdio.h>
#include <string.h>

#include "analysis/internal.h"

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

bool analysis_choose_basis(struct analysis *analysis, char *message, size_t size)
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

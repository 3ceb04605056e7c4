/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds the analysis of one or several profiles. */
#include "analysis/analysis.h"

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
    if (!analysis_choose_basis(analysis, message, message_size)) {
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

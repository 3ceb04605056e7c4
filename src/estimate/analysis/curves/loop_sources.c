/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the lines of each loop come from (rates/line_sources.h): look-ups in a large table wait for
 * memory, in the same program in which most lines come from the second cache.
 */
#include <math.h>
#include <stdlib.h>

#include "analysis/internal.h"
#include "support/memory.h"

/* Its new lines; those of all loops are added to *all. */
static struct new_lines *new_lines_of(const struct analysis *analysis, struct new_lines *all)
{
    const struct loop_rates *rates = &analysis->rates;
    struct new_lines *of = allocate_zeroed(rates->count + 1, sizeof *of);

    for (size_t p = 0; p < analysis->profile_count; p++)
        for (size_t i = 0; i < analysis->profiles[p]->progress.count; i++) {
            const struct record_progress *record = analysis->profiles[p]->progress.items[i];

            line_sources_add(record, &of[loop_rates_find(rates, p, record->loop)]);
        }
    for (size_t i = 0; i < rates->count; i++)
        line_sources_join(&of[i], all);
    return of;
}

/* With few bursts a loop's own misses are chance: those of all count as so many bursts of it. */
static const double bursts_of_all = 2;

static double drawn_to(double own, double all, double bursts)
{
    return (bursts * own + bursts_of_all * all) / (bursts + bursts_of_all);
}

static struct line_sources drawn_together(struct line_sources own, const struct line_sources *all,
                                          double bursts)
{
    return (struct line_sources){drawn_to(own.second, all->second, bursts),
                                 drawn_to(own.third, all->third, bursts),
                                 drawn_to(own.memory, all->memory, bursts)};
}

/* The probes of each loop; the caller frees what they list, and the subsets. */
static struct subset *subsets_of(const struct analysis *analysis, uint32_t **members)
{
    size_t loops = analysis->rates.count, begin = 0;
    struct subset *subsets = allocate_zeroed(loops + 1, sizeof *subsets);
    size_t *end = allocate_zeroed(loops + 1, sizeof *end); /* of what is listed so far */

    *members = allocate(analysis->probe_count + 1, sizeof **members);
    for (size_t b = 0; b < analysis->burst_count; b++)
        subsets[analysis->bursts[b].loop].member_count += analysis->bursts[b].probe_count;
    for (size_t i = 0; i < loops; i++) {
        subsets[i].members = *members + begin;
        end[i] = begin;
        begin += subsets[i].member_count;
    }
    for (size_t b = 0; b < analysis->burst_count; b++) {
        const struct analysed_burst *burst = &analysis->bursts[b];

        for (uint32_t k = 0; k < burst->probe_count; k++)
            (*members)[end[burst->loop]++] = burst->first_probe + k;
    }
    free(end);
    return subsets;
}

/* Where the lines of those loops come from of which something is told. */
static void find_loops(const struct analysis *analysis, const struct new_lines *of,
                       const double bytes[LINE_SOURCE_SIZES], struct program_line_sources *out)
{
    const struct loop_rates *rates = &analysis->rates;
    double *misses = allocate(rates->count * LINE_SOURCE_SIZES + 1, sizeof *misses);
    uint32_t *members;
    struct subset *subsets = subsets_of(analysis, &members);

    analysis_miss_ratios_of(analysis, subsets, rates->count, bytes, LINE_SOURCE_SIZES, misses);
    out->loops = allocate(rates->count + 1, sizeof *out->loops);
    for (size_t i = 0; i < rates->count; i++) {
        const double *ratios = misses + i * LINE_SOURCE_SIZES;

        if (of[i].lines > 0 && subsets[i].member_count > 0 && !isnan(ratios[0]))
            out->loops[out->count++] = (struct loop_line_sources){
                rates->loops[i].profile, rates->loops[i].loop,
                drawn_together(line_sources_of(&of[i], ratios), &out->rest, of[i].bursts)};
    }
    free(subsets);
    free(members);
    free(misses);
}

bool analysis_find_sources(const struct analysis *analysis, struct program_line_sources *out)
{
    struct new_lines all = {0}, *of = new_lines_of(analysis, &all);
    double bytes[LINE_SOURCE_SIZES], whole[LINE_SOURCE_SIZES];
    bool known;

    line_source_bytes(analysis->profiles[0], bytes);
    analysis_miss_ratios(analysis, (struct subset){0}, bytes, LINE_SOURCE_SIZES, whole);
    known = all.lines > 0 && !isnan(whole[0]);
    if (known) {
        *out = (struct program_line_sources){.rest = line_sources_of(&all, whole),
                                             .timed = timed_lines_of(&all, whole)};
        find_loops(analysis, of, bytes, out);
    }
    free(of);
    return known;
}

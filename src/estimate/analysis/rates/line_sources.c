/* SPDX-License-Identifier: BSD-3-Clause */
/* See line_sources.h. */
#include "analysis/rates/line_sources.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/rates/modelled_burst.h"
#include "machine/machine.h"
#include "support/memory.h"

void line_source_bytes(const struct profile *profile, double bytes[LINE_SOURCE_SIZES])
{
    static const double usual[LINE_SOURCE_SIZES] = {32 << 10, 1 << 20, 32 << 20};
    struct machine machine;
    bool known = machine_of_profile(profile, &machine);

    for (size_t i = 0; i < LINE_SOURCE_SIZES; i++) {
        bytes[i] = known && i < machine.levels ? (double)machine.caches[i].bytes : usual[i];
        if (i > 0 && bytes[i] < bytes[i - 1])
            bytes[i] = bytes[i - 1];
    }
}

/* So many lines what the curve says counts as, beside those that were timed (1 to 16: the same). */
static const double lines_of_curve = 4;
/* Cycles by which a line is later from memory than from the second cache, if nothing hides it. */
static const double scattered_cycles = 350 - PROGRESS_NEAR_LATENCY;
static const double sequence_cycles = 50 - PROGRESS_NEAR_LATENCY;

const struct line_sources line_sources_usual = {.second = 0.5, .third = 0.2, .memory = 0.05};

void line_sources_add(const struct record_progress *record, struct new_lines *sum)
{
    const struct progress_variable held = modelled_burst(record, PROGRESS_HELD_CYCLES);
    const struct progress_variable memory = modelled_burst(record, PROGRESS_MEMORY_LINES);

    /* Bursts stand for times: in that of one code has so many accesses. */
    if (held.within <= 0)
        return;
    sum->accesses += held.accesses / held.within;
    sum->lines += modelled_burst(record, PROGRESS_NEW_LINES).within / held.within;
    sum->scattered += modelled_burst(record, PROGRESS_SCATTERED_LINES).within / held.within;
    sum->bursts++;
    sum->timed += memory.accesses;
    sum->memory += memory.within;
    sum->memory_ns += modelled_burst(record, PROGRESS_MEMORY_NS).within;
}

void line_sources_join(const struct new_lines *lines, struct new_lines *sum)
{
    sum->accesses += lines->accesses;
    sum->lines += lines->lines;
    sum->bursts += lines->bursts;
    sum->scattered += lines->scattered;
    sum->memory += lines->memory;
    sum->memory_ns += lines->memory_ns;
    sum->timed += lines->timed;
}

/* The share of scattered lines that come from memory, by those that were timed, among which what
 * the curve says counts as a few. It is more than a cache of that size would miss: others use the
 * last cache as well, and where a page has to be looked up a line is as late as one from memory. */
static double scattered_from_memory(const struct new_lines *lines, double by_curve)
{
    return fmin(1, (fmax(0, lines->memory) + lines_of_curve * by_curve) /
                       (lines->timed + lines_of_curve));
}

/* Of all lines. Those in sequence, which are prefetched, are where the curve says. Each kind counts
 * by what a line of it costs the model more from memory than from the second cache. */
static double from_memory(const struct new_lines *lines, double by_curve)
{
    double scattered = lines->scattered * scattered_cycles;
    double in_sequence = (lines->lines - lines->scattered) * sequence_cycles;

    if (lines->timed <= 0 || scattered <= 0)
        return by_curve;
    return (scattered * scattered_from_memory(lines, by_curve) + in_sequence * by_curve) /
           (scattered + in_sequence);
}

/* By the curve alone. */
static struct line_sources sources_by_curve(const struct new_lines *lines,
                                            const double misses[LINE_SOURCE_SIZES])
{
    double per_access = lines->lines / lines->accesses;
    struct line_sources sources;

    sources.second = fmin(1, misses[0] / per_access);
    sources.third = fmin(sources.second, misses[1] / per_access);
    sources.memory = fmin(sources.third, misses[2] / per_access);
    return sources;
}

struct line_sources line_sources_of(const struct new_lines *lines,
                                    const double misses[LINE_SOURCE_SIZES])
{
    struct line_sources sources = sources_by_curve(lines, misses);

    sources.memory = from_memory(lines, sources.memory);
    sources.third = fmax(sources.third, sources.memory);
    sources.second = fmax(sources.second, sources.memory);
    return sources;
}

struct timed_lines timed_lines_of(const struct new_lines *lines,
                                  const double misses[LINE_SOURCE_SIZES])
{
    struct line_sources by_curve = sources_by_curve(lines, misses);
    struct timed_lines timed = {.timed = lines->timed, .memory = lines->memory};
    double in_third = by_curve.third - by_curve.memory;

    if (lines->memory > 0)
        timed.memory_ns = lines->memory_ns / lines->memory;
    if (lines->timed > 0 && in_third > 0)
        timed.third_from_memory =
            fmin(1, fmax(0, lines->memory / lines->timed - by_curve.memory) / in_third);
    return timed;
}

static int compare_loops(const void *left, const void *right)
{
    const struct loop_line_sources *a = left, *b = right;

    if (a->profile != b->profile)
        return a->profile < b->profile ? -1 : 1;
    return (a->loop > b->loop) - (a->loop < b->loop);
}

const struct line_sources *line_sources_of_loop(const struct program_line_sources *of,
                                                uint32_t profile, uint64_t loop)
{
    const struct loop_line_sources key = {.profile = profile, .loop = loop};
    const struct loop_line_sources *found = NULL;

    if (of->count > 0)
        found = bsearch(&key, of->loops, of->count, sizeof key, compare_loops);
    return found ? &found->sources : &of->rest;
}

bool line_sources_are_told(const struct profile *const *profiles, size_t profile_count)
{
    struct new_lines all = {0};

    for (size_t p = 0; p < profile_count; p++)
        for (size_t i = 0; i < profiles[p]->progress.count && all.lines == 0; i++)
            line_sources_add(profiles[p]->progress.items[i], &all);
    return all.lines > 0;
}

struct program_line_sources line_sources_copy(const struct program_line_sources *sources)
{
    struct program_line_sources copy = *sources;

    copy.loops = allocate(copy.count + 1, sizeof *copy.loops);
    for (size_t i = 0; i < copy.count; i++)
        copy.loops[i] = sources->loops[i];
    return copy;
}

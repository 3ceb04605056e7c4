/* SPDX-License-Identifier: BSD-3-Clause */
/* See line_sources.h. */
#include "analysis/rates/line_sources.h"

#include <math.h>
#include <stdlib.h>

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

const struct line_sources line_sources_usual = {.second = 0.5, .third = 0.2, .memory = 0.05};

void line_sources_add(const struct record_progress *record, struct new_lines *sum)
{
    double held = 0, lines = 0, of = 0;

    for (uint32_t k = 0; k < record->count; k++) {
        const struct progress_variable *variable = &record->variables[k];

        if (variable->kind != PROGRESS_MODEL)
            continue;
        if (variable->place == PROGRESS_HELD_CYCLES)
            held = variable->within;
        else if (variable->place == PROGRESS_NEW_LINES)
            lines = variable->within;
        of = variable->accesses;
    }
    /* Bursts stand for times: in that of one code has so many accesses. */
    if (held > 0) {
        sum->accesses += of / held;
        sum->lines += lines / held;
        sum->bursts++;
    }
}

struct line_sources line_sources_of(const struct new_lines *new_lines,
                                    const double misses[LINE_SOURCE_SIZES])
{
    double per_access = new_lines->lines / new_lines->accesses;
    struct line_sources sources;

    sources.second = fmin(1, misses[0] / per_access);
    sources.third = fmin(sources.second, misses[1] / per_access);
    sources.memory = fmin(sources.third, misses[2] / per_access);
    return sources;
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

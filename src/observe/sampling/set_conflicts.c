/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/set_conflicts.h"

#include <stddef.h>
#include <string.h>

#include "sampling/burst_internal.h"

#include "signal_safe.h"

struct conflict_cache conflict_cache_of(uint64_t bytes, uint32_t ways, uint32_t line_size)
{
    uint64_t sets = ways > 0 && line_size > 0 ? bytes / ways / line_size : 0;

    if (sets == 0 || (sets & (sets - 1)) != 0 || sets * ways > CONFLICT_LINES_MAX)
        return (struct conflict_cache){.sets = 64, .ways = 8};
    return (struct conflict_cache){.sets = (uint16_t)sets, .ways = (uint16_t)ways};
}

static bool may_crowd(const struct address_steps *steps)
{
    return steps->stride != 0 && steps->stride % CONFLICT_STEP == 0 && 2 * steps->even > steps->far;
}

static bool any_may_crowd(const struct address_steps *told, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (may_crowd(&told[i]))
            return true;
    return false;
}

static struct address_steps *steps_of(struct address_steps *told, uint32_t count, uint64_t ip)
{
    for (uint32_t i = 0; i < count; i++)
        if (told[i].ip == ip)
            return &told[i];
    return NULL;
}

/* The line becomes the first of its set. Returns whether it was there. */
static bool use_line(struct set_state *state, struct conflict_cache cache, uint64_t line)
{
    uint64_t *set = state->line + line % cache.sets * cache.ways;
    unsigned at = 0;
    bool there;

    while (at < cache.ways - 1u && set[at] != line + 1)
        at++;
    there = set[at] == line + 1;
    memmove(set + 1, set, at * sizeof *set);
    set[0] = line + 1;
    return there;
}

void set_conflicts_count(struct set_state *state, struct conflict_cache cache,
                         const struct burst *burst, struct address_steps *told, uint32_t count)
{
    const struct burst_touches *run = &burst->run;
    uint32_t lines = (uint32_t)cache.sets * cache.ways;

    if (!any_may_crowd(told, count))
        return;
    memset(state, 0, lines * sizeof *state->line);
    for (uint32_t touch = 0; touch < run->count; touch++) {
        uint16_t previous = run->previous[touch];
        bool there = use_line(state, cache, run->line[touch]);
        struct address_steps *steps;

        /* How many lines were used since is known of what probes were before. */
        if (previous == BURST_TOUCH_NONE || previous >= run->probes ||
            run->distance[previous] >= lines)
            continue;
        steps = steps_of(told, count, burst->accesses[run->access[touch]].ip);
        if (!steps)
            continue;
        steps->judged++;
        steps->crowded = (uint16_t)(steps->crowded + !there);
    }
}

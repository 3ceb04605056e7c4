/* SPDX-License-Identifier: BSD-3-Clause */
/* See set_conflicts.h. */
#include "analysis/curves/set_conflicts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/internal.h"
#include "reuse/sort_keys.h"
#include "support/memory.h"

enum { DEALS = 20 };

/* Conflicts are claimed beyond this many deviations, and this part of the misses. */
#define DEVIATIONS_MIN 4.0
#define PART_MIN 0.05

struct use {
    double time; /* to the next one; INFINITY: none was seen */
    double weight;
    uint32_t set;
};

/* Accesses of one set, by ascending time, that come after the set's ways were filled. */
static double missed_in_set(const struct use *uses, size_t n, double all, double ways)
{
    double weight = 0, held = 0, before = 0;

    for (size_t i = 0; i < n; i++)
        weight += uses[i].weight;
    for (size_t i = 0; i < n; i++) {
        /* Until this time every use from here on holds its line. */
        if (!isfinite(uses[i].time))
            return weight;
        held += (uses[i].time - before) * weight / all;
        if (held > ways)
            return weight;
        before = uses[i].time;
        weight -= uses[i].weight;
    }
    return 0;
}

/* Room for uses sorted by set, and where each set's begin. */
struct by_set {
    struct use *uses;
    size_t *first; /* sets + 2 */
};

/* uses are in order of time, and stay so within each set. */
static double misses_per_access(const struct use *uses, size_t n, uint32_t sets, double all,
                                double ways, struct by_set *sorted)
{
    double missed = 0;

    memset(sorted->first, 0, (sets + 2) * sizeof *sorted->first);
    for (size_t i = 0; i < n; i++)
        sorted->first[uses[i].set + 2]++;
    for (uint32_t s = 0; s < sets; s++)
        sorted->first[s + 2] += sorted->first[s + 1];
    for (size_t i = 0; i < n; i++)
        sorted->uses[sorted->first[uses[i].set + 1]++] = uses[i];
    for (uint32_t s = 0; s < sets; s++)
        missed += missed_in_set(sorted->uses + sorted->first[s],
                                sorted->first[s + 1] - sorted->first[s], all, ways);
    return missed / all;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Deals the sets out at random. */
static void deal(struct use *uses, size_t n, uint32_t sets, uint64_t *state)
{
    for (size_t i = 0; i < n; i++)
        uses[i].set = (uint32_t)(next_random(state) % sets);
}

/* Where an access that one of them stands for is used next. */
static size_t add_use(struct use *uses, size_t n, double time, double weight, uint64_t address,
                      uint32_t line_size, uint32_t sets)
{
    uses[n] = (struct use){time, weight, (uint32_t)(address / line_size % sets)};
    return n + 1;
}

/*
 * Uses in order of time: accesses that were resolved in their bursts, and watches for those that
 * were not; *all is their weight. keys: room for twice as many; unsorted: for as many.
 */
static size_t list_uses(const struct analysis *analysis, uint32_t sets, struct sort_key *keys,
                        struct use *unsorted, struct use *uses, double *all)
{
    uint32_t size = analysis->line_size;
    size_t n = 0;

    for (size_t i = 0; i < analysis->count; i++) {
        const struct analysed_sample *sample = &analysis->samples[i];
        uint32_t reuse = sample->record->reuse_time[line_size_index(size)];

        if (sample->weight > 0 && reuse != REUSE_TIME_NONE)
            n = add_use(unsorted, n, reuse, sample->weight, sample->record->address, size, sets);
    }
    for (size_t i = 0; i < analysis->watch_count; i++) {
        const struct analysed_watch *watch = &analysis->watches[i];
        bool used = watch->open.end == OPEN_USED;

        n = add_use(unsorted, n, used ? watch->ahead + watch->open.exit : INFINITY, watch->weight,
                    watch->record->address, size, sets);
    }
    for (size_t i = 0; i < n; i++)
        keys[i] = (struct sort_key){sort_key_of_time(unsorted[i].time), (uint32_t)i};
    const struct sort_key *sorted = sort_keys(keys, keys + n, n);
    *all = 0;
    for (size_t i = 0; i < n; i++) {
        uses[i] = unsorted[sorted[i].index];
        *all += uses[i].weight;
    }
    return n;
}

bool analysis_set_conflicts(const struct analysis *analysis, struct subset subset, uint64_t bytes,
                            uint32_t ways, struct set_conflicts *out)
{
    uint64_t sets = ways ? bytes / analysis->line_size / ways : 0;
    uint64_t state = 0x9e3779b97f4a7c15u ^ analysis->options.seed;
    double all = 0, sum = 0, squares = 0;
    size_t n = 0;

    *out = (struct set_conflicts){0};
    if (analysis->exact || subset.groups || subset.members || sets < 2 || sets > UINT32_MAX)
        return false;
    size_t room = analysis->count + analysis->watch_count + 1;
    struct use *uses = allocate(room, sizeof *uses), *unsorted = allocate(room, sizeof *unsorted);
    struct sort_key *keys = allocate(2 * room, sizeof *keys);
    struct by_set sorted = {allocate(room, sizeof *sorted.uses),
                            allocate(sets + 2, sizeof *sorted.first)};
    n = list_uses(analysis, (uint32_t)sets, keys, unsorted, uses, &all);
    if (n && all > 0) {
        out->misses = misses_per_access(uses, n, (uint32_t)sets, all, ways, &sorted);
        for (int i = 0; i < DEALS; i++) {
            deal(uses, n, (uint32_t)sets, &state);
            double misses = misses_per_access(uses, n, (uint32_t)sets, all, ways, &sorted);
            sum += misses;
            squares += misses * misses;
        }
        out->scattered = sum / DEALS;
        out->deviation = sqrt(fmax(0, squares / DEALS - out->scattered * out->scattered));
        double more = out->misses - out->scattered;
        out->conflicts = more > DEVIATIONS_MIN * out->deviation && more > PART_MIN * out->misses;
    }
    free(uses);
    free(unsorted);
    free(keys);
    free(sorted.uses);
    free(sorted.first);
    return n > 0;
}

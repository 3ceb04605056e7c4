/* SPDX-License-Identifier: BSD-3-Clause */
/* See set_conflicts.h. */
#include "analysis/set_conflicts.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/internal.h"

enum { DEALS = 20 };

/* Conflicts are claimed beyond this many deviations, and this part of the misses. */
#define DEVIATIONS_MIN 4.0
#define PART_MIN 0.05

struct use {
    double time; /* to the next one; INFINITY: none was seen */
    double weight;
    uint32_t set;
};

static int compare_uses(const void *a, const void *b)
{
    const struct use *x = a, *y = b;

    if (x->set != y->set)
        return x->set < y->set ? -1 : 1;
    return (x->time > y->time) - (x->time < y->time);
}

static double time_of(const struct analysis *analysis, const struct analysed_sample *sample)
{
    uint32_t reuse = sample->record->window_reuse[line_size_index(analysis->line_size)];

    if (reuse != REUSE_TIME_NONE)
        return reuse;
    return sample->end && sample->end->reason == WATCH_REUSED && sample->watched > 0
               ? sample->watched
               : INFINITY;
}

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

static double misses_per_access(struct use *uses, size_t n, double all, double ways)
{
    double missed = 0;

    qsort(uses, n, sizeof *uses, compare_uses);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && uses[end].set == uses[i].set; end++)
            ;
        missed += missed_in_set(uses + i, end - i, all, ways);
    }
    return missed / all;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void deal(struct use *uses, size_t n, uint32_t sets, uint64_t *state)
{
    for (size_t i = 0; i < n; i++)
        uses[i].set = (uint32_t)(next_random(state) % sets);
}

bool analysis_set_conflicts(const struct analysis *analysis, struct subset subset, uint64_t bytes,
                            uint32_t ways, struct set_conflicts *out)
{
    uint64_t sets = ways ? bytes / analysis->line_size / ways : 0;
    uint64_t state = 0x9e3779b97f4a7c15u ^ analysis->options.seed;
    struct use *uses;
    double all = 0, sum = 0, squares = 0;
    size_t n = 0;

    *out = (struct set_conflicts){0};
    if (analysis->exact || sets < 2 || !(uses = malloc((analysis->count + 1) * sizeof *uses)))
        return false;
    for (size_t i = 0; i < analysis->count; i++) {
        const struct analysed_sample *sample = &analysis->samples[i];
        if (subset.groups && subset.groups[i] != subset.group)
            continue;
        uses[n] = (struct use){time_of(analysis, sample), sample->weight,
                               (uint32_t)(sample->record->address / analysis->line_size % sets)};
        all += uses[n++].weight;
    }
    if (n && all > 0) {
        out->misses = misses_per_access(uses, n, all, ways);
        for (int i = 0; i < DEALS; i++) {
            deal(uses, n, (uint32_t)sets, &state);
            double misses = misses_per_access(uses, n, all, ways);
            sum += misses;
            squares += misses * misses;
        }
        out->scattered = sum / DEALS;
        out->deviation = sqrt(fmax(0, squares / DEALS - out->scattered * out->scattered));
        double more = out->misses - out->scattered;
        out->conflicts = more > DEVIATIONS_MIN * out->deviation && more > PART_MIN * out->misses;
    }
    free(uses);
    return n > 0;
}

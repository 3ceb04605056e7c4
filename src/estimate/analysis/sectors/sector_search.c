/* SPDX-License-Identifier: BSD-3-Clause */
/* See sector_search.h. */
#include "analysis/sectors/sector_search.h"

#include <math.h>
#include <stdlib.h>

#include "support/memory.h"

enum {
    PARTNERS_MAX = 4, /* groups that are extended by each structure, in each region */
    GROUP_MAX = 6     /* structures in a group */
};

/* Sets of structures with their misses. */
struct candidate {
    uint64_t isolated;
    unsigned ways;
};

struct search {
    struct sector_model *model;
    struct sector_level level;
    const uint64_t *eligible; /* by region */
    size_t regions;
    struct candidate *candidates;
    double *misses; /* [(candidate * regions + region) * SECTOR_SIDES + side] */
    size_t count;
};

struct sector_split sector_split_of(struct sector_level level, uint64_t isolated, unsigned ways)
{
    return (struct sector_split){isolated, ways * level.lines_per_way,
                                 (level.ways - ways) * level.lines_per_way};
}

static double isolated_misses(const struct search *search, size_t candidate, size_t region)
{
    return search->misses[(candidate * search->regions + region) * SECTOR_SIDES + SECTOR_ISOLATED];
}

static double all_misses(const struct search *search, size_t candidate, size_t region)
{
    return isolated_misses(search, candidate, region) +
           search->misses[(candidate * search->regions + region) * SECTOR_SIDES + SECTOR_REST];
}

/* Sets with structures that a region does not use are none of its. */
static bool is_eligible(const struct search *search, uint64_t set, size_t region)
{
    return (set & ~search->eligible[region]) == 0;
}

static bool is_known(const struct search *search, uint64_t isolated)
{
    for (size_t i = 0; i < search->count; i++)
        if (search->candidates[i].isolated == isolated)
            return true;
    return false;
}

/* Evaluates new sets in every number of ways and adds them to the candidates. */
static void try_sets(struct search *search, const uint64_t *sets, size_t n)
{
    unsigned choices = search->level.ways - 2 * search->level.least + 1;
    size_t added = n * choices, regions = search->regions;
    struct sector_split *splits = allocate(added + 1, sizeof *splits);

    search->candidates =
        reallocate(search->candidates, search->count + added, sizeof *search->candidates);
    search->misses = reallocate(search->misses, (search->count + added) * regions * SECTOR_SIDES,
                                sizeof *search->misses);
    for (size_t i = 0; i < added; i++) {
        unsigned ways = search->level.least + (unsigned)(i % choices);
        search->candidates[search->count + i] = (struct candidate){sets[i / choices], ways};
        splits[i] = sector_split_of(search->level, sets[i / choices], ways);
    }
    sector_misses(search->model, splits, added,
                  search->misses + search->count * regions * SECTOR_SIDES);
    search->count += added;
    free(splits);
}

/* The sets of `members` structures that leave a region least misses, best first; returns how many.
 */
static size_t best_sets(const struct search *search, size_t region, int members,
                        uint64_t sets[PARTNERS_MAX])
{
    double misses[PARTNERS_MAX];
    size_t n = 0;

    for (size_t i = 0; i < search->count; i++) {
        uint64_t isolated = search->candidates[i].isolated;
        double value = all_misses(search, i, region);
        size_t at = 0;
        if (__builtin_popcountll(isolated) != members || !is_eligible(search, isolated, region))
            continue;
        while (at < n && sets[at] != isolated)
            at++;
        if (at < n && value >= misses[at])
            continue;
        if (at == n && n == PARTNERS_MAX && value >= misses[--at])
            continue;
        n += at == n;
        for (; at > 0 && misses[at - 1] > value; at--) {
            sets[at] = sets[at - 1];
            misses[at] = misses[at - 1];
        }
        sets[at] = isolated;
        misses[at] = value;
    }
    return n;
}

/* The best sets of one size, each with one structure more. */
static void extend(struct search *search, int members)
{
    size_t capacity = search->regions * PARTNERS_MAX * SECTOR_STRUCTURES_MAX, n = 0;
    uint64_t *sets = allocate(capacity, sizeof *sets);

    for (size_t region = 0; region < search->regions; region++) {
        uint64_t best[PARTNERS_MAX];
        size_t count = best_sets(search, region, members, best);
        for (size_t i = 0; i < count; i++) {
            for (unsigned s = 0; s < SECTOR_STRUCTURES_MAX; s++) {
                uint64_t set = best[i] | (uint64_t)1 << s;
                bool is_new =
                    is_eligible(search, set, region) && set != best[i] && !is_known(search, set);
                for (size_t k = 0; k < n && is_new; k++)
                    is_new = sets[k] != set;
                if (is_new)
                    sets[n++] = set;
            }
        }
    }
    if (n)
        try_sets(search, sets, n);
    free(sets);
}

/* Adds a set to those that are to be tried, unless it is known or among them. */
static void add_new(const struct search *search, uint64_t set, uint64_t *sets, size_t *n)
{
    for (size_t i = 0; i < *n; i++)
        if (sets[i] == set)
            return;
    if (set && !is_known(search, set))
        sets[(*n)++] = set;
}

/*
 * Whether to give what is kept a large sector or what streams by a small one is the same to the
 * cache. The other side of the best set of each size: all of it, and as many as matter, the first
 * structures first.
 */
static void turn_round(struct search *search)
{
    for (size_t region = 0; region < search->regions; region++) {
        uint64_t sets[GROUP_MAX + SECTOR_STRUCTURES_MAX];
        size_t n = 0;
        for (int members = 1; members <= GROUP_MAX; members++) {
            uint64_t best[PARTNERS_MAX], other, set = 0;
            if (best_sets(search, region, members, best) == 0)
                break;
            other = search->eligible[region] & ~best[0];
            add_new(search, other, sets, &n);
            for (unsigned s = 0; members == 1 && s < SECTOR_STRUCTURES_MAX; s++)
                if (other >> s & 1)
                    add_new(search, set |= (uint64_t)1 << s, sets, &n);
        }
        if (n)
            try_sets(search, sets, n);
    }
}

/* Does any region do better by more than its tolerance with the candidates from `first` on? */
static bool has_improved(const struct search *search, size_t first, const double *tolerance,
                         const struct sector_choice *choices)
{
    for (size_t r = 0; r < search->regions; r++) {
        double before = choices[r].undivided, after = INFINITY;
        for (size_t i = 0; i < search->count; i++) {
            double misses = all_misses(search, i, r);
            if (!is_eligible(search, search->candidates[i].isolated, r))
                continue;
            if (i < first)
                before = fmin(before, misses);
            else
                after = fmin(after, misses);
        }
        if (after < before - tolerance[r] * choices[r].undivided)
            return true;
    }
    return false;
}

static int structures_in(const struct candidate *candidate)
{
    return __builtin_popcountll(candidate->isolated);
}

/* Of two that miss nearly alike: the smaller sector, fewer structures, those that miss anyway. */
static bool is_simpler(const struct search *search, size_t a, size_t b, size_t region)
{
    const struct candidate *x = &search->candidates[a], *y = &search->candidates[b];

    if (x->ways != y->ways)
        return x->ways < y->ways;
    if (structures_in(x) != structures_in(y))
        return structures_in(x) < structures_in(y);
    return isolated_misses(search, a, region) > isolated_misses(search, b, region);
}

/* Misses, with what a model may promise too much. */
static double expected_misses(const struct search *search, size_t candidate, size_t region,
                              double undivided)
{
    struct sector_split split = sector_split_of(
        search->level, search->candidates[candidate].isolated, search->candidates[candidate].ways);

    return all_misses(search, candidate, region) +
           sector_model_error(search->model, &split, region) * undivided;
}

static void choose(const struct search *search, size_t region, double tolerance,
                   struct sector_choice *choice)
{
    double best = INFINITY;
    size_t chosen = SIZE_MAX;

    for (size_t i = 0; i < search->count; i++)
        if (is_eligible(search, search->candidates[i].isolated, region))
            best = fmin(best, expected_misses(search, i, region, choice->undivided));
    for (size_t i = 0; i < search->count; i++)
        if (is_eligible(search, search->candidates[i].isolated, region) &&
            expected_misses(search, i, region, choice->undivided) <=
                best + tolerance * choice->undivided &&
            (chosen == SIZE_MAX || is_simpler(search, i, chosen, region)))
            chosen = i;
    if (chosen == SIZE_MAX)
        return;
    choice->isolated = search->candidates[chosen].isolated;
    choice->ways = search->candidates[chosen].ways;
    choice->misses = all_misses(search, chosen, region);
}

static void measure_undivided(const struct search *search, struct sector_choice *choices)
{
    struct sector_split whole = sector_split_of(search->level, 0, 0);
    double values[SECTOR_REGIONS_MAX * SECTOR_SIDES];

    sector_misses(search->model, &whole, 1, values);
    for (size_t r = 0; r < search->regions; r++)
        choices[r] = (struct sector_choice){.undivided = values[r * SECTOR_SIDES],
                                            .misses = values[r * SECTOR_SIDES]};
}

void sector_search(struct sector_model *model, struct sector_level level, const uint64_t *eligible,
                   size_t regions, const double *tolerance, struct sector_choice *choices)
{
    struct search search = {
        .model = model, .level = level, .eligible = eligible, .regions = regions};
    uint64_t singles[SECTOR_STRUCTURES_MAX], any = 0;
    size_t n = 0;

    measure_undivided(&search, choices);
    if (level.ways < 2 * level.least)
        return;
    for (size_t r = 0; r < regions; r++)
        any |= eligible[r];
    for (unsigned s = 0; s < SECTOR_STRUCTURES_MAX; s++)
        if (any >> s & 1)
            singles[n++] = (uint64_t)1 << s;
    if (n)
        try_sets(&search, singles, n);
    /* One structure may gain nothing without a second one; after that each has to. */
    bool improved = true;
    for (int members = 1; members < GROUP_MAX && improved; members++) {
        size_t before = search.count;
        extend(&search, members);
        improved = members < 2 || has_improved(&search, before, tolerance, choices);
    }
    turn_round(&search);
    for (size_t r = 0; r < regions; r++)
        choose(&search, r, tolerance[r], &choices[r]);
    free(search.candidates);
    free(search.misses);
}

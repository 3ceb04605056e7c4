/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Divided caches from histograms of stack distances. What the engine counted in a divided cache
 * (SCOPE_PARTITION and its rest) answers for that structure or group alone; for others survival
 * curves are made of the distances in the undivided cache.
 */
#include <math.h>
#include <stdlib.h>

#include "analysis/sectors/exact_sectors.h"

/* An object that is followed by itself is noticed when it has some lines: so much of its
 * structure's uses may be missing. */
#define FOLLOWED_MIN 0.99

/* Whether what was followed is the whole of its structures. */
static bool is_complete(const struct exact_region *region, const struct followed *followed)
{
    double expected = 0, counted = 0;

    for (uint64_t left = followed->set; left; left &= left - 1)
        expected += region->structure_accesses[__builtin_ctzll(left)];
    for (size_t i = 0; i < followed->member_count; i++)
        counted += (double)followed->members[i]->accesses;
    return followed->rest && !followed->mixed && counted >= FOLLOWED_MIN * expected;
}

/* Several objects that were followed each by itself tell nothing of all of them. */
static bool is_one_part(const struct followed *followed)
{
    return followed->member_count == 1 ||
           (followed->member_count > 0 && followed->members[0]->key >> HISTOGRAM_GROUP_SHIFT != 0);
}

static const struct followed *followed_by(const struct sector_model *model,
                                          const struct sector_split *split, size_t region)
{
    const struct exact_region *exact = &model->exact->regions[region];

    for (size_t i = 0; i < exact->followed_count; i++)
        if (exact->followed[i].set == split->isolated && is_one_part(&exact->followed[i]) &&
            is_complete(exact, &exact->followed[i]))
            return &exact->followed[i];
    return NULL;
}

static double missed(const struct record_histogram *histogram, double lines)
{
    return (double)histogram->cold + exact_count_above(histogram, lines);
}

static double undivided(const struct exact_region *region, double lines)
{
    double misses = 0;

    for (size_t w = 0; w < region->whole_count; w++)
        misses += missed(region->wholes[w], lines);
    return misses;
}

/* Misses of one side of the split, in accesses. */
static double modelled_side(const struct exact_region *region, size_t structures,
                            const struct sector_split *split, bool isolated)
{
    struct partition_member members[SECTOR_STRUCTURES_MAX + 1];
    double accesses = 0, misses = 0;
    size_t n = 0;

    for (size_t s = 0; s <= structures; s++)
        accesses += region->modelled[s].accesses;
    for (size_t s = 0; s <= structures; s++) {
        bool is = s < structures && split->isolated >> s & 1;
        if (is == isolated && region->modelled[s].curve.count)
            members[n++] = (struct partition_member){&region->modelled[s].curve,
                                                     region->modelled[s].accesses / accesses};
    }
    double time = n ? partition_eviction_time(members, n,
                                              isolated ? split->isolated_lines : split->rest_lines)
                    : 0;
    for (size_t i = 0; i < n; i++)
        misses += members[i].share * accesses * survival_at(members[i].curve, time).survival;
    return misses;
}

/*
 * The model's own figure for the undivided cache differs a little from the count; what it says of
 * the division is taken relative to that.
 */
static void model_sides(const struct exact_region *region, size_t structures,
                        const struct sector_split *split, double *sides)
{
    double lines = split->isolated_lines + split->rest_lines;
    struct sector_split none = {0, 0, lines};
    double before = modelled_side(region, structures, &none, false);
    double factor = before > 0 ? undivided(region, lines) / before : 1;

    sides[SECTOR_REST] = factor * modelled_side(region, structures, split, false);
    sides[SECTOR_ISOLATED] = factor * modelled_side(region, structures, split, true);
}

/* What is of no structure, or of others, may make so much of the misses of a cache as large as the
 * smaller part for two sets to be the two sides of a division. */
#define OTHERS_MAX 0.01

/* What part of the misses of an undivided cache the structures of a set do not make. */
static double share_of_others(const struct exact_region *region, size_t structures, uint64_t set,
                              double lines)
{
    struct partition_member members[SECTOR_STRUCTURES_MAX + 1];
    double accesses = 0, all = 0, others = 0, time;
    size_t n = 0;

    for (size_t s = 0; s <= structures; s++)
        accesses += region->modelled[s].accesses;
    for (size_t s = 0; s <= structures; s++)
        if (region->modelled[s].curve.count)
            members[n++] = (struct partition_member){&region->modelled[s].curve,
                                                     region->modelled[s].accesses / accesses};
    time = n ? partition_eviction_time(members, n, lines) : 0;
    for (size_t s = 0; s <= structures; s++) {
        const struct modelled *modelled = &region->modelled[s];
        double misses = modelled->curve.count
                            ? modelled->accesses * survival_at(&modelled->curve, time).survival
                            : 0;
        all += misses;
        others += s < structures && set >> s & 1 ? 0 : misses;
    }
    return all > 0 ? others / all : 0;
}

/* What was followed and is the other side of a division but for what hardly misses. NULL: nothing.
 */
static const struct followed *other_side(const struct sector_model *model,
                                         const struct sector_split *split, size_t r)
{
    const struct exact_region *region = &model->exact->regions[r];

    for (size_t i = 0; i < region->followed_count; i++) {
        const struct followed *followed = &region->followed[i];
        if (!(followed->set & split->isolated) && is_one_part(followed) &&
            is_complete(region, followed) &&
            share_of_others(region, model->question.structures, split->isolated | followed->set,
                            fmin(split->isolated_lines, split->rest_lines)) <= OTHERS_MAX)
            return followed;
    }
    return NULL;
}

/*
 * An average over the whole run knows nothing of its phases. If the other side of the division was
 * counted in a part of its own, what the model is off by there it is off by here as well.
 */
static void correct_sides(const struct sector_model *model, const struct sector_split *split,
                          size_t r, double *sides)
{
    const struct exact_region *region = &model->exact->regions[r];
    const struct followed *followed = other_side(model, split, r);
    double modelled[SECTOR_SIDES];

    if (!followed)
        return;
    const struct sector_split turned = {followed->set, split->rest_lines, split->isolated_lines};
    model_sides(region, model->question.structures, &turned, modelled);
    sides[SECTOR_ISOLATED] += missed(followed->rest, split->isolated_lines) - modelled[SECTOR_REST];
    sides[SECTOR_REST] -= modelled[SECTOR_ISOLATED];
    for (size_t i = 0; i < followed->member_count; i++)
        sides[SECTOR_REST] += missed(followed->members[i], split->rest_lines);
    for (int side = 0; side < SECTOR_SIDES; side++)
        sides[side] = fmax(0, sides[side]);
}

/* In accesses. */
static void misses_of(const struct sector_model *model, const struct sector_split *split, size_t r,
                      double *sides)
{
    const struct exact_region *region = &model->exact->regions[r];
    const struct followed *followed = followed_by(model, split, r);

    sides[SECTOR_REST] = sides[SECTOR_ISOLATED] = 0;
    if (split->isolated == 0) {
        sides[SECTOR_REST] = undivided(region, split->rest_lines);
    } else if (followed) {
        sides[SECTOR_REST] = missed(followed->rest, split->rest_lines);
        for (size_t i = 0; i < followed->member_count; i++)
            sides[SECTOR_ISOLATED] += missed(followed->members[i], split->isolated_lines);
    } else if (region->modelled) {
        model_sides(region, model->question.structures, split, sides);
        correct_sides(model, split, r, sides);
    } else {
        sides[SECTOR_REST] = undivided(region, split->isolated_lines + split->rest_lines);
    }
}

void exact_sectors_misses(const struct sector_model *model, const struct sector_split *splits,
                          size_t n, double *values)
{
    size_t regions = model->question.regions;

    for (size_t i = 0; i < n * regions; i++) {
        double accesses = model->exact->regions[i % regions].accesses;
        double *sides = values + i * SECTOR_SIDES;
        misses_of(model, &splits[i / regions], i % regions, sides);
        for (int side = 0; side < SECTOR_SIDES; side++)
            sides[side] = accesses > 0 ? sides[side] / accesses : 0;
    }
}

enum sector_basis exact_sectors_basis(const struct sector_model *model,
                                      const struct sector_split *split, size_t region)
{
    if (split->isolated == 0 || followed_by(model, split, region))
        return SECTOR_EXACT;
    return model->exact->regions[region].modelled ? SECTOR_MODELLED : SECTOR_UNKNOWN;
}

/* Misses of a followed set, alone on one side of a division, that the model is short of; negative:
 * that it has too many. */
static double shortfall(const struct exact_region *region, size_t structures,
                        const struct followed *followed, const struct sector_split *split,
                        bool isolated)
{
    const struct sector_split own = {followed->set,
                                     isolated ? split->isolated_lines : split->rest_lines,
                                     isolated ? split->rest_lines : split->isolated_lines};
    double modelled[SECTOR_SIDES], counted = 0;

    for (size_t i = 0; i < followed->member_count; i++)
        counted += missed(followed->members[i], own.isolated_lines);
    model_sides(region, structures, &own, modelled);
    return counted - modelled[SECTOR_ISOLATED];
}

double exact_sectors_model_error(const struct sector_model *model, const struct sector_split *split,
                                 size_t r)
{
    const struct exact_region *region = &model->exact->regions[r];
    double lines = split->isolated_lines + split->rest_lines, before = undivided(region, lines);
    double error = SECTOR_MODEL_ERROR;

    if (exact_sectors_basis(model, split, r) != SECTOR_MODELLED)
        return 0;
    if (before <= 0 || other_side(model, split, r))
        return error;
    for (size_t i = 0; i < region->followed_count; i++) {
        const struct followed *followed = &region->followed[i];
        bool inside = (followed->set & ~split->isolated) == 0;
        if (!is_one_part(followed) || !is_complete(region, followed) ||
            (!inside && (followed->set & split->isolated)))
            continue;
        error = fmax(error, shortfall(region, model->question.structures, followed, split, inside) /
                                before);
    }
    return error;
}

double exact_sectors_accesses(const struct sector_model *model, size_t region)
{
    return model->exact->regions[region].accesses;
}

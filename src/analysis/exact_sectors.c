/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Divided caches from histograms of stack distances. What the engine counted in a divided cache
 * (SCOPE_PARTITION and its rest) answers for that structure or group alone; for others survival
 * curves are made of the distances in the undivided cache (reuse/partition.h).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/sectors_internal.h"

/*
 * A set of structures that the engine followed, in a part of its own and in the rest: one by
 * itself, or a group. It counts only if all that the structures consist of was followed together,
 * and nothing else.
 */
struct followed {
    uint64_t set; /* bits */
    const struct record_histogram **members;
    size_t member_count;
    const struct record_histogram *rest;
    bool mixed; /* with something that is no structure, or counted more than once */
};

/* A structure in one region; the last one is everything that is none. */
struct modelled {
    double accesses;
    struct survival_curve curve; /* count 0: it makes no accesses */
};

struct exact_region {
    const struct record_histogram **wholes;
    size_t whole_count;
    double accesses;
    struct followed *followed;
    size_t followed_count;
    double *structure_accesses; /* by structure; as counted in the undivided cache */
    struct modelled *modelled;  /* by structure, and one more; NULL: objects are not known */
};

struct exact_sectors {
    struct exact_region regions[SECTOR_REGIONS_MAX];
};

static bool lies_in(const struct sector_model *model, size_t histogram, size_t region)
{
    return model->question.regions_of[histogram] >> region & 1;
}

/* What was followed as this histogram says: the set that it is of, added if it is new. */
static struct followed *followed_as(struct exact_region *region, size_t *numbers,
                                    const struct record_histogram *record, size_t structure)
{
    size_t group = record->key >> HISTOGRAM_GROUP_SHIFT;
    /* Structures by themselves come first, groups after all of them. */
    size_t number = group ? SECTOR_STRUCTURES_MAX + group : structure;
    size_t i = 0;

    while (i < region->followed_count && numbers[i] != number)
        i++;
    if (i == region->followed_count) {
        struct followed *followed = realloc(region->followed, (i + 1) * sizeof *region->followed);
        if (!followed)
            return NULL;
        region->followed = followed;
        followed[i] = (struct followed){0};
        numbers[i] = number;
        region->followed_count++;
    }
    return &region->followed[i];
}

static int follow(struct exact_region *region, size_t *numbers,
                  const struct record_histogram *record, size_t structure, bool is_structure)
{
    struct followed *followed;

    if (!is_structure && record->key >> HISTOGRAM_GROUP_SHIFT == 0)
        return 0;
    followed = followed_as(region, numbers, record, structure);
    if (!followed)
        return -1;
    if (record->scope == SCOPE_PARTITION_REST) {
        followed->mixed |= followed->rest != NULL;
        followed->rest = record;
        return 0;
    }
    const struct record_histogram **members =
        realloc(followed->members, (followed->member_count + 1) * sizeof *members);
    if (!members)
        return -1;
    followed->members = members;
    members[followed->member_count++] = record;
    if (is_structure)
        followed->set |= UINT64_C(1) << structure;
    else
        followed->mixed |= record->accesses > 0;
    return 0;
}

/* Sorts the region's histograms by what they tell. */
static int collect(const struct sector_model *model, size_t region, struct exact_region *out)
{
    const struct analysis *analysis = model->analysis;
    size_t structures = model->question.structures, n = analysis->histogram_count;
    size_t *numbers = malloc((n + 1) * sizeof *numbers);
    int result = 0;

    out->wholes = malloc((n + 1) * sizeof(*out->wholes));
    out->structure_accesses = calloc(structures + 1, sizeof *out->structure_accesses);
    if (!numbers || !out->wholes || !out->structure_accesses)
        result = -1;
    for (size_t i = 0; i < n && result == 0; i++) {
        const struct record_histogram *record = analysis->histograms[i].record;
        size_t structure = model->question.structure_of[i];
        bool is_structure = structure < structures;
        if (record->measure != MEASURE_STACK_DISTANCE || !lies_in(model, i, region))
            continue;
        if (record->scope == SCOPE_PROCESS || record->scope == SCOPE_REGION) {
            out->wholes[out->whole_count++] = record;
            out->accesses += (double)record->accesses;
        } else if (record->scope == SCOPE_OBJECT && is_structure) {
            out->structure_accesses[structure] += (double)record->accesses;
        } else if (record->scope == SCOPE_PARTITION || record->scope == SCOPE_PARTITION_REST) {
            result = follow(out, numbers, record, structure, is_structure);
        }
    }
    free(numbers);
    return result;
}

/*
 * Within the wider bins of objects (struct histogram_bin) an object's uses are taken to lie as all
 * uses lie.
 */
static void spread(double *counts, const double *all, const struct histogram_bin *bin)
{
    uint32_t end = bin->bin + bin->more + 1;
    double sum = 0;

    for (uint32_t b = bin->bin; b < end; b++)
        sum += all[b];
    for (uint32_t b = bin->bin; b < end; b++)
        counts[b] += (double)bin->count * (sum > 0 ? all[b] / sum : 1.0 / (end - bin->bin));
}

/* Bins of regions are wide as well. */
static void spread_evenly(double *counts, const struct histogram_bin *bin)
{
    for (uint32_t b = bin->bin; b <= bin->bin + bin->more; b++)
        counts[b] += (double)bin->count / (bin->more + 1);
}

/* From counts by distance to misses by size, in place: entry b then is what misses in a cache of as
 * many lines as the bin begins with, per access. */
static void accumulate(double *counts, double cold, double accesses)
{
    double missed = cold;

    for (uint32_t b = HISTOGRAM_BIN_COUNT; b-- > 0;) {
        missed += counts[b];
        counts[b] = accesses > 0 ? missed / accesses : 0;
    }
}

struct model_tables {
    double *lines, *all;   /* by bin */
    double *counts, *cold; /* by structure and bin; by structure */
};

static void add_objects(const struct sector_model *model, size_t region,
                        const struct exact_region *exact, struct model_tables *tables)
{
    const struct analysis *analysis = model->analysis;
    size_t structures = model->question.structures;

    for (size_t w = 0; w < exact->whole_count; w++)
        for (uint32_t b = 0; b < exact->wholes[w]->bin_count; b++)
            spread_evenly(tables->all, &exact->wholes[w]->bins[b]);
    for (size_t i = 0; i < analysis->histogram_count; i++) {
        const struct record_histogram *record = analysis->histograms[i].record;
        size_t s = model->question.structure_of[i];
        if (record->measure != MEASURE_STACK_DISTANCE || record->scope != SCOPE_OBJECT ||
            !lies_in(model, i, region))
            continue;
        s = s < structures ? s : structures;
        tables->cold[s] += (double)record->cold;
        exact->modelled[s].accesses += (double)record->accesses;
        for (uint32_t b = 0; b < record->bin_count; b++)
            spread(tables->counts + s * HISTOGRAM_BIN_COUNT, tables->all, &record->bins[b]);
    }
}

static int make_curves(const struct exact_region *exact, size_t structures,
                       struct model_tables *tables)
{
    double accesses = 0, cold = 0;

    memset(tables->all, 0, HISTOGRAM_BIN_COUNT * sizeof *tables->all);
    for (size_t s = 0; s <= structures; s++) {
        accesses += exact->modelled[s].accesses;
        cold += tables->cold[s];
        for (uint32_t b = 0; b < HISTOGRAM_BIN_COUNT; b++)
            tables->all[b] += tables->counts[s * HISTOGRAM_BIN_COUNT + b];
    }
    accumulate(tables->all, cold, accesses);
    for (uint32_t b = 0; b < HISTOGRAM_BIN_COUNT; b++)
        tables->lines[b] = (double)histogram_bin_low(b);
    for (size_t s = 0; s <= structures; s++) {
        struct modelled *modelled = &exact->modelled[s];
        if (modelled->accesses <= 0)
            continue;
        accumulate(tables->counts + s * HISTOGRAM_BIN_COUNT, tables->cold[s], modelled->accesses);
        if (partition_survival_of_misses(tables->lines, tables->all,
                                         tables->counts + s * HISTOGRAM_BIN_COUNT,
                                         HISTOGRAM_BIN_COUNT, &modelled->curve))
            return -1;
    }
    return 0;
}

static bool knows_objects(const struct sector_model *model, size_t region)
{
    for (size_t i = 0; i < model->analysis->histogram_count; i++)
        if (model->analysis->histograms[i].record->scope == SCOPE_OBJECT &&
            lies_in(model, i, region))
            return true;
    return false;
}

static int create_model(const struct sector_model *model, size_t region, struct exact_region *exact)
{
    size_t structures = model->question.structures;
    struct model_tables tables = {calloc(HISTOGRAM_BIN_COUNT, sizeof(double)),
                                  calloc(HISTOGRAM_BIN_COUNT, sizeof(double)),
                                  calloc((structures + 1) * HISTOGRAM_BIN_COUNT, sizeof(double)),
                                  calloc(structures + 1, sizeof(double))};
    int result = -1;

    exact->modelled = calloc(structures + 1, sizeof *exact->modelled);
    if (exact->modelled && tables.lines && tables.all && tables.counts && tables.cold) {
        add_objects(model, region, exact, &tables);
        result = make_curves(exact, structures, &tables);
    }
    free(tables.lines);
    free(tables.all);
    free(tables.counts);
    free(tables.cold);
    return result;
}

int exact_sectors_create(struct sector_model *model)
{
    int result = 0;

    model->exact = calloc(1, sizeof *model->exact);
    if (!model->exact)
        return -1;
    for (size_t r = 0; r < model->question.regions && result == 0; r++) {
        result = collect(model, r, &model->exact->regions[r]);
        if (result == 0 && knows_objects(model, r))
            result = create_model(model, r, &model->exact->regions[r]);
    }
    return result;
}

void exact_sectors_free(struct sector_model *model)
{
    if (!model->exact)
        return;
    for (size_t r = 0; r < SECTOR_REGIONS_MAX; r++) {
        struct exact_region *region = &model->exact->regions[r];
        for (size_t s = 0; region->modelled && s <= model->question.structures; s++)
            survival_free(&region->modelled[s].curve);
        free(region->modelled);
        for (size_t i = 0; i < region->followed_count; i++)
            free(region->followed[i].members);
        free(region->followed);
        free(region->structure_accesses);
        free(region->wholes);
    }
    free(model->exact);
}

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
        misses += members[i].share * accesses * survival_at(members[i].curve, time)->survival;
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
                            ? modelled->accesses * survival_at(&modelled->curve, time)->survival
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

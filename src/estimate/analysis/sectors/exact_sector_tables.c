/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Histograms of stack distances, region by region: which sets of structures were followed in
 * divided caches, and survival curves of all structures from the distances in the undivided one
 * (reuse/partition.h).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/sectors/exact_sectors.h"
#include "profile/histogram_bin.h"
#include "support/memory.h"

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
        region->followed = reallocate(region->followed, i + 1, sizeof *region->followed);
        region->followed[i] = (struct followed){0};
        numbers[i] = number;
        region->followed_count++;
    }
    return &region->followed[i];
}

static void follow(struct exact_region *region, size_t *numbers,
                   const struct record_histogram *record, size_t structure, bool is_structure)
{
    struct followed *followed;

    if (!is_structure && record->key >> HISTOGRAM_GROUP_SHIFT == 0)
        return;
    followed = followed_as(region, numbers, record, structure);
    if (record->scope == SCOPE_PARTITION_REST) {
        followed->mixed |= followed->rest != NULL;
        followed->rest = record;
        return;
    }
    followed->members = reallocate(followed->members, followed->member_count + 1,
                                   sizeof(const struct record_histogram *));
    followed->members[followed->member_count++] = record;
    if (is_structure)
        followed->set |= UINT64_C(1) << structure;
    else
        followed->mixed |= record->accesses > 0;
}

/* Sorts the region's histograms by what they tell. */
static void collect(const struct sector_model *model, size_t region, struct exact_region *out)
{
    const struct analysis *analysis = model->analysis;
    size_t structures = model->question.structures, n = analysis->histogram_count;
    size_t *numbers = allocate(n + 1, sizeof *numbers);

    out->wholes = allocate(n + 1, sizeof(*out->wholes));
    out->structure_accesses = allocate_zeroed(structures + 1, sizeof *out->structure_accesses);
    for (size_t i = 0; i < n; i++) {
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
            follow(out, numbers, record, structure, is_structure);
        }
    }
    free(numbers);
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

static void make_curves(const struct exact_region *exact, size_t structures,
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
        partition_survival_of_misses(tables->lines, tables->all,
                                     tables->counts + s * HISTOGRAM_BIN_COUNT, HISTOGRAM_BIN_COUNT,
                                     &modelled->curve);
    }
}

static bool knows_objects(const struct sector_model *model, size_t region)
{
    for (size_t i = 0; i < model->analysis->histogram_count; i++)
        if (model->analysis->histograms[i].record->scope == SCOPE_OBJECT &&
            lies_in(model, i, region))
            return true;
    return false;
}

static void create_model(const struct sector_model *model, size_t region,
                         struct exact_region *exact)
{
    size_t structures = model->question.structures;
    struct model_tables tables = {
        allocate_zeroed(HISTOGRAM_BIN_COUNT, sizeof(double)),
        allocate_zeroed(HISTOGRAM_BIN_COUNT, sizeof(double)),
        allocate_zeroed((structures + 1) * HISTOGRAM_BIN_COUNT, sizeof(double)),
        allocate_zeroed(structures + 1, sizeof(double))};

    exact->modelled = allocate_zeroed(structures + 1, sizeof *exact->modelled);
    add_objects(model, region, exact, &tables);
    make_curves(exact, structures, &tables);
    free(tables.lines);
    free(tables.all);
    free(tables.counts);
    free(tables.cold);
}

void exact_sectors_create(struct sector_model *model)
{
    model->exact = allocate_zeroed(1, sizeof *model->exact);
    for (size_t r = 0; r < model->question.regions; r++) {
        collect(model, r, &model->exact->regions[r]);
        if (knows_objects(model, r))
            create_model(model, r, &model->exact->regions[r]);
    }
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

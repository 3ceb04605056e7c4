/* SPDX-License-Identifier: BSD-3-Clause */
/* Divided caches: bursts are evaluated here, profiles with histograms by exact_sectors.c. */
#include "analysis/sectors/sectors.h"

#include <stdlib.h>

#include "analysis/sectors/sectors_internal.h"
#include "support/memory.h"

enum { SEARCH_CELLS_MAX = 48 /* searches look at the cells with most weight */ };

struct sector_model *sector_model_create(const struct analysis *analysis,
                                         const struct sector_question *question)
{
    struct sector_model *model = allocate_zeroed(1, sizeof *model);

    model->analysis = analysis;
    model->question = *question;
    if (analysis->exact) {
        exact_sectors_create(model);
        return model;
    }
    sector_pieces_list(model);
    return model;
}

void sector_model_free(struct sector_model *model)
{
    if (!model)
        return;
    exact_sectors_free(model);
    sector_pieces_free(model);
    free(model);
}

void sector_misses(struct sector_model *model, const struct sector_split *splits, size_t n,
                   double *values)
{
    size_t cells = model->analysis->cell_count;

    if (model->analysis->exact)
        exact_sectors_misses(model, splits, n, values);
    else
        sector_replicate(model, 0, cells < SEARCH_CELLS_MAX ? cells : SEARCH_CELLS_MAX, splits, n,
                         values, NULL);
}

static struct estimate certain(double value)
{
    return (struct estimate){value, value, value};
}

/* In place, from two sides each to n sums. */
static void add_sides(double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        values[i] = values[i * SECTOR_SIDES] + values[i * SECTOR_SIDES + 1];
}

static void compare_exact(struct sector_model *model, const struct sector_split *splits, size_t n,
                          struct sector_outcome *outcomes)
{
    size_t regions = model->question.regions;
    double *values = allocate(n * regions * SECTOR_SIDES + 1, sizeof *values);

    exact_sectors_misses(model, splits, n, values);
    add_sides(values, n * regions);
    for (size_t i = 0; i < n * regions; i++)
        outcomes[i] = (struct sector_outcome){
            .misses = certain(values[i]),
            .reduction = certain(sector_reduction(values[i], values[i % regions]))};
    free(values);
}

void sector_compare(struct sector_model *model, const struct sector_split *splits, size_t n,
                    struct sector_outcome *outcomes)
{
    size_t stride = n * model->question.regions;
    uint32_t replicates;
    double *values, *unknown, *of_replicate;

    if (model->analysis->exact) {
        compare_exact(model, splits, n, outcomes);
        return;
    }
    replicates = replicate_count(model->analysis);
    /* The last replicate needs room for both sides before they are added up. */
    values = allocate((replicates + 1) * (stride + 1), sizeof *values);
    unknown = allocate(stride + 1, sizeof *unknown);
    of_replicate = allocate(replicates, sizeof *of_replicate);
    for (uint32_t r = 0; r < replicates; r++) {
        sector_replicate(model, r, model->analysis->cell_count, splits, n, values + r * stride,
                         r == 0 ? unknown : NULL);
        add_sides(values + r * stride, stride);
    }
    sector_intervals(model, values, unknown, n, of_replicate, outcomes);
    free(values);
    free(unknown);
    free(of_replicate);
}

enum sector_basis sector_basis(const struct sector_model *model, const struct sector_split *split,
                               size_t region)
{
    return model->analysis->exact ? exact_sectors_basis(model, split, region) : SECTOR_SAMPLED;
}

double sector_model_error(const struct sector_model *model, const struct sector_split *split,
                          size_t region)
{
    return model->analysis->exact ? exact_sectors_model_error(model, split, region) : 0;
}

struct estimate sector_accesses(const struct sector_model *model, size_t region)
{
    const struct analysis *analysis = model->analysis;

    if (analysis->exact)
        return certain(exact_sectors_accesses(model, region));
    uint32_t *groups = allocate(analysis->probe_count + 1, sizeof *groups);
    for (size_t i = 0; i < analysis->probe_count; i++)
        groups[i] = model->question.regions_of[i] >> region & 1;
    struct estimate out =
        analysis_subset_accesses(analysis, (struct subset){.groups = groups, .group = 1});
    free(groups);
    return out;
}

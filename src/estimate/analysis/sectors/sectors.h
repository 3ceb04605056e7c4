/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a program would miss if a cache were divided between its data structures, as the sector
 * cache of the A64FX does: some structures in ways of their own, everything else in the rest.
 *
 * Sampled profiles: the survival of each structure on the common clock (reuse/partition.h), phase
 * by phase as for any other curve. Exact profiles: the distances counted in divided caches where
 * the engine followed the structure, or that group, else the same model from its histograms;
 * sector_basis() tells.
 */
#ifndef REUSE_ANALYSIS_SECTORS_H
#define REUSE_ANALYSIS_SECTORS_H

#include "analysis/analysis.h"

enum { SECTOR_STRUCTURES_MAX = 64, SECTOR_REGIONS_MAX = 16 };
#define SECTOR_NO_STRUCTURE UINT32_MAX /* belongs to nothing that can be isolated */

/*
 * Observations are samples or, in exact profiles, histograms, as analysis.h numbers them. Of
 * histograms those are used that count objects (SCOPE_OBJECT, SCOPE_PARTITION and its rest: of a
 * structure, in every region of `regions`) and wholes (SCOPE_PROCESS, SCOPE_REGION: of no
 * structure).
 */
struct sector_question {
    const uint32_t *structure_of; /* by observation: 0 .. structures-1 or SECTOR_NO_STRUCTURE */
    size_t structures;
    const uint32_t *regions_of; /* by observation: bit r: it lies in region r */
    size_t regions;
};

/* isolated: bit s: structure s has its uses in the part of isolated_lines. 0: one cache of
 * rest_lines for everything. */
struct sector_split {
    uint64_t isolated;
    double isolated_lines, rest_lines;
};

struct sector_model;

/* The arrays of the question must outlive the model. */
struct sector_model *sector_model_create(const struct analysis *, const struct sector_question *);
void sector_model_free(struct sector_model *);

enum sector_basis {
    SECTOR_SAMPLED,  /* estimated from samples */
    SECTOR_EXACT,    /* counted in caches divided like this */
    SECTOR_MODELLED, /* from exact histograms of the undivided cache */
    SECTOR_UNKNOWN,  /* the profile does not tell for this region */
};
/* What modelled misses are off by on average at most, as a part of those of the undivided cache
 * (docs/sector-cache.md has the measurement). */
#define SECTOR_MODEL_ERROR 0.05

enum sector_basis sector_basis(const struct sector_model *, const struct sector_split *,
                               size_t region);

/*
 * What a modelled division has to promise, as a part of the misses of the undivided cache:
 * SECTOR_MODEL_ERROR, or what the model promises too much for structures of one side that were
 * counted alone in a part as large, in the same region. 0 for what is not modelled.
 */
double sector_model_error(const struct sector_model *, const struct sector_split *, size_t region);

/* The two sides of a division, as indexes. */
enum sector_side { SECTOR_REST = 0, SECTOR_ISOLATED = 1, SECTOR_SIDES = 2 };

/*
 * Misses per access of each region under each split, on each side:
 * values[(split * regions + region) * SECTOR_SIDES + side]. Estimates alone, from the phases that
 * hold most of the accesses: for searches. Lines may be INFINITY: cold misses.
 */
void sector_misses(struct sector_model *, const struct sector_split *, size_t n, double *values);

struct sector_outcome {
    struct estimate misses;    /* per access of the region */
    struct estimate reduction; /* 1 - misses / those under the first split; may be negative */
    double unknown;            /* misses per access that nobody observed, part of the estimate */
};

/*
 * The same with intervals, outcomes[split * regions + region]. The reduction is against split 0, in
 * the same replicates: what is uncertain in both does not count.
 */
void sector_compare(struct sector_model *, const struct sector_split *, size_t n,
                    struct sector_outcome *outcomes);

/* Accesses made in a region. */
struct estimate sector_accesses(const struct sector_model *, size_t region);

#endif

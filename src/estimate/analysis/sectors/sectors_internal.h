/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files that answer for divided caches share: the model, its pieces, a replicate. */
#ifndef REUSE_ANALYSIS_SECTORS_INTERNAL_H
#define REUSE_ANALYSIS_SECTORS_INTERNAL_H

#include "analysis/curves/line_pace.h"
#include "analysis/internal.h"
#include "analysis/sectors/sectors.h"
#include "reuse/partition.h"

struct sector_member {
    uint32_t structure; /* or SECTOR_NO_STRUCTURE */
    uint32_t regions;   /* bits */
};

/* A member's probes in one cell. */
struct sector_piece {
    uint32_t member, cell;
    size_t first, count;         /* range of `probes` */
    struct survival_curve curve; /* of the replicate that was estimated last */
    double weight;               /* likewise: accesses */
};

struct exact_sectors;

struct sector_model {
    const struct analysis *analysis;
    struct sector_question question;

    /* Probes. */
    uint32_t *member_of; /* by group of probes */
    struct sector_member *members;
    size_t member_count;
    struct sector_piece *pieces; /* cell after cell */
    size_t piece_count;
    uint32_t *probes;     /* groups, piece after piece */
    size_t *first_piece;  /* by cell, and one more */
    uint32_t *cell_order; /* most weight first */
    double *scratch;      /* by stratum: see sector_survival.c */

    struct exact_sectors *exact; /* exact profiles, instead of all that */
};

/* sector_pieces.c: members, pieces and the order of cells, from the question. */
void sector_pieces_list(struct sector_model *);
void sector_pieces_free(struct sector_model *);

/* sector_survival.c: the curve and the weight of each piece in a replicate. */
void sector_pieces_estimate(struct sector_model *, uint32_t replicate);

/*
 * sector_replicate.c: one replicate of all splits, over the first `cells` cells in order of weight.
 * misses as in sector_misses(); unknown[split * regions + region], or NULL.
 */
void sector_replicate(struct sector_model *, uint32_t replicate, size_t cells,
                      const struct sector_split *, size_t n, double *misses, double *unknown);

/* sector_intervals.c: the part of `before` that is gone; 0 if there was nothing. */
double sector_reduction(double misses, double before);

/*
 * The same: outcomes[split * regions + region] from values[replicate][split * regions + region] and
 * from unknown[split * regions + region]. of_replicate: room for a number of each replicate.
 */
void sector_intervals(const struct sector_model *, const double *values, const double *unknown,
                      size_t n, double *of_replicate, struct sector_outcome *outcomes);

/* exact_sector_tables.c and exact_sectors.c. */
void exact_sectors_create(struct sector_model *);
void exact_sectors_free(struct sector_model *);
void exact_sectors_misses(const struct sector_model *, const struct sector_split *, size_t n,
                          double *values);
enum sector_basis exact_sectors_basis(const struct sector_model *, const struct sector_split *,
                                      size_t region);
double exact_sectors_model_error(const struct sector_model *, const struct sector_split *,
                                 size_t region);
double exact_sectors_accesses(const struct sector_model *, size_t region);

#endif

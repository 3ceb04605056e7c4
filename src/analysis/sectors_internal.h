/* SPDX-License-Identifier: BSD-3-Clause */
/* What sectors.c and exact_sectors.c share. */
#ifndef REUSE_ANALYSIS_SECTORS_INTERNAL_H
#define REUSE_ANALYSIS_SECTORS_INTERNAL_H

#include "analysis/internal.h"
#include "analysis/sectors.h"
#include "reuse/partition.h"

struct sector_member {
    uint32_t structure; /* or SECTOR_NO_STRUCTURE */
    uint32_t regions;   /* bits */
};

struct sector_view {
    struct view view;
    uint32_t member;
    struct survival_curve curve; /* of the replicate that was estimated last */
};

/* Samples begin .. end-1 of a view: those of one cell. */
struct sector_piece {
    uint32_t view, begin, end;
};

struct exact_sectors;

struct sector_model {
    const struct analysis *analysis;
    struct sector_question question;

    /* Samples. */
    uint32_t *member_of; /* by sample */
    struct sector_member *members;
    size_t member_count;
    struct sector_view *views;
    size_t view_count;
    struct sector_piece *pieces;
    size_t *first_piece;  /* by cell, and one more */
    uint32_t *cell_order; /* most weight first */

    struct exact_sectors *exact; /* exact profiles, instead of all that */
};

/* exact_sector_tables.c and exact_sectors.c. 0 or -1: out of memory. */
int exact_sectors_create(struct sector_model *);
void exact_sectors_free(struct sector_model *);
void exact_sectors_misses(const struct sector_model *, const struct sector_split *, size_t n,
                          double *values);
enum sector_basis exact_sectors_basis(const struct sector_model *, const struct sector_split *,
                                      size_t region);
double exact_sectors_model_error(const struct sector_model *, const struct sector_split *,
                                 size_t region);
double exact_sectors_accesses(const struct sector_model *, size_t region);

#endif

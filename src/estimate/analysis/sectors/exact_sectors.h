/* SPDX-License-Identifier: BSD-3-Clause */
/* What exact_sector_tables.c makes of histograms and exact_sectors.c answers from. */
#ifndef REUSE_ANALYSIS_EXACT_SECTORS_H
#define REUSE_ANALYSIS_EXACT_SECTORS_H

#include "analysis/sectors/sectors_internal.h"

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

#endif

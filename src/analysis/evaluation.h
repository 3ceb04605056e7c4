/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the accesses of a subset do at given places of the reuse-time axis, in every replicate: what
 * curves, splits of misses and histograms are made of. For sampled profiles.
 */
#ifndef REUSE_ANALYSIS_EVALUATION_H
#define REUSE_ANALYSIS_EVALUATION_H

#include "analysis/internal.h"

static inline bool in_subset(struct subset subset, size_t index)
{
    return !subset.groups || subset.groups[index] == subset.group;
}

/* A place is a cache size (then the time depends on replicate and cell) or a time. */
struct places {
    const size_t *sizes; /* indexes of evictions.c, or NULL */
    const double *times; /* else these, in accesses */
    size_t n;
    bool value_only; /* the estimate without its replicates */
    bool averages;   /* by average eviction times alone, whatever windows counted */
};

/* shares[place * replicates + replicate]; cold[replicate]: in a cache that holds everything. */
struct results {
    struct miss_shares *shares;
    struct miss_shares *cold;
    size_t samples; /* of the subset */
};

/* Fills *out, for results_free(). 0, or -1: out of memory, nothing to free. */
int evaluate(const struct analysis *, struct subset, struct places, struct results *out);
/* At n cache sizes in bytes, ascending. */
int evaluate_sizes(const struct analysis *, struct subset, const double *bytes, size_t n,
                   struct results *out);
void results_free(struct results *);

/* Rule of three: what none of n samples shows may still be a 3/n part (95 %). */
double least_claim(size_t samples);

#endif

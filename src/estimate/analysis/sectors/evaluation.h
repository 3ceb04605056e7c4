/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the accesses of a subset do at given places of the reuse-time axis or in caches of given
 * sizes, in every replicate: what curves, splits of misses and histograms are made of. For sampled
 * profiles.
 */
#ifndef REUSE_ANALYSIS_EVALUATION_H
#define REUSE_ANALYSIS_EVALUATION_H

#include <math.h>

#include "analysis/internal.h"

static inline bool in_subset(struct subset subset, size_t index)
{
    return !subset.groups || subset.groups[index] == subset.group;
}

static inline void shares_add(struct miss_shares *sum, const struct miss_shares *one, double weight)
{
    sum->missed += weight * one->missed;
    sum->invalidated += weight * one->invalidated;
    sum->unknown += weight * one->unknown;
    sum->spared += weight * one->spared;
    sum->crossing += weight * one->crossing;
}

/* By the weight of all that was added. */
static inline void shares_divide(struct miss_shares *sum, double weight)
{
    if (!(weight > 0)) {
        *sum = (struct miss_shares){.missed = 1, .unknown = 1};
        return;
    }
    sum->missed = fmin(1, sum->missed / weight); /* rounding */
    sum->invalidated /= weight;
    sum->unknown /= weight;
    sum->spared /= weight;
    sum->crossing /= weight;
}

/* Of a stratum the first in what open_lines_at_size() returns: the estimate. */
static inline size_t at_stratum(const struct analysis *analysis, uint32_t stratum)
{
    return (size_t)stratum * replicate_count(analysis);
}

/* Places are cache sizes, or times. */
struct places {
    const double *lines; /* sizes, or NULL */
    const double *times; /* else these, in accesses: what is not used again up to then */
    size_t n;
    bool value_only; /* the estimate without its replicates */
};

/* shares[place * replicates + replicate]; cold[replicate]: in a cache that holds everything. */
struct results {
    struct miss_shares *shares;
    struct miss_shares *cold;
    double *accesses; /* of the subset, [replicate] */
    size_t bursts;    /* that have probes of the subset */
    double probes;    /* of the subset in one of them, on average */
    /* By place: bursts that show misses there, and the share of the subset's accesses that nothing
     * rules out among open lines of which none was seen to miss. */
    size_t *missing;
    double *open_claim;
    double open;   /* share of the subset's accesses whose line was not used again in the burst */
    bool *bounded; /* by place: a cache that holds all memory there is */
};

/* Fills *out, for results_free(). */
void evaluate(const struct analysis *, struct subset, struct places, struct results *out);
/* At n cache sizes in bytes. */
void evaluate_sizes(const struct analysis *, struct subset, const double *bytes, size_t n,
                    struct results *out);
void results_free(struct results *);

/*
 * What a place's interval cannot exclude. Where enough bursts show misses their own scatter tells;
 * what none of n independent observations shows may still be a 3/n part (rule of three, 95 %). A
 * burst is worth as many of them as the design effect says, and no more than it has probes.
 */
double least_claim(const struct analysis *, const struct results *, size_t place);

/*
 * The same for other threads' stores, which watches tell of and bursts do not: the share of
 * accesses whose line is still cached at its next use, unless such a store took it away, and of
 * which no watch excludes that. 0 where nothing was watched for them (there was one thread, or no
 * register), or all threads share one cache.
 */
double least_coherence(const struct analysis *, const struct results *, size_t place);

#endif

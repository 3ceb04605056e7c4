/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What accesses to a sample of the heap blocks say of all of them (block_choice.h has how the
 * sample is drawn, docs/estimators.md the reasoning).
 *
 * Every access to heap blocks that are chosen from is seen as such, whether its block is tracked or
 * not; whose block it is, only of tracked ones. A site's accesses are estimated by those to its
 * tracked blocks, each weighed by the inverse of the probability that its block was tracked
 * (Horvitz and Thompson 1952). What the sites do not account for belongs to blocks that are not
 * tracked: "heap, blocks not tracked", an object of its own. If the sites account for more than
 * all, which is chance, what is not certain is scaled down.
 *
 * Pure; no allocation. Accesses may be weighed before, in any unit.
 */
#ifndef REUSE_OBJECTS_BLOCK_SAMPLE_H
#define REUSE_OBJECTS_BLOCK_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

/* Accesses to the tracked blocks of one site that were tracked with one probability. */
struct tracked_accesses {
    uint32_t site;
    uint8_t tracked_log2; /* probability 2^-tracked_log2 */
    double accesses;
    double concentration; /* block_sample_concentration(), 0 .. 1 */
};

/*
 * How much of a site's accesses go to few blocks: the sum of the squares of its blocks' shares in
 * them, which is 1 for a single block and 1/n for n alike. Estimated without bias from observed
 * accesses, as the share of pairs that fall on one block (Simpson 1949). bases: the blocks'
 * addresses, one per observation, sorted. With fewer than two, 1: nothing is known.
 */
double block_sample_concentration(const uint64_t *sorted_bases, size_t count);

/*
 * Variance of an estimate that comes from the choice of blocks alone: (1 - p) / p^2 times the sum
 * of the squares of the accesses to each tracked block. That of the choice of accesses comes on
 * top.
 */
double block_sample_variance(const struct tracked_accesses *);

struct block_sample_estimate {
    double accesses;
    double variance; /* from the choice of blocks alone */
};

/*
 * estimates[i] for tracked[i], and *rest for the blocks that are not tracked: they add up to
 * `total`, the accesses to such heap blocks in all, which is at least the sum of the tracked ones.
 * Several entries of one site add up, variances too.
 */
void block_sample_estimate(const struct tracked_accesses *tracked, size_t count, double total,
                           struct block_sample_estimate *estimates,
                           struct block_sample_estimate *rest);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What share of a program's accesses each part of the memory system served, as a hardware unit saw
 * it: estimates from RECORD_SERVED, beside and independent of all that the profile's own samples
 * tell. The measured side of a comparison with modelled misses.
 *
 * Shares are ratios of weights. Intervals are Wilson's score intervals at 95 % for the effective
 * number of samples, (sum of weights)^2 / sum of squared weights (Kish); that samples which a unit
 * took together resemble each other is not in them.
 */
#ifndef REUSE_ANALYSIS_SERVED_H
#define REUSE_ANALYSIS_SERVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "access_level.h"
#include "estimate.h"
#include "profile/reader.h"

struct served_shares {
    uint64_t samples;           /* all, whether their source is told or not */
    uint64_t told;              /* those whose source is told */
    double effective;           /* number of samples of one weight that tell as much as `told` */
    double weight[LEVEL_COUNT]; /* by enum access_level, in events of the unit */
};

/*
 * Adds up what the profiles hold of such accesses: of one thread, or of all (thread_id 0); kinds:
 * ACCESS_LOAD, ACCESS_STORE, or both. A read-modify-write counts as a load and as a store, but
 * once. False without any.
 */
bool served_shares_of(const struct profile *const *profiles, size_t count, uint32_t thread_id,
                      unsigned kinds, struct served_shares *);

/* Share of one level among the accesses whose source is told. */
struct estimate served_share(const struct served_shares *, enum access_level);

/*
 * Share that the caches up to `cache` (1 .. 3) did not serve: what a model calls the miss ratio of
 * that cache. A line that is on its way into L1 already counts as served by L1, as in a model
 * where it was fetched by the access before. Other cores' caches and whatever lies behind L3 are
 * beyond all three.
 */
struct estimate served_beyond(const struct served_shares *, unsigned cache);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Misses because too many lines share a set, while others stand empty (conflict misses of Hill and
 * Smith's three kinds): a fully associative model does not see them.
 */
#ifndef REUSE_ANALYSIS_SET_CONFLICTS_H
#define REUSE_ANALYSIS_SET_CONFLICTS_H

#include "analysis/analysis.h"

struct set_conflicts {
    double misses;    /* per access, with the sets that the addresses have */
    double scattered; /* the same accesses with their sets dealt out at random, on average */
    double deviation; /* of the latter from draw to draw */
    bool conflicts;   /* more than chance and a twentieth of the misses explain */
};

/*
 * A cache that is indexed by virtual addresses (first levels), of `ways` ways, with LRU in each
 * set. Each set is a small cache of its own: it evicts at the time when the average reuse times of
 * the samples and watches in it fill its ways. The random deals go through the same estimate, so
 * that what the scarcity of samples does to it cancels. False: exact profiles have no addresses, a
 * subset's samples are not told apart, or there is no sample, or no sets.
 */
bool analysis_set_conflicts(const struct analysis *, struct subset, uint64_t bytes, uint32_t ways,
                            struct set_conflicts *out);

#endif

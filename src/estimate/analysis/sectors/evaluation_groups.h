/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of many subsets at once. */
#ifndef REUSE_ANALYSIS_EVALUATION_GROUPS_H
#define REUSE_ANALYSIS_EVALUATION_GROUPS_H

#include "analysis/sectors/evaluation.h"

/*
 * What evaluate() says at cache sizes (lines) of each of `count` subsets that have members listed,
 * and none in common: shares[subset * n + size], without replicates. Only where nothing was seen of
 * other threads' visits, which are known by time.
 */
void evaluate_groups(const struct analysis *, const struct subset *subsets, size_t count,
                     const double *lines, size_t n, struct miss_shares *shares);

#endif

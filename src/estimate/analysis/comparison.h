/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far an estimate is from the truth: two analyses of the same run, one from its samples, one
 * from counts of every access. Definitions of the measures: docs/fidelity.md.
 */
#ifndef REUSE_ANALYSIS_COMPARISON_H
#define REUSE_ANALYSIS_COMPARISON_H

#include <stddef.h>

#include "analysis/analysis.h"

struct comparison {
    size_t sizes; /* of ANALYSIS_CURVE_SIZES, those for which the estimate has a figure */
    double error; /* of the miss-ratio curve: mean of |estimate - truth| over these, 0..1 */
    double worst; /* the largest of them */
    double worst_bytes;
    double covered; /* share of these sizes at which the interval holds the truth */
    /* 1 - L1 / 2 over octaves and cold: 1 is perfect, 0 is disjoint. */
    double stack_distance_accuracy, reuse_time_accuracy;
};

/* Both at the same line size, of everything that they hold. */
void analysis_compare(const struct analysis *estimate, const struct analysis *truth,
                      struct comparison *);

#endif

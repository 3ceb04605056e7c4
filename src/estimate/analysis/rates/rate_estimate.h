/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The access rate of one loop from its readings. Pure. docs/estimators.md, "the access rate".
 *
 * A reading is accesses / elapsed from a random point in time on. Its expectation is the rate
 * averaged over time, so readings that are right are averaged arithmetically. An odometer that
 * is set back between two looks, or wraps, reads low, never high; accesses that were foreseen do
 * not, nor does an odometer of which it is known when the loop will end.
 */
#ifndef REUSE_ANALYSIS_RATE_ESTIMATE_H
#define REUSE_ANALYSIS_RATE_ESTIMATE_H

#include <stdbool.h>
#include <stddef.h>

#include "estimate.h"

struct rate_reading {
    double per_ns; /* > 0 */
    bool odometer; /* else accesses that were foreseen */
    bool can_wrap; /* an odometer of which that is not known */
    /* Error of its elapsed time, ns per access counted. Not in proportion to the time that happened
     * to elapse, or code that runs fast would count for less. */
    double noise;
    double deviation; /* of ln(rate), in common with other readings; 0 unless by progress */
};

struct rate_estimate {
    struct estimate per_ns;
    double log_deviation;      /* standard error of ln(per_ns), for replicates; > 0 unless n = 0 */
    double common_deviation;   /* of ln(per_ns), in common with all other loops */
    size_t readings, agreeing; /* agreeing: within 15 % of per_ns */
};

/* n >= 1; reorders readings. */
struct rate_estimate rate_combine(struct rate_reading *readings, size_t n);

#endif

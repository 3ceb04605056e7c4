/* SPDX-License-Identifier: BSD-3-Clause */
/* How a value spreads over the ranks of a job, and which ranks are apart or alike. Pure. */
#ifndef REUSE_POSTPROC_JOB_SPREAD_H
#define REUSE_POSTPROC_JOB_SPREAD_H

#include <stdbool.h>
#include <stddef.h>

#include "estimate.h"

/* Fewer values have no spread that one of them could stand out of. */
enum { SPREAD_VALUES_MIN = 5 };

/* Differences below this part of the other value do not matter, however certain they are. */
#define SPREAD_MATTERS 0.1

struct spread {
    size_t count;
    double least, lower, median, upper, most; /* quartiles: linear between the two nearest values */
    /*
     * As a standard deviation: 1.4826 times the median absolute deviation from the median, or,
     * where more than half of the values are equal, 1.2533 times the mean absolute deviation
     * (Iglewicz and Hoaglin, "How to Detect and Handle Outliers", ASQC 1993).
     */
    double scale;
};

/* Zeroed for no value. */
struct spread spread_of(const double *values, size_t count);

/*
 * How many scales a value is away from the median, with its sign; beyond SPREAD_OUTLIER it is an
 * outlier, as the same book has it. INFINITY where the scale is 0 and the value is another.
 */
double spread_score(const struct spread *, double value);
#define SPREAD_OUTLIER 3.5

/*
 * Whether a rank is apart from the others: an outlier by its score that differs by SPREAD_MATTERS,
 * whose interval does not hold the median. `factor`: interval_factor().
 */
bool spread_is_apart(const struct spread *, struct estimate, double factor);

/*
 * By what 95 % intervals are to be widened so that all of so many questions together are answered
 * with 95 % (Bonferroni, of normal intervals). At least 1.
 */
double interval_factor(size_t questions);

/* Whether two ranks are alike: the interval of the difference, widened, holds 0; or the difference
 * is below SPREAD_MATTERS of the larger. */
bool estimates_are_alike(struct estimate, struct estimate, double factor);

#endif

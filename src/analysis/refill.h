/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a program loses after a trap of ours, until its caches and predictors are filled again: part
 * of every stretch of time between two traps.
 */
#ifndef REUSE_ANALYSIS_REFILL_H
#define REUSE_ANALYSIS_REFILL_H

#include "profile/reader.h"

struct refill {
    double ns;        /* 0 where the profile tells no cost of a trap, or counts accesses */
    double deviation; /* standard error, ns */
};

/*
 * From the profile's own readings: in a loop with readings of different lengths, time grows by the
 * rate with each access, and what is left at no access is the refill. Least squares with a slope
 * for each loop and one intercept for all; before any reading it is taken as a twelfth of the cost
 * of a trap, give or take as much (0.5 us for 12 on an idle machine, 2 on a busy one).
 */
struct refill refill_estimate(const struct profile *);

/* A time between two traps without that; not less than half of it. */
double refill_set_off(const struct refill *, double elapsed_ns);

#endif

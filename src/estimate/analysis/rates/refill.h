/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every stretch of time between two traps of ours has too much: what the program loses until
 * its caches and predictors are filled again, and what a trap costs now beside what it cost when
 * the run began. Below 0 where traps have become cheaper since.
 */
#ifndef REUSE_ANALYSIS_REFILL_H
#define REUSE_ANALYSIS_REFILL_H

#include "profile/reader.h"

struct refill {
    double ns;        /* 0 where the profile tells no cost of a trap, or counts accesses */
    double deviation; /* standard error, ns */
};

/* A twelfth of the cost of a trap (0.5 us for 12 on an idle machine, 2 on a busy one), give or take
 * a sixth: by so much that cost changes between runs and within them. */
struct refill refill_estimate(const struct profile *);

/* A time between two traps without that; not less than half of the time. */
double refill_set_off(const struct refill *, double elapsed_ns);

#endif

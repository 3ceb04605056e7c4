/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every time between two traps of ours has too much: what the program loses after a trap until
 * its caches and predictors are filled again. After a burst it is much more: burst_losses.c.
 */
#ifndef REUSE_ANALYSIS_REFILL_H
#define REUSE_ANALYSIS_REFILL_H

#include "profile/reader.h"

/* ns: a twelfth of the cost of a trap (0.5 us for 12 on an idle machine, 2 on a busy one); 0 where
 * the profile tells no such cost, or counts accesses. */
double refill_estimate(const struct profile *);

/* A time between two traps without that; not less than half of the time. */
double refill_set_off(double refill_ns, double elapsed_ns);

#endif

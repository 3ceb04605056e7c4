/* SPDX-License-Identifier: BSD-3-Clause */
/* See refill.h. */
#include "analysis/rates/refill.h"

#include <math.h>

/* Of the cost of a trap. */
#define REFILL_SHARE (1.0 / 12)

double refill_estimate(const struct profile *profile)
{
    /* A count of accesses stands still while nothing is accessed. */
    if (profile_counts_accesses(profile))
        return 0;
    return REFILL_SHARE * fmax(0, profile_run_number(profile, "trap_cost_ns", 0));
}

double refill_set_off(double refill_ns, double elapsed_ns)
{
    return fmax(elapsed_ns - refill_ns, elapsed_ns / 2);
}

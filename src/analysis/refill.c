/* SPDX-License-Identifier: BSD-3-Clause */
/* See refill.h. */
#include "analysis/refill.h"

#include <math.h>

#define SHARE_OF_TRAP (1.0 / 12)

double refill_of(const struct profile *profile)
{
    /* A count of accesses stands still while nothing is accessed. */
    return profile_counts_accesses(profile)
               ? 0
               : SHARE_OF_TRAP * fmax(0, profile_run_number(profile, "trap_cost_ns", 0));
}

double refill_set_off(double refill_ns, double elapsed_ns)
{
    return fmax(elapsed_ns - refill_ns, elapsed_ns / 2);
}

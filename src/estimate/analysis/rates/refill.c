/* SPDX-License-Identifier: BSD-3-Clause */
/* See refill.h. */
#include "analysis/rates/refill.h"

#include <math.h>

/* As shares of the cost of a trap. */
#define MEAN_SHARE (1.0 / 12)
#define DEVIATION_SHARE (1.0 / 6)

struct refill refill_estimate(const struct profile *profile)
{
    double trap = profile_run_number(profile, "trap_cost_ns", 0);

    /* A count of accesses stands still while nothing is accessed. */
    if (trap <= 0 || profile_counts_accesses(profile))
        return (struct refill){0, 0};
    return (struct refill){.ns = MEAN_SHARE * trap, .deviation = DEVIATION_SHARE * trap};
}

double refill_set_off(const struct refill *refill, double elapsed_ns)
{
    return fmax(elapsed_ns - refill->ns, elapsed_ns / 2);
}

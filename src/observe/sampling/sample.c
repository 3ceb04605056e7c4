/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/sample.h"

#include "signal_safe.h"

uint64_t sample_period(struct random *random, uint64_t mean)
{
    return mean - mean / 4 +
           (uint64_t)((double)(random_next(random) >> 11) * 0x1p-53 * (double)(mean / 2));
}

uint64_t sample_first_period(struct random *random, uint64_t mean, uint64_t least)
{
    uint64_t period = 1 + (uint64_t)((double)(random_next(random) >> 11) * 0x1p-53 * (double)mean);

    if (least > mean / 4)
        least = mean / 4;
    return period > least ? period : least;
}

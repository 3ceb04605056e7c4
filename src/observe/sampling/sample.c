/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/sample.h"

#include "signal_safe.h"

uint64_t sample_period(struct random *random, uint64_t mean)
{
    return mean - mean / 4 +
           (uint64_t)((double)(random_next(random) >> 11) * 0x1p-53 * (double)(mean / 2));
}

uint64_t sample_first_period(struct random *random, uint64_t mean)
{
    enum { LEAST = 100000 };
    uint64_t least = mean / 4 < LEAST ? mean / 4 : LEAST;

    return least + 1 + (uint64_t)((double)(random_next(random) >> 11) * 0x1p-53 * (double)mean);
}

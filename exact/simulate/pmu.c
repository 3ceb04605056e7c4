/* SPDX-License-Identifier: BSD-3-Clause */
/* See pmu.h. */
#include "simulate/pmu.h"

#include "sampling/sample.h"

/* Uniform in [0, 1). */
static double uniform(struct random *random)
{
    return (double)(random_next(random) >> 11) * 0x1p-53;
}

void pmu_begin(struct simulated_pmu *pmu, const struct simulated_pmu_options *options,
               struct random *random)
{
    pmu->options = options;
    pmu->random = random;
    pmu->left = 1 + (uint64_t)(uniform(random) * (double)options->period);
}

bool pmu_overflow(struct simulated_pmu *pmu)
{
    uint64_t period = sample_period(pmu->random, pmu->options->period);

    pmu->left = period ? period : 1;
    return uniform(pmu->random) >= pmu->options->loss;
}

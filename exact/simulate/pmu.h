/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A simulated PMU of one thread: counts memory accesses and records every so many-th of them, as
 * PEBS, IBS and SPE do. A record is delivered some accesses after the one that it describes (skid),
 * and may be lost (a full buffer, a throttled interrupt). Pure; used by one thread at a time.
 */
#ifndef REUSE_EXACT_SIMULATE_PMU_H
#define REUSE_EXACT_SIMULATE_PMU_H

#include <stdbool.h>
#include <stdint.h>

#include "sampling/random.h"

struct simulated_pmu_options {
    uint64_t period; /* mean number of accesses from sample to sample, >= 1 */
    uint32_t skid;   /* accesses between the sampled one and the delivery of its record */
    double loss;     /* probability that a record is lost, 0..1 */
};

struct simulated_pmu {
    const struct simulated_pmu_options *options;
    struct random *random;
    uint64_t left; /* accesses until the next sample, that one included; >= 1 */
};

/* Starts anywhere in the first period, so that short threads are sampled as often as long ones. */
void pmu_begin(struct simulated_pmu *, const struct simulated_pmu_options *, struct random *);

/* The counter has run over, left is 0: sets it anew. False: the record is lost. */
bool pmu_overflow(struct simulated_pmu *);

#endif

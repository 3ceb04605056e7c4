/* SPDX-License-Identifier: BSD-3-Clause */
/* Intervals of what a division saves, from its replicates and from what nobody saw. */
#include <math.h>

#include "analysis/sectors/sectors_internal.h"

double sector_reduction(double misses, double before)
{
    return before > 0 ? 1 - misses / before : 0;
}

/* Replicates that draw hardly a miss say nothing of how many times more there could be. */
#define REDUCTION_MIN (-1.0)

static double bounded_reduction(double misses, double before)
{
    return fmax(REDUCTION_MIN, sector_reduction(misses, before));
}

/* Bursts with probes in a region. */
static size_t bursts_in(const struct sector_model *model, size_t region)
{
    uint32_t last = NO_BURST;
    size_t n = 0;

    for (size_t i = 0; i < model->analysis->probe_count; i++) {
        if (!(model->question.regions_of[i] >> region & 1) || model->analysis->probes[i].count == 0)
            continue;
        n += model->analysis->probes[i].burst != last;
        last = model->analysis->probes[i].burst;
    }
    return n;
}

/* What nobody saw until it would have been evicted may or may not be a miss, with and without the
 * division. */
static void add_unknown(struct sector_outcome *outcome, double unknown_before, double before)
{
    double misses = outcome->misses.value, known_before = before - unknown_before;

    outcome->misses.lo = fmax(0, outcome->misses.lo - outcome->unknown);
    if (outcome->unknown <= 0 && unknown_before <= 0)
        return;
    outcome->reduction.lo = fmin(outcome->reduction.lo, bounded_reduction(misses, known_before));
    outcome->reduction.hi =
        fmax(outcome->reduction.hi, bounded_reduction(misses - outcome->unknown, before));
}

void sector_intervals(const struct sector_model *model, const double *values, const double *unknown,
                      size_t n, double *of_replicate, struct sector_outcome *outcomes)
{
    uint32_t replicates = replicate_count(model->analysis);
    size_t regions = model->question.regions, stride = n * regions;

    for (size_t region = 0; region < regions; region++) {
        size_t bursts = bursts_in(model, region);
        /* What none of them shows may still be a 3/n part (95 %). */
        double floor = bursts ? fmin(1, 3.0 / (double)bursts) : 1;
        for (size_t i = region; i < stride; i += regions) {
            for (uint32_t r = 0; r < replicates; r++)
                of_replicate[r] = values[r * stride + i];
            outcomes[i].misses = replicate_interval(model->analysis, of_replicate,
                                                    values[i] > 0 ? 0 : floor, bursts);
            for (uint32_t r = 0; r < replicates; r++)
                of_replicate[r] =
                    bounded_reduction(values[r * stride + i], values[r * stride + region]);
            outcomes[i].reduction = replicate_spread(model->analysis, of_replicate, bursts);
            outcomes[i].reduction.value = sector_reduction(values[i], values[region]);
            outcomes[i].reduction.lo = fmin(outcomes[i].reduction.lo, outcomes[i].reduction.value);
            outcomes[i].unknown = unknown[i];
            add_unknown(&outcomes[i], unknown[region], values[region]);
            if (i == region || values[region] <= 0)
                continue;
            struct estimate *gain = &outcomes[i].reduction;
            gain->hi = fmin(gain->hi, 1);
        }
    }
}

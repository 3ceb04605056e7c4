/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "bursts/modelled_time.h"

#include "memory/scratch.h"

#include "signal_safe.h"

enum {
    WARM_AFTER = BURST_ACCESSES / 4,
    TELLS = BURST_ACCESSES / 8, /* accesses that say something, at least */
};

void modelled_time_begin(struct scratch *scratch)
{
    pipeline_begin(&scratch->pipeline);
    scratch->warm = (struct pipeline_time){0};
}

void modelled_time_follow(struct scratch *scratch)
{
    if (scratch->warm.accesses == 0 && scratch->pipeline.accesses >= WARM_AFTER)
        scratch->warm = pipeline_time(&scratch->pipeline);
}

static struct progress_variable clock_of(uint64_t place, uint32_t accesses, uint32_t cycles)
{
    return (struct progress_variable){
        .place = place, .kind = PROGRESS_MODEL, .accesses = accesses, .within = cycles};
}

unsigned modelled_time_list(const struct scratch *scratch, struct progress_variable *variables)
{
    struct pipeline_time now = pipeline_time(&scratch->pipeline);
    uint32_t accesses = now.accesses - scratch->warm.accesses;

    if (scratch->warm.accesses == 0 || accesses < TELLS)
        return 0;
    variables[0] =
        clock_of(PROGRESS_NEAR_CYCLES, accesses, now.near_cycles - scratch->warm.near_cycles);
    variables[1] =
        clock_of(PROGRESS_FAR_CYCLES, accesses, now.far_cycles - scratch->warm.far_cycles);
    return MODELLED_TIME_VARIABLES;
}

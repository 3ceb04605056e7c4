/* SPDX-License-Identifier: BSD-3-Clause */
#include "bursts/processor_speed.h"

#include <stdint.h>

#include "arch/arch.h"
#include "perf_events/timebase.h"

#include "signal_safe.h"

enum {
    TURNS = 48, /* of ARCH_UNROLLED instructions: 0.5 us of additions at 3 GHz */
    /* So many more of what may take an eighth of the time. */
    SHORT = 4,
    ROUNDS = 5,
    QUICK_ROUNDS = 2,
    LOOP = 2, /* instructions of a turn that count it */
};

static const struct pipeline_width usual = {.instructions = 4, .accesses = 2};

/* Of `turns` calls at once, in the fastest of so many rounds; 0: not longer than nothing takes. */
static uint64_t time_of(void (*run)(unsigned turns), unsigned turns, unsigned rounds)
{
    uint64_t least = UINT64_MAX, nothing = UINT64_MAX;

    for (unsigned i = 0; i < rounds; i++) {
        uint64_t before = monotonic_ns(), after, end;

        run(turns);
        after = monotonic_ns();
        end = monotonic_ns(); /* last, when the way to the clock is in the caches */
        nothing = end - after < nothing ? end - after : nothing;
        least = after - before < least ? after - before : least;
    }
    return least > nothing ? least - nothing : 0;
}

/* What one of `number` in each turn takes, in parts of a cycle, which is the time of one addition.
 */
static uint32_t part(uint64_t additions_ns, void (*run)(unsigned turns), unsigned number,
                     unsigned rounds, uint32_t unknown)
{
    uint64_t ns = time_of(run, SHORT * TURNS, rounds);
    uint64_t taken = ns * PIPELINE_CYCLE * ARCH_UNROLLED, within = SHORT * number * additions_ns;
    uint64_t parts = within > 0 ? (taken + within / 2) / within : 0;

    if (parts == 0)
        return unknown;
    if (parts < PIPELINE_CYCLE / PIPELINE_WIDEST)
        return PIPELINE_CYCLE / PIPELINE_WIDEST;
    return parts < PIPELINE_CYCLE ? (uint32_t)parts : PIPELINE_CYCLE;
}

/* From a store to a load of the same word, in parts of a cycle. */
static uint32_t forward(uint64_t additions_ns, unsigned rounds, uint32_t unknown)
{
    uint64_t ns = time_of(arch_forward, TURNS, rounds);

    return additions_ns > 0 && ns > 0 ? (uint32_t)(ns * PIPELINE_CYCLE * 2 / additions_ns)
                                      : unknown;
}

static struct pipeline_pace measure(unsigned rounds, struct pipeline_width width)
{
    struct pipeline_pace known = pipeline_pace_of(width);
    uint64_t additions_ns = time_of(arch_add, TURNS, rounds);

    return (struct pipeline_pace){
        .instruction =
            part(additions_ns, arch_mix, ARCH_UNROLLED + LOOP, rounds, known.instruction),
        .access = part(additions_ns, arch_load, ARCH_UNROLLED, rounds, known.access),
        .forward = forward(additions_ns, rounds, known.forward),
    };
}

struct pipeline_pace processor_pace(struct pipeline_width width)
{
    return measure(QUICK_ROUNDS, width);
}

struct pipeline_width processor_width(void)
{
    return pipeline_width_of(measure(ROUNDS, usual));
}

double processor_cycles_per_ns(void)
{
    uint64_t ns = time_of(arch_add, TURNS, QUICK_ROUNDS);

    return ns > 0 ? (double)(TURNS * ARCH_UNROLLED) / (double)ns : 0;
}

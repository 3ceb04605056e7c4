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
    LOOP = 2,        /* instructions of a turn that count it */
    JUMP_TURNS = 16, /* of ARCH_JUMPS: 0.3 us and more */
    FAR_JUMP_TURNS = 2,
    COST_MAX = 200 * PIPELINE_CYCLE, /* what takes longer was interrupted */
    DRAWS = 512,
    DRAW = 4, /* cycles: a multiplication and an addition */
    DRAW_LATENCY = DRAW + 2,
    LINE = 64,
    /* Lines of other pages, at other places in them: what prefetches finds nothing to go by. Two to
     * a page. */
    SCATTERED_STEP = PROCESSOR_PAGE / 2 + 3 * LINE,
    SCATTERED_LINES = PROCESSOR_PAGES * PROCESSOR_PAGE / SCATTERED_STEP,
    STREAMED_LINES = 2 * PROCESSOR_PAGE / LINE,
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

/* ---- costs ---- */

/* What one of so many that took `ns` all together takes, in parts of a cycle, `addition_ns` being
 * that of one. */
static uint32_t each(uint64_t ns, unsigned number, double addition_ns, uint32_t unknown)
{
    double parts = addition_ns > 0 ? (double)ns * PIPELINE_CYCLE / (number * addition_ns) : 0;

    return parts > 0 && parts < COST_MAX ? (uint32_t)parts : unknown;
}

/* The ns in which a byte of each of so many lines is loaded, in the fastest round; they lie `step`
 * bytes apart and are in no cache. */
static uint64_t load_lines(const unsigned char *memory, size_t step, unsigned lines)
{
    uint64_t least = UINT64_MAX;

    for (unsigned round = 0; round < QUICK_ROUNDS; round++) {
        uint64_t before, ns;

        for (unsigned i = 0; i < lines; i++)
            arch_flush_line(memory + i * step);
        arch_flush_done();
        before = monotonic_ns();
        arch_load_lines(memory, step, lines);
        ns = monotonic_ns() - before;
        least = ns < least ? ns : least;
    }
    return least;
}

/* Half of the drawn branches are mispredicted. Then the next draw begins when the processor has
 * begun anew, and takes DRAW_LATENCY up to where its branch is known; else it takes DRAW beyond the
 * one before, as it does where all are foreseen. */
static uint32_t refill(double addition_ns)
{
    uint64_t drawn = time_of(arch_drawn_branches, DRAWS, QUICK_ROUNDS);
    uint64_t foreseen = time_of(arch_foreseen_branches, DRAWS, QUICK_ROUNDS);
    const uint32_t begins = (DRAW_LATENCY - DRAW) * PIPELINE_CYCLE;
    uint32_t all = each(drawn > foreseen ? drawn - foreseen : 0, DRAWS / 2, addition_ns, 0);

    return all > begins ? all - begins : pipeline_usual_costs.refill;
}

struct pipeline_costs processor_costs(const unsigned char *memory)
{
    double addition_ns = (double)time_of(arch_add, TURNS, ROUNDS) / (TURNS * ARCH_UNROLLED);
    struct pipeline_costs costs = pipeline_usual_costs;

    costs.turn = each(time_of(arch_jump, JUMP_TURNS, QUICK_ROUNDS), JUMP_TURNS * ARCH_JUMPS,
                      addition_ns, pipeline_usual_costs.turn);
    costs.far_turn =
        each(time_of(arch_jump_far, FAR_JUMP_TURNS, QUICK_ROUNDS), FAR_JUMP_TURNS * ARCH_FAR_JUMPS,
             addition_ns, pipeline_usual_costs.far_turn);
    costs.store = each(time_of(arch_store, TURNS, QUICK_ROUNDS), TURNS * ARCH_UNROLLED, addition_ns,
                       pipeline_usual_costs.store);
    costs.refill = refill(addition_ns);
    costs.scattered = each(load_lines(memory, SCATTERED_STEP, SCATTERED_LINES), SCATTERED_LINES,
                           addition_ns, pipeline_usual_costs.scattered);
    costs.streamed = each(load_lines(memory, LINE, STREAMED_LINES), STREAMED_LINES, addition_ns,
                          pipeline_usual_costs.streamed);
    return costs;
}

double processor_cycles_per_ns(void)
{
    uint64_t ns = time_of(arch_add, TURNS, QUICK_ROUNDS);

    return ns > 0 ? (double)(TURNS * ARCH_UNROLLED) / (double)ns : 0;
}

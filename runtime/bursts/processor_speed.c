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
    LINE_ROUNDS = 3,
    LOOP = 2,        /* instructions of a turn that count it */
    JUMP_TURNS = 16, /* of ARCH_JUMPS: 0.3 us and more */
    FAR_JUMP_TURNS = 2,
    COST_MAX = 200 * PIPELINE_CYCLE, /* what takes longer was interrupted */
    DRAWS = 512,
    DRAW = 4, /* cycles: a multiplication and an addition */
    DRAW_LATENCY = DRAW + 2,
    LINE = 64,
    SCATTERED_LINES = 2 * PROCESSOR_PAGES,
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

/* Lines of the memory that is flushed: one after the other; or one page after the other, for
 * nothing is prefetched across pages, at places that no prefetcher foresees (Knuth's multiplicative
 * hash). */
static size_t in_sequence(unsigned line)
{
    return (size_t)line * LINE;
}

static size_t scattered(unsigned line)
{
    return (size_t)line % PROCESSOR_PAGES * PROCESSOR_PAGE +
           line * UINT32_C(2654435761) / (UINT32_MAX / (PROCESSOR_PAGE / LINE) + 1) * LINE;
}

/* Loads a byte of each of so many lines: none waits for another, or each for the one before. */
static void load_apart(const unsigned char *memory, size_t (*place)(unsigned), unsigned lines)
{
    for (unsigned i = 0; i < lines; i++)
        (void)*(const volatile unsigned char *)(memory + place(i));
}

static void load_in_chain(const unsigned char *memory, size_t (*place)(unsigned), unsigned lines)
{
    uint64_t loaded = 0;

    for (unsigned i = 0; i < lines; i++) {
        /* A byte has no bit there, but the compiler does not know. */
        loaded = *(const volatile unsigned char *)(memory + place(i) + (loaded >> 8));
        __asm__ volatile("" : "+r"(loaded));
    }
}

typedef void load_function(const unsigned char *memory, size_t (*place)(unsigned), unsigned lines);

/* ns that the loads take in the fastest round; the lines are in no cache. */
static uint64_t load_lines(load_function *load, const unsigned char *memory,
                           size_t (*place)(unsigned line), unsigned lines)
{
    uint64_t least = UINT64_MAX, nothing = UINT64_MAX;

    for (unsigned round = 0; round < LINE_ROUNDS; round++) {
        uint64_t before, after, end;

        for (unsigned i = 0; i < lines; i++)
            arch_flush_line(memory + place(i));
        arch_flush_done();
        before = monotonic_ns();
        load(memory, place, lines);
        arch_flush_done(); /* not before all loads are */
        after = monotonic_ns();
        arch_flush_done();
        end = monotonic_ns();
        nothing = end - after < nothing ? end - after : nothing;
        least = after - before < least ? after - before : least;
    }
    return least > nothing ? least - nothing : 0;
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

/* From one line to the next: what is beyond the latency of the first. */
static uint32_t way(const unsigned char *memory, size_t (*place)(unsigned), unsigned lines,
                    double memory_ns, double addition_ns, uint32_t unknown)
{
    double ns = (double)load_lines(load_apart, memory, place, lines) - memory_ns;

    return each(ns > 0 ? (uint64_t)ns : 0, lines - 1, addition_ns, unknown);
}

struct processor_costs processor_costs(const unsigned char *memory)
{
    const struct pipeline_costs unknown = pipeline_usual_costs;
    double addition_ns = (double)time_of(arch_add, TURNS, ROUNDS) / (TURNS * ARCH_UNROLLED);
    double memory_ns =
        (double)load_lines(load_in_chain, memory, scattered, SCATTERED_LINES) / SCATTERED_LINES;
    struct pipeline_costs costs = unknown;

    costs.turn = each(time_of(arch_jump, JUMP_TURNS, QUICK_ROUNDS), JUMP_TURNS * ARCH_JUMPS,
                      addition_ns, unknown.turn);
    costs.far_turn = each(time_of(arch_jump_far, FAR_JUMP_TURNS, QUICK_ROUNDS),
                          FAR_JUMP_TURNS * ARCH_FAR_JUMPS, addition_ns, unknown.far_turn);
    costs.store = each(time_of(arch_store, TURNS, QUICK_ROUNDS), TURNS * ARCH_UNROLLED, addition_ns,
                       unknown.store);
    costs.refill = refill(addition_ns);
    costs.scattered =
        way(memory, scattered, SCATTERED_LINES, memory_ns, addition_ns, unknown.scattered);
    costs.streamed =
        way(memory, in_sequence, STREAMED_LINES, memory_ns, addition_ns, unknown.streamed);
    return (struct processor_costs){costs, memory_ns};
}

double processor_cycles_per_ns(void)
{
    uint64_t ns = time_of(arch_add, TURNS, QUICK_ROUNDS);

    return ns > 0 ? (double)(TURNS * ARCH_UNROLLED) / (double)ns : 0;
}

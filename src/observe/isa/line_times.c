/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "isa/line_times.h"

#include "isa/guarded_memory.h"
#include "isa/pipeline.h"

#include "signal_safe.h"

enum { LINE_SHIFT = 6 };

static const double interrupted_ns = 1000;

struct line_time line_times_of(const struct line_times *times, uint32_t number, double ns_per_tick,
                               double memory_ns)
{
    double ns = times->ticks[number] * ns_per_tick;
    bool told = ns < interrupted_ns;

    return (struct line_time){told, told && ns >= memory_ns / 2, ns};
}

struct line_times_sum line_times_sum(const struct line_times *times, double ns_per_tick,
                                     double memory_ns)
{
    struct line_times_sum sum = {0};

    for (uint32_t i = 0; i < times->count; i++) {
        struct line_time time = line_times_of(times, i, ns_per_tick, memory_ns);

        sum.timed += time.told;
        sum.from_memory += time.from_memory;
        sum.memory_ns += time.from_memory ? (uint64_t)time.ns : 0;
    }
    return sum;
}

#ifdef __x86_64__

static void fence(void)
{
    __builtin_ia32_mfence();
    __builtin_ia32_lfence();
}

/* Of all loads before, and none after. */
static uint64_t ordered_ticks(void)
{
    uint64_t ticks;

    fence();
    ticks = __builtin_ia32_rdtsc();
    fence();
    return ticks;
}

/* That the load takes; UINT64_MAX: there is nothing to be read. */
static uint64_t ticks_of_load(uint64_t address)
{
    uint64_t before = ordered_ticks(), value;

    if (!guarded_load_8(address, &value))
        return UINT64_MAX;
    __asm__ volatile("" : : "r"(value));
    return ordered_ticks() - before;
}

/* Without a branch: one that is mispredicted loads what is to be timed. */
static bool is_wanted(const struct line_times *times, uint64_t line, uint64_t address)
{
    bool wanted = pipeline_scattered(times->pipeline, address);

    for (uint32_t i = 0; i < LINE_TIMES_RECENT; i++)
        wanted &= times->recent[i] != line;
    return wanted;
}

void line_times_load(struct line_times *times, uint64_t address)
{
    uint64_t line = address >> LINE_SHIFT, first, again;
    bool wanted;

    if (times->count == LINE_TIMES_MAX || times->spent >= LINE_TIMES_TICKS)
        return;
    wanted = is_wanted(times, line, address);
    fence();
    if (!wanted)
        return;
    first = ticks_of_load(address);
    again = ticks_of_load(address);
    if (first > UINT32_MAX || again > UINT32_MAX)
        return;
    times->spent += first + again;
    times->recent[times->count % LINE_TIMES_RECENT] = line;
    times->address[times->count] = address;
    times->ticks[times->count++] = first > again ? (uint32_t)(first - again) : 0;
}

#else

void line_times_load(struct line_times *times, uint64_t address)
{
    (void)times;
    (void)address;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "bursts/memory_lines.h"

#include <stdatomic.h>

#include "arch/arch.h"
#include "isa/interpreter.h"
#include "output/output.h"
#include "own/clock.h"
#include "perf_events/timebase.h"
#include "recording/tape.h"

#include "signal_safe.h"

/* Where it was not measured. */
static const double usual_memory_ns = 90;

/* Of the process. */
static atomic_uint_fast64_t all_lines, all_ns;

void memory_lines_clear(struct memory_lines *lines)
{
    lines->sum = (struct line_times_sum){0};
    lines->times.count = 0;
    lines->begun_ticks = 0;
}

void memory_lines_begin(struct memory_lines *lines, struct interpreter *interpreter,
                        const struct pipeline *pipeline, uint32_t first)
{
    if (tape_mode != TAPE_OFF || !clock_has_counter())
        return;
    lines->first = first;
    lines->times.pipeline = pipeline;
    lines->times.count = 0;
    lines->times.spent = 0;
    lines->begun_ns = monotonic_ns();
    lines->begun_ticks = arch_ticks();
    interpreter_time(interpreter, &lines->times);
}

void memory_lines_end(struct memory_lines *lines, struct interpreter *interpreter, double memory_ns)
{
    uint64_t ticks;

    if (lines->begun_ticks == 0)
        return;
    ticks = arch_ticks() - lines->begun_ticks;
    interpreter_time(interpreter, NULL);
    lines->scale = (struct line_times_scale){
        ticks > 0 ? (double)(monotonic_ns() - lines->begun_ns) / (double)ticks : 0,
        memory_ns > 0 ? memory_ns : usual_memory_ns};
    lines->begun_ticks = 0;
    lines->sum = line_times_sum(&lines->times, lines->scale.ns_per_tick, lines->scale.memory_ns);
    atomic_fetch_add_explicit(&all_lines, lines->sum.from_memory, memory_order_relaxed);
    atomic_fetch_add_explicit(&all_ns, lines->sum.memory_ns, memory_order_relaxed);
}

void memory_lines_write(const struct memory_lines *lines, const struct burst *burst,
                        uint64_t burst_id)
{
    struct timed_loads loads[LINE_TIMES_MAX];
    struct record_timed_loads record = {.burst_id = burst_id};

    record.count = timed_loads_find(&lines->times, lines->scale, burst, lines->first, loads);
    if (record.count > 0)
        output_append(RECORD_TIMED_LOADS, &record, sizeof record, loads,
                      record.count * sizeof *loads);
}

struct memory_latency memory_lines_latency(void)
{
    uint64_t lines = atomic_load_explicit(&all_lines, memory_order_relaxed);
    double ns = (double)atomic_load_explicit(&all_ns, memory_order_relaxed);

    return (struct memory_latency){lines > 0 ? ns / (double)lines : 0, lines};
}

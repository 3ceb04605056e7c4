/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. See thread_clock.h. */
#include "bursts/thread_clock.h"

#include <stdatomic.h>

#include "bursts/thread.h"
#include "interposition/descriptors.h"
#include "output/output.h"
#include "output/say.h"
#include "perf_events/perf_event.h"
#include "process/settings.h"
#include "sampling/sample.h"

#include "signal_safe.h"

enum { FOLLOW_EVERY = 16 }; /* samples between looks at the others' rate */

/* Millionths of an access per ns, of the threads that count; 0: none has told. Told by them, for
 * what belongs to another thread may be closed at any moment. */
static _Atomic uint64_t counted_rate;

void thread_clock_tell_rate(double accesses_per_ns)
{
    uint64_t before = atomic_load_explicit(&counted_rate, memory_order_relaxed);
    uint64_t now = (uint64_t)(accesses_per_ns * 1e6);

    atomic_store_explicit(&counted_rate, before ? (3 * before + now) / 4 : now,
                          memory_order_relaxed);
}

static double current_rate(void)
{
    uint64_t rate = atomic_load_explicit(&counted_rate, memory_order_relaxed);

    return rate ? (double)rate / 1e6 : 2;
}

uint64_t thread_clock_accesses(const struct thread *thread, uint64_t cpu_ns)
{
    const struct thread_clock *clock = &thread->instead;
    uint64_t since = cpu_ns > clock->cpu_ns ? cpu_ns - clock->cpu_ns : 0;

    return clock->accesses + (uint64_t)((double)since * clock->rate);
}

static void follow(struct thread *thread, uint64_t cpu_ns)
{
    struct thread_clock now = {.rate = current_rate(), .cpu_ns = thread->instead.cpu_ns};

    now.accesses = thread_clock_accesses(thread, cpu_ns);
    if (cpu_ns > now.cpu_ns)
        now.cpu_ns = cpu_ns;
    thread->instead = now;
}

/* The mean period that the governor, or the user, wants, ns. */
static uint64_t mean_period(struct thread *thread, uint64_t cpu_ns)
{
    uint64_t mean = (uint64_t)((double)settings.options.period / thread->instead.rate);
    uint64_t least = governor_least_period(&thread->governor);

    if (settings.options.period == 0)
        return governor_next_period(&thread->governor, cpu_ns, output_bytes());
    return mean > least ? mean : least;
}

uint64_t thread_clock_next(struct thread *thread)
{
    uint64_t cpu_ns = thread_cpu_time(thread), mean;

    if (thread->totals.expirations % FOLLOW_EVERY == 0)
        follow(thread, cpu_ns);
    mean = mean_period(thread, cpu_ns);
    thread->period_ns = (uint64_t)((double)mean * thread->instead.rate);
    return sample_period(&thread->random, mean);
}

static void tell(int error)
{
    static _Atomic bool told;
    struct line line;

    if (atomic_exchange(&told, true))
        return;
    line_begin(&line);
    line_text(&line, "a thread is sampled by its CPU clock: its hardware events were refused (");
    line_error(&line, error);
    line_text(&line, "); its accesses are modelled from the other threads' rate");
    say_error(&line);
}

int thread_clock_open(struct thread *thread, int error)
{
    struct event_cookie cookie = {.kind = EVENT_CLOCK};
    uint64_t mean, first;
    int descriptor;

    thread->instead = (struct thread_clock){.rate = current_rate()};
    mean = mean_period(thread, 0);
    first = sample_first_period(&thread->random, mean, SAMPLE_FIRST_LEAST);
    descriptor =
        descriptor_adopt(perf_clock_open(first, event_cookie_pack(cookie)), &thread->clock);
    if (descriptor < 0)
        return descriptor;
    thread->period_ns = (uint64_t)((double)mean * thread->instead.rate);
    thread->expires_ns = first;
    thread->pmu.losses.by_clock = 1;
    tell(error);
    return 0;
}

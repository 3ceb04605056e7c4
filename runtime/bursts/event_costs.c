/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "bursts/event_costs.h"

#include "bursts/median.h"
#include "bursts/thread.h"
#include "perf_events/perf_event.h"
#include "perf_events/timebase.h"
#include "process/settings.h"

#include "signal_safe.h"

enum {
    ROUNDS = 5,
    TRIES_MOST = 8, /* the kernel's tick may come first, and then nothing is set */
};
/* Before the next tick, most probably, and too far for this thread to reach it meanwhile; long
 * after it. Nearer than half a millisecond, one hypervisor took three times as long. */
static const uint64_t near_ns = 1000 * 1000, far_ns = 1000 * 1000 * 1000;

static _Atomic uint64_t due_ns; /* 0: not known */
static _Atomic uint32_t tries;

struct event_costs event_costs_now(void)
{
    return (struct event_costs){.trigger_ns = settings.trigger_ns,
                                .due_ns = atomic_load_explicit(&due_ns, memory_order_relaxed),
                                .trap_ns = settings.trap_ns};
}

/* ns. */
static uint64_t time_setting(const struct thread *thread, uint64_t period_ns)
{
    uint64_t before = monotonic_ns();

    perf_clock_set_period(&thread->clock, period_ns);
    return monotonic_ns() - before;
}

/* A switch takes the clock out and puts it in again. So does setting it: to a near end the timer is
 * set when it is put in, from there when it is taken out. */
void event_costs_measure(struct thread *thread)
{
    uint64_t near[ROUNDS], after[ROUNDS], far[ROUNDS], with, without;

    if (atomic_load_explicit(&due_ns, memory_order_relaxed) != 0 || thread->expires_once ||
        !switches_are_many(&thread->switches))
        return;
    for (unsigned i = 0; i < ROUNDS; i++) {
        near[i] = time_setting(thread, near_ns);
        after[i] = time_setting(thread, far_ns);
        far[i] = time_setting(thread, far_ns);
    }
    with = median_of(near, ROUNDS) + median_of(after, ROUNDS);
    without = 2 * median_of(far, ROUNDS);
    if (with > without)
        atomic_store_explicit(&due_ns, with - without, memory_order_relaxed);
    else if (atomic_fetch_add_explicit(&tries, 1, memory_order_relaxed) + 1 >= TRIES_MOST)
        atomic_store_explicit(&due_ns, 1, memory_order_relaxed);
}

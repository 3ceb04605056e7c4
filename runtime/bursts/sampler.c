/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "bursts/sampler.h"

#include <stdatomic.h>

#include "arch/arch.h"
#include "bursts/bursts.h"
#include "bursts/cost_account.h"
#include "bursts/event_costs.h"
#include "bursts/look_ahead.h"
#include "bursts/rate.h"
#include "bursts/register_window.h"
#include "large_table.h"
#include "output/output.h"
#include "perf_events/perf_event.h"
#include "perf_events/served.h"
#include "perf_events/timebase.h"
#include "process/settings.h"
#include "sampling/sample.h"
#include "watches/step_over.h"

#include "signal_safe.h"

enum {
    /* Accesses; a handler makes some ten thousand, and its own overflow would be no sample. */
    HARDWARE_PERIOD_MIN = 500 * 1000,
    /* Samples that a hardware period is kept for, and those at the start that each get their own:
     * what a sample costs is not known then. */
    HARDWARE_PERIOD_KEPT = 8,
    HARDWARE_PERIODS_FIRST = 16,
    /* While a handler runs, the clock must not expire once more. A period that is longer than a
     * handler takes sees to that by itself; of the others the clock is parked. */
    HANDLER_NS_MAX = 4 * 1000 * 1000,
};

/* The code that bursts of this process went through, of all its threads. */
static LARGE_TABLE struct seen_code seen;
static _Atomic bool of_parent; /* what is in it */

/* A forked child has bursts of its own. Most end without one, and do not touch the table. */
static struct seen_code *seen_here(void)
{
    if (atomic_load_explicit(&of_parent, memory_order_relaxed) &&
        atomic_exchange(&of_parent, false))
        seen_code_clear(&seen);
    return &seen;
}

void sampler_learn(const struct access *accesses, uint32_t n)
{
    seen_code_add(seen_here(), accesses, n);
}

void sampler_after_fork(void)
{
    atomic_store_explicit(&of_parent, true, memory_order_relaxed);
}

/* An interrupt of a hardware event: what it stands for, and what the unit has left in its buffer.
 */
static void hardware_expiry(struct thread *thread, uint64_t app_now)
{
    thread->period_ns = pmu_thread_weight(&thread->pmu, app_now);
    served_take(thread);
}

static void park_short_clock(struct thread *thread)
{
    if (thread->expires_ns < HANDLER_NS_MAX)
        perf_clock_set_period(&thread->clock, PARKED_PERIOD_NS);
}

/* The burst that is due stands for the time up to it. */
static void clock_has_ended(struct thread *thread, uint64_t early_ns)
{
    thread->period_ns -= early_ns;
    park_short_clock(thread);
}

static bool is_look(struct thread *thread, ucontext_t *context, uint64_t app_now)
{
    enum cost_part before = cost_enter(COST_RATE);
    bool look = rate_look(thread, context, app_now);

    cost_leave(before);
    return look;
}

void sampler_expiry(struct thread *thread, ucontext_t *context, bool asynchronous, uint64_t app_now)
{
    uint64_t ip = arch_ip(context), early_ns;

    step_over_expiry(thread);
    if (register_window_expiry(thread, app_now)) {
        park_short_clock(thread);
        return;
    }
    thread->totals.expirations++;
    if (thread_is_counted(thread))
        hardware_expiry(thread, app_now);
    else if (ticks_take(&thread->ticks, asynchronous || look_ahead_is_runtime(ip) ? 0 : ip,
                        seen_here(), &early_ns))
        return;
    else
        clock_has_ended(thread, early_ns);
    if ((asynchronous || look_ahead_is_runtime(ip)) && rate_look_missed(thread))
        return;
    if (asynchronous) {
        /* It expired inside one of our handlers, or while the target held SIGTRAP back in a way
         * that we cannot see. The next sample stands for this one, too. */
        thread->totals.lost[LOSS_ASYNCHRONOUS]++;
        thread_carry(thread);
        return;
    }
    if (look_ahead_is_runtime(ip)) {
        thread->totals.lost[LOSS_IN_RUNTIME]++;
        return;
    }
    if (pmu_in_use() || !is_look(thread, context, app_now))
        bursts_take(thread, context, app_now);
}

/*
 * The period to come, in accesses: what the governor asks for in CPU time, at the thread's own
 * rate. Drawn anew now and then, so that no rhythm of the target is locked on to; not each time,
 * for it costs system calls. One that the user has fixed is kept while bursts take no more than
 * half of the time.
 */
static void rearm_hardware(struct thread *thread, uint64_t app_now)
{
    uint64_t cpu, mean = settings.options.period, least;
    double rate;

    if (thread->totals.expirations > HARDWARE_PERIODS_FIRST &&
        thread->totals.expirations % HARDWARE_PERIOD_KEPT != 0)
        return;
    cpu = thread_cpu_time(thread);
    rate = cpu ? (double)app_now / (double)cpu : 1;
    thread_clock_tell_rate(rate);
    if (mean == 0) {
        mean =
            (uint64_t)((double)governor_next_period(&thread->governor, cpu, output_bytes()) * rate);
        mean = mean < HARDWARE_PERIOD_MIN ? HARDWARE_PERIOD_MIN : mean;
    }
    least = (uint64_t)((double)governor_least_period(&thread->governor) * rate);
    mean = mean < least ? least : mean;
    pmu_thread_set_period(&thread->pmu, sample_period(&thread->random, mean), app_now);
    served_adapt(thread, mean);
}

static void set_clock(struct thread *thread, uint64_t period, uint64_t app_now)
{
    thread->expires_ns = period;
    thread->clock_set_ns = app_now;
    perf_clock_set_period(&thread->clock, period);
    if (thread->expires_once) {
        thread->expires_once = false;
        perf_event_enable(&thread->clock);
    }
}

static void set_clock_and_window(struct thread *thread, uint64_t period, uint64_t app_now)
{
    set_clock(thread, register_window_clock(thread, period, app_now), app_now);
}

void sampler_after_trap(struct thread *thread, uint64_t app_now)
{
    uint64_t passed = app_now > thread->clock_set_ns ? app_now - thread->clock_set_ns : 0, left;

    if (pmu_in_use() || thread->expires_ns == 0 || thread->window.rest_ns > 0)
        return;
    /* What ends in the kernel begins anew. */
    left = thread->expires_ns - passed % thread->expires_ns;
    left = register_window_clock(thread, left, app_now);
    if (thread->window.rest_ns > 0)
        set_clock(thread, left, app_now);
}

void sampler_rearm(struct thread *thread, uint64_t app_now)
{
    uint64_t mean, period, expiry_ns;
    struct event_costs costs;

    if (settings.stop_ns && monotonic_ns() >= settings.stop_ns) {
        thread_trigger(thread, false);
        return;
    }
    if (!output_usable()) {
        thread_trigger(thread, false);
        return;
    }
    if (thread_is_counted(thread)) {
        rearm_hardware(thread, app_now);
        return;
    }
    if (pmu_in_use()) {
        set_clock(thread, thread_clock_next(thread), app_now);
        return;
    }
    if (thread->window.rest_ns > 0) {
        set_clock_and_window(thread, register_window_rest(thread, app_now), app_now);
        return;
    }
    if (ticks_go_on(&thread->ticks, &mean)) {
        set_clock_and_window(thread, sample_period(&thread->random, mean), app_now);
        return;
    }
    if (rate_wants_burst(thread, &period)) {
        set_clock(thread, period, app_now);
        return;
    }
    mean = governor_next_period(&thread->governor, app_now, output_bytes());
    /* The next burst also stands for the time from a look to the burst. */
    register_window_plan(thread, mean, app_now);
    thread->period_ns = mean + rate_plan(thread);
    /* An expiry also costs what it adds to context switches. */
    event_costs_measure(thread);
    costs = event_costs_now();
    expiry_ns = costs.trigger_ns + switches_expiry_cost(&thread->switches, &costs);
    period =
        sample_period(&thread->random, ticks_plan(&thread->ticks, mean,
                                                  (uint64_t)thread->governor.burst_ns, expiry_ns));
    set_clock_and_window(thread, period, app_now);
}

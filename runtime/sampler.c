/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampler.h"

#include <string.h>

#include "arch/arch.h"
#include "attribution.h"
#include "look_ahead.h"
#include "output.h"
#include "perf_event.h"
#include "rate.h"
#include "sampling/line_visit.h"
#include "sampling/sample.h"
#include "served.h"
#include "settings.h"
#include "step_over.h"
#include "timebase.h"
#include "turns.h"
#include "watch.h"

#include "signal_safe.h"

enum {
    /* Accesses interpreted at a time: few, because most windows end early. */
    SAMPLE_BATCH = 128,
    /* Accesses; a handler makes some ten thousand, and its own overflow would be no sample. */
    HARDWARE_PERIOD_MIN = 500 * 1000,
    /* Samples that a hardware period is kept for, and those at the start that each get their own:
     * what a sample costs is not known then. */
    HARDWARE_PERIOD_KEPT = 8,
    HARDWARE_PERIODS_FIRST = 16,
    /* While a handler runs, the clock must not expire once more: longer than any handler takes. */
    PARKED_PERIOD_NS = 1000 * 1000 * 1000,
};

/* What the look-ahead of one sample is to find out. */
struct foresight {
    enum interpreter_stop stop;
    uint64_t loop;
    /* Of a store, while others may come to its line: what the thread itself does there. */
    bool begun, follows;
    struct own_visit visit;
    struct polling polling; /* of a load */
};

/* The accesses after the sampled one, which are batch[from..n). */
static bool follow_sample(struct thread *thread, struct foresight *foresight,
                          const struct access *batch, size_t n, uint64_t fed)
{
    const struct window *window = &thread->window;
    size_t from = 0;

    if (!foresight->begun) {
        foresight->begun = true;
        from = window->executed ? 0 : (size_t)(window->sampled + 1 - fed);
        foresight->follows = window_sample(window)->kind == ACCESS_STORE;
        if (foresight->follows)
            own_visit_begin(&foresight->visit, window);
    }
    if (!foresight->follows)
        return polling_feed(&foresight->polling, window_sample(window), batch + from, n - from);
    return own_visit_feed(&foresight->visit, batch + from, n - from);
}

static uint64_t hottest_loop(const struct thread *thread)
{
    const struct loop_head *hottest = loops_hottest(&thread->loops);

    return hottest ? hottest->ip : 0;
}

/* From a window that was begun at that time. Most end too early to ask clock and rate. */
static bool register_may_take_over(const struct thread *thread, uint64_t started_ns)
{
    return thread->window.examined >= WINDOW_EXAMINED_MIN &&
           window_may_end(&thread->window, monotonic_ns() - started_ns,
                          rate_known(thread, hottest_loop(thread)));
}

/* Fills the window from the interrupted place on. False: no access was seen. */
static bool fill_window(struct thread *thread, const ucontext_t *context,
                        struct foresight *foresight)
{
    bool sharing = line_sharing_active(), done = false, followed = !sharing, late = false, any;
    uint64_t started = monotonic_ns(), fed = 0;

    *foresight = (struct foresight){.stop = INTERPRETER_FULL};
    if (!look_ahead_begin(thread, context))
        return false;
    window_begin(&thread->window, &thread->random, settings.window, settings.line_size);
    while ((!done || (!followed && !late && foresight->visit.examined < settings.window)) &&
           foresight->stop == INTERPRETER_FULL) {
        size_t n = look_ahead_next(thread, SAMPLE_BATCH, &foresight->stop);

        late = register_may_take_over(thread, started);
        if (!done)
            done = window_feed(&thread->window, thread->batch, n) || late;
        if (sharing && thread->window.chosen)
            followed = follow_sample(thread, foresight, thread->batch, n, fed);
        fed += n;
    }
    any = window_end(&thread->window, &thread->random);
    if (any && sharing && thread->window.short_skip)
        follow_sample(thread, foresight, thread->window.history, fed, 0);
    foresight->loop = hottest_loop(thread);
    if (done)
        foresight->stop = INTERPRETER_FULL;
    look_ahead_end(thread);
    return any;
}

void sampler_describe(struct thread *thread, ucontext_t *context, enum interpreter_stop stop,
                      uint64_t loop, uint64_t app_now, struct record_sample *sample)
{
    memset(sample, 0, sizeof *sample);
    sample->sample_id = ++thread->next_sample | (uint64_t)thread->id << 40;
    sample->thread_id = thread->id;
    sample->monotonic_ns = monotonic_ns();
    sample->app_ns = app_now;
    sample->weight_ns = thread->period_ns;
    sample->loop = loop;
    sample->stop = (uint8_t)stop;
    sample->cpu = attribution_cpu();
    sample_from_window(sample, &thread->window);
    if (thread->region_depth > 0) {
        unsigned depth = thread->region_depth;

        sample->region_id = thread->regions[(depth < THREAD_REGIONS ? depth : THREAD_REGIONS) - 1];
    }
    sample->context_id = attribution_sample_context(thread, context);
    attribution_object(thread, sample);
}

static void take_sample(struct thread *thread, ucontext_t *context, uint64_t app_now)
{
    struct record_sample sample;
    struct foresight foresight;

    if (!fill_window(thread, context, &foresight)) {
        thread->totals.lost[LOSS_UNREADABLE]++;
        return;
    }
    sampler_describe(thread, context, foresight.stop, foresight.loop, app_now, &sample);
    thread->totals.samples++;
    if (line_sharing_active())
        line_sharing_offer(thread, foresight.follows ? &foresight.visit : NULL,
                           polling_is_seen(&foresight.polling), &sample);
    if (sample_is_resolved(&sample, settings.line_size)) {
        if (output_append(RECORD_SAMPLE, &sample, sizeof sample, NULL, 0))
            output_count_sample();
    } else {
        watch_start(thread, &sample, app_now);
    }
    if (pmu_in_use())
        return;
    if (polling_is_seen(&foresight.polling))
        turns_learn(thread, &foresight.polling.loop);
    turns_follow(thread, context, foresight.loop, app_now);
    rate_consider(thread, context, app_now, foresight.loop);
}

/* An interrupt of a hardware event: what it stands for, and what the unit has left in its buffer.
 */
static void hardware_expiry(struct thread *thread, uint64_t app_now)
{
    thread->period_ns = pmu_thread_weight(&thread->pmu, app_now) + thread->carried_ns;
    thread->carried_ns = 0;
    served_take(thread);
}

void sampler_expiry(struct thread *thread, ucontext_t *context, bool asynchronous, uint64_t app_now)
{
    uint64_t ip = arch_ip(context);

    thread->totals.expirations++;
    step_over_expiry(thread);
    if (pmu_in_use())
        hardware_expiry(thread, app_now);
    else
        perf_clock_set_period(thread->clock, PARKED_PERIOD_NS);
    if (asynchronous) {
        /* It expired inside one of our handlers, or while the target held SIGTRAP back in a way
         * that we cannot see. The next sample stands for this one, too. */
        thread->totals.lost[LOSS_ASYNCHRONOUS]++;
        thread->carried_ns += thread->period_ns;
        rate_cancel(thread);
        return;
    }
    if (look_ahead_is_runtime(ip)) {
        thread->totals.lost[LOSS_IN_RUNTIME]++;
        rate_cancel(thread);
        return;
    }
    if (pmu_in_use() || !rate_probe(thread, context, app_now))
        take_sample(thread, context, app_now);
}

/*
 * The period to come, in accesses: what the governor asks for in CPU time, at the thread's own
 * rate. Drawn anew now and then, so that no rhythm of the target is locked on to; not each time,
 * for it costs system calls. In between the window's random skip does that.
 */
static void rearm_hardware(struct thread *thread, uint64_t app_now)
{
    uint64_t cpu, mean = settings.options.period;

    if (thread->totals.expirations > HARDWARE_PERIODS_FIRST &&
        thread->totals.expirations % HARDWARE_PERIOD_KEPT != 0)
        return;
    cpu = thread_cpu_time(thread);
    if (mean == 0) {
        double rate = cpu ? (double)app_now / (double)cpu : 1;

        mean = (uint64_t)((double)governor_next_period(&thread->governor, cpu) * rate);
        mean = mean < HARDWARE_PERIOD_MIN ? HARDWARE_PERIOD_MIN : mean;
    }
    pmu_thread_set_period(&thread->pmu, sample_period(&thread->random, mean));
    served_adapt(thread, mean);
}

void sampler_rearm(struct thread *thread, uint64_t app_now)
{
    uint64_t mean, period;

    if (settings.stop_ns && monotonic_ns() >= settings.stop_ns) {
        thread_trigger(thread, false);
        return;
    }
    if (!output_usable()) {
        thread_trigger(thread, false);
        return;
    }
    if (pmu_in_use()) {
        rearm_hardware(thread, app_now);
        return;
    }
    if (rate_wants_clock(thread, &period)) {
        perf_clock_set_period(thread->clock, period);
        return;
    }
    mean = governor_next_period(&thread->governor, app_now);
    /* The next sample also stands for the time that a rate reading has just taken. */
    thread->period_ns = mean + thread->rate.spent_ns + thread->carried_ns;
    thread->carried_ns = 0;
    thread->rate.spent_ns = 0;
    perf_clock_set_period(thread->clock, sample_period(&thread->random, mean));
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. What interrupts a thread for samples: its CPU clock, or hardware counters. */
#include <errno.h>
#include <string.h>

#include "bursts/sampler.h"
#include "bursts/thread.h"
#include "bursts/thread_internal.h"
#include "interposition/descriptors.h"
#include "interposition/interpose_signal.h"
#include "output/output.h"
#include "output/say.h"
#include "perf_events/perf_event.h"
#include "perf_events/served.h"
#include "perf_events/timebase.h"
#include "process/settings.h"
#include "recording/tape.h"
#include "sampling/sample.h"

#include "signal_safe.h"

static _Atomic bool paused; /* by the API */

/* One line for the first thread that cannot be sampled; the others are counted. */
static void tell_failure(int error)
{
    static _Atomic bool told;
    struct line line;

    if (atomic_exchange(&told, true))
        return;
    line_begin(&line);
    line_text(&line, "a thread runs on unprofiled: perf_event_open refused its events (");
    line_error(&line, error);
    line_text(&line, error == EMFILE ? "): raise `ulimit -n`" : "): see reuse-doctor");
    say_error(&line);
    output_note(NOTE_WARNING, line.text + strlen("libreuse: "));
}

/* Hardware counters instead of the CPU clock. */
static void start_counters(struct thread *thread)
{
    struct event_cookie cookie = {.kind = EVENT_CLOCK};
    uint64_t mean = settings.options.period ? settings.options.period : PMU_FIRST_PERIOD;
    int result = pmu_thread_open(&thread->pmu, mean, event_cookie_pack(cookie));

    if (result < 0) {
        result = thread_clock_open(thread, -result);
        if (result < 0) {
            thread->totals.lost[LOSS_THREAD]++;
            tell_failure(-result);
        } else if (!atomic_load(&paused)) {
            perf_event_enable(&thread->clock);
        }
        return;
    }
    pmu_thread_set_first_period(&thread->pmu, &thread->random, mean);
    served_begin_thread(thread);
    if (!atomic_load(&paused))
        pmu_thread_enable(&thread->pmu);
}

static void start_clock(struct thread *thread)
{
    struct event_cookie cookie = {.kind = EVENT_CLOCK};
    uint64_t mean = governor_next_period(&thread->governor, 0, output_bytes());
    uint64_t first = sample_first_period(&thread->random, mean, settings.first_least_ns);
    int descriptor;

    thread->period_ns = mean;
    if (first < SAMPLE_FIRST_LEAST && settings.first_least_ns < SAMPLE_FIRST_LEAST) {
        if (atomic_load(&paused))
            first = SAMPLE_FIRST_LEAST;
        else
            thread->expires_once = true;
    }
    thread->expires_ns = first;
    thread->clock_set_ns = 0;
    descriptor =
        descriptor_adopt(perf_clock_open(first, event_cookie_pack(cookie)), &thread->clock);
    if (descriptor < 0) {
        thread->totals.lost[LOSS_THREAD]++;
        tell_failure(-descriptor);
        return;
    }
    if (thread->expires_once)
        perf_event_enable_once(&thread->clock);
    else if (!atomic_load(&paused))
        perf_event_enable(&thread->clock);
}

void thread_start_trigger(struct thread *thread)
{
    if (pmu_in_use())
        start_counters(thread);
    else
        start_clock(thread);
}

bool thread_is_counted(const struct thread *thread)
{
    return pmu_in_use() && thread->instead.rate == 0;
}

void thread_trigger(struct thread *thread, bool enable)
{
    if (thread->pmu.samplers > 0 && enable)
        pmu_thread_enable(&thread->pmu);
    else if (thread->pmu.samplers > 0)
        pmu_thread_disable(&thread->pmu);
    else if (thread->clock >= 0 && enable)
        perf_event_enable(&thread->clock);
    else if (thread->clock >= 0)
        perf_event_disable(&thread->clock);
}

void thread_hold_trigger(struct thread *thread, bool expired)
{
    /* The end of the time to profile may have stopped them for good. */
    thread->held = thread_is_counted(thread) && atomic_load(&thread->pmu.enabled);
    if (thread->held)
        pmu_thread_disable(&thread->pmu);
    else if (expired && !thread_is_counted(thread))
        perf_clock_set_period(&thread->clock, PARKED_PERIOD_NS);
    if (pmu_in_use()) {
        thread->hold_wall_ns -= monotonic_ns();
        thread->hold_cpu_ns -= thread_cpu_ns();
    }
}

void thread_release_trigger(struct thread *thread)
{
    if (pmu_in_use()) {
        thread->hold_cpu_ns += thread_cpu_ns();
        thread->hold_wall_ns += monotonic_ns();
    }
    if (thread->held && !atomic_load(&paused))
        pmu_thread_enable(&thread->pmu);
    thread->held = false;
}

void threads_pause(bool pause)
{
    const uint32_t wanted = pause;
    bool taped = tape_begin(TAPE_PAUSE, 0, &wanted, sizeof wanted);
    sigset_t before;

    atomic_store(&paused, pause);
    signals_block(&before);
    for (struct thread *thread = thread_first(); thread; thread = thread->next)
        if (atomic_load(&thread->alive))
            thread_trigger(thread, !pause);
    signals_restore(&before);
    if (taped)
        tape_end();
}

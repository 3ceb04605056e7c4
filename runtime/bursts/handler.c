/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "bursts/handler.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"
#include "bursts/cost_account.h"
#include "bursts/median.h"
#include "bursts/register_window.h"
#include "bursts/sampler.h"
#include "bursts/thread.h"
#include "interposition/interpose_signal.h"
#include "output/output.h"
#include "output/snapshot.h"
#include "perf_events/timebase.h"
#include "process/settings.h"
#include "recording/tape_signal.h"
#include "watches/step_over.h"
#include "watches/watch.h"

#include "signal_safe.h"

enum {
    TOTALS_EVERY = 256,                  /* handler entries between records of a thread's totals */
    TOTALS_EVERY_NS = 100 * 1000 * 1000, /* or time: a program may be killed */
    PREEMPTED_NS = 1000 * 1000,
    /* A handler leaves caches and predictors to be filled again. Of its own time that was nothing
     * in a loop over an array and a fifth in an interpreter of a language. */
    REFILL_ONE_IN = 10,
};

/* One signal, on its way to the other stack. */
struct entry {
    struct thread *thread;
    struct event_cookie cookie;
    bool asynchronous;
    ucontext_t *context;
    uint64_t app_now;
};

static void handle(const struct entry *entry)
{
    struct thread *thread = entry->thread;

    switch (entry->cookie.kind) {
    case EVENT_CLOCK:
        sampler_expiry(thread, entry->context, entry->asynchronous, entry->app_now);
        break;
    case EVENT_WATCH:
        watch_trap(thread, entry->cookie.slot, entry->cookie.generation, entry->context,
                   entry->app_now);
        break;
    case EVENT_SHARED_WATCH:
        shared_watch_trap(thread, entry->cookie.slot, entry->cookie.generation, entry->context,
                          entry->app_now);
        break;
    case EVENT_STEP:
        step_over_trap(thread, entry->cookie.generation);
        break;
    default:
        break;
    }
}

/* A trap that nobody is there to handle. What traps before the access must not stay armed even so:
 * the thread would not get on. */
static void stray_trap(struct thread *thread, struct event_cookie cookie)
{
    if (!ARCH_TRAPS_BEFORE_ACCESS)
        return;
    if (cookie.kind == EVENT_SHARED_WATCH)
        shared_watch_stray_trap(cookie.slot);
    else if (cookie.kind == EVENT_WATCH && thread)
        watch_stray_trap(thread, cookie.slot);
    else if (cookie.kind == EVENT_STEP && thread)
        step_over_stray_trap(thread);
}

/* ---- calibration ---- */

/* Written by the calibrating thread and its handler only, before any other event exists. */
static struct {
    volatile bool running;
    volatile unsigned count;
    volatile uint64_t inside_ns;
    volatile int disable;
} calibration;

static void calibration_event(struct event_cookie cookie, uint64_t entered)
{
    calibration.count = calibration.count + 1;
    if (cookie.slot == 1)
        perf_event_disable((const int *)&calibration.disable);
    calibration.inside_ns = thread_cpu_ns() - entered;
}

/*
 * What the time inside handlers is measured by. Reading the CPU clock is a system call, of which
 * the engine `clock` makes two at each entry because its application time is that clock. Hardware
 * counters do without it.
 */
static uint64_t handler_clock(void)
{
    return pmu_in_use() ? monotonic_ns() : thread_cpu_ns();
}

/* Time since the handler was entered. But for what holds the trigger meanwhile, no handler takes as
 * long as a time slice: what seems to has been preempted, which the CPU clock does not count. */
static uint64_t spent_since(const struct thread *thread, uint64_t entered)
{
    uint64_t spent = handler_clock() - entered;

    if (!pmu_in_use())
        return spent;
    spent = spent > thread->hold_wall_ns ? spent - thread->hold_wall_ns : 0;
    return (spent > PREEMPTED_NS ? PREEMPTED_NS : spent) + thread->hold_cpu_ns;
}

/* A register has trapped on what a handler of ours touched, and the signal waited for its end. */
static void own_trap(struct thread *thread, struct event_cookie cookie, uint64_t entered)
{
    uint64_t cost;

    thread->totals.lost[LOSS_OWN_TRAP]++;
    if (cookie.kind == EVENT_WATCH)
        watch_own_trap(thread, cookie.slot, cookie.generation);
    else
        shared_watch_own_trap(cookie.slot, cookie.generation);
    cost = spent_since(thread, entered) + settings.trap_ns;
    atomic_fetch_add_explicit(&thread->overhead_ns, cost, memory_order_relaxed);
    governor_spend(&thread->governor, cost);
}

/* The thread's application time when it was interrupted; ours: CPU time that is not its own. */
static uint64_t application_time(const struct thread *thread, uint64_t entered, uint64_t ours)
{
    if (thread_is_counted(thread))
        return pmu_thread_accesses(&thread->pmu, true);
    if (!pmu_in_use())
        return entered > ours ? entered - ours : 0;
    entered = thread_cpu_ns();
    return thread_clock_accesses(thread, entered > ours ? entered - ours : 0);
}

static bool totals_are_due(const struct thread *thread)
{
    if (thread->events % TOTALS_EVERY == 0)
        return true;
    return tape_mode == TAPE_OFF && monotonic_ns() - thread->totals.monotonic_ns >= TOTALS_EVERY_NS;
}

static void observe(struct entry *entry)
{
    struct thread *thread = entry->thread;
    bool clock = entry->cookie.kind == EVENT_CLOCK;
    uint64_t entered = handler_clock(), hidden = clock ? settings.trigger_ns : settings.trap_ns;
    uint64_t overhead = atomic_load_explicit(&thread->overhead_ns, memory_order_relaxed), cost;

    thread->events++;
    entry->app_now = application_time(thread, entered, thread->former.cpu_ns + overhead + hidden);
    handle(entry);
    if (totals_are_due(thread))
        thread_write_totals(thread, entry->app_now);
    snapshot_if_due();
    /* Hardware counters are there for doing without system calls: every 0.1 s will do. */
    if (!pmu_in_use())
        output_settle();
    register_window_note(thread, entry->app_now);
    if (clock)
        sampler_rearm(thread, entry->app_now);
    else
        sampler_after_trap(thread, entry->app_now);
    cost = spent_since(thread, entered) + hidden;
    governor_spend(&thread->governor, (cost - hidden) / REFILL_ONE_IN);
    atomic_fetch_add_explicit(&thread->besides_ns, (cost - hidden) / REFILL_ONE_IN,
                              memory_order_relaxed);
    governor_spend(&thread->governor, cost);
    atomic_store_explicit(&thread->overhead_ns, overhead + cost, memory_order_relaxed);
    /* What the handler itself accessed has been counted, and is not the target's. */
    if (thread_is_counted(thread))
        thread->pmu.ours += pmu_thread_accesses(&thread->pmu, true) - entry->app_now;
}

static void take(void *argument)
{
    struct entry *entry = argument;

    cost_begin(entry->cookie.kind);
    bool taped = tape_signal(entry->thread, entry->cookie, entry->asynchronous, entry->context);

    if (entry->asynchronous && entry->cookie.kind != EVENT_CLOCK &&
        entry->cookie.kind != EVENT_STEP)
        own_trap(entry->thread, entry->cookie, handler_clock());
    else
        observe(entry);
    line_sharing_resumed(entry->thread);
    if (taped)
        tape_end();
    cost_end(entry->cookie.kind == EVENT_CLOCK ? settings.trigger_ns : settings.trap_ns);
}

static volatile unsigned trials;

unsigned handler_trials(void)
{
    return trials;
}

void handler_enter(struct event_cookie cookie, bool asynchronous, ucontext_t *context)
{
    struct thread *thread = thread_current();
    struct entry entry = {
        .thread = thread, .cookie = cookie, .asynchronous = asynchronous, .context = context};

    if (cookie.kind == EVENT_CALIBRATION) {
        if (calibration.running)
            calibration_event(cookie, thread_cpu_ns());
        return;
    }
    if (cookie.kind == EVENT_TRIAL) {
        trials = trials + 1;
        return;
    }
    if (!thread || !atomic_load_explicit(&thread->alive, memory_order_relaxed)) {
        stray_trap(thread, cookie);
        return;
    }
    /* A handler of ours runs on this thread already (how, see on_fault() in fault_guard.c), or a
     * debug register trapped while one did, on what the interpreter read: not the target's doing.
     */
    if (thread->in_handler) {
        thread->totals.lost[LOSS_OWN_TRAP]++;
        return;
    }
    thread->in_handler = true;
    thread->hold_cpu_ns = thread->hold_wall_ns = 0;
    /* The target's stack may have no more than a page left, and we need room for unwinding. No
     * signal that is not masked switches stacks again (fault_guard.c). */
    arch_call_on_stack(thread->handler_stack + HANDLER_STACK, take, &entry);
    thread->in_handler = false;
}

enum { CALIBRATION_ROUNDS = 5 };

/* The word that calibration traps on. */
static volatile uint64_t calibration_word __attribute__((aligned(8)));

/* What reading the CPU clock adds to every difference of two readings. */
static uint64_t clock_cost(void)
{
    uint64_t values[CALIBRATION_ROUNDS];

    for (unsigned i = 0; i < CALIBRATION_ROUNDS; i++) {
        uint64_t before = thread_cpu_ns();

        values[i] = thread_cpu_ns() - before;
    }
    return median_of(values, CALIBRATION_ROUNDS);
}

static uint64_t hidden_part(uint64_t whole, uint64_t clock)
{
    uint64_t visible = calibration.inside_ns + clock;

    return whole > visible ? whole - visible : 0;
}

static void calibrate_trap(uint64_t clock)
{
    struct event_cookie cookie = {.kind = EVENT_CALIBRATION, .slot = 1};
    uint64_t values[CALIBRATION_ROUNDS];
    unsigned n = 0;

    calibration.disable = perf_watch_open(false);
    if (calibration.disable < 0) {
        settings.registers = calibration.disable == -ENOSPC ? REGISTERS_TAKEN : REGISTERS_ABSENT;
        return;
    }
    settings.registers = REGISTERS_SILENT;
    /* The first round warms the path up and does not count. */
    for (unsigned i = 0; i <= CALIBRATION_ROUNDS; i++) {
        unsigned count = calibration.count;
        uint64_t before, whole;

        if (perf_watch_arm((const int *)&calibration.disable, (uintptr_t)&calibration_word, 8,
                           WATCH_LOADS_AND_STORES, event_cookie_pack(cookie), false) != 0) {
            settings.registers = REGISTERS_TAKEN;
            break;
        }
        before = thread_cpu_ns();
        calibration_word = i;
        whole = thread_cpu_ns() - before;
        if (calibration.count != count && i > 0)
            values[n++] = hidden_part(whole, clock);
    }
    syscall(SYS_close, calibration.disable);
    if (n == 0)
        return;
    settings.registers = REGISTERS_TRAP;
    settings.trap_ns = median_of(values, n);
    if (settings.trap_ns == 0) /* clocks that are too coarse: 0 says that there is no trap */
        settings.trap_ns = 1;
}

enum { EXPIRIES = 3 };

/* An expiry that takes about as long as the period has the next one behind it. */
static bool fits(uint64_t cost, uint64_t period)
{
    return cost + cost / 2 < period;
}

/*
 * What an expiry costs outside of the handler, EXPIRIES times, or up to one that does not fit;
 * returns how often it was read.
 *
 * Expiries in kernel mode give no signal. So they are waited for in user mode: by the monotonic
 * clock, which is memory to read. What has passed on it until then was not the signal's; the CPU
 * clock, which is a system call, is read before and after.
 */
static unsigned read_expiries(uint64_t clock, uint64_t period, uint64_t values[EXPIRIES])
{
    enum { SPINS = 200, PATIENCE_NS = 20 * 1000 * 1000, PATIENCE_READINGS = 2000 };
    uint64_t begun = thread_cpu_ns(), before = begun;
    unsigned n = 0, readings = 0;

    /* On a machine that is slow, or has its processors taken away, time alone passes without a
     * chance of one, and a single reading may be such a pause: it would be taken for the price of
     * every burst. */
    while (n < EXPIRIES && (before - begun < PATIENCE_NS || readings++ < PATIENCE_READINGS)) {
        uint64_t first, last, now, taken, cost;
        unsigned count;

        before = thread_cpu_ns();
        first = last = now = monotonic_ns();
        count = calibration.count;
        for (unsigned spin = 0; spin < SPINS && calibration.count == count; spin++) {
            last = now;
            now = monotonic_ns();
        }
        taken = thread_cpu_ns() - before;
        cost = hidden_part(taken > last - first ? taken - (last - first) : 0, clock);
        /* None is free: the thread did not run all the time that it waited. */
        if (calibration.count - count != 1 || cost == 0)
            continue;
        values[n++] = cost;
        if (!fits(cost, period))
            break;
    }
    return n;
}

/*
 * The median of three readings is that of expiries that lie farther apart; of five it is 4 % lower.
 *
 * An expiry behind another one may be in the kernel, where it gives no signal but takes as long: on
 * a host where one takes 45 us, periods of 50 us said 94, at times 240. So the period is longer
 * where what was read does not fit.
 */
static int calibrate_trigger(uint64_t clock)
{
    enum { PERIOD_NS = 50 * 1000, LONGEST_NS = 16 * PERIOD_NS };
    struct event_cookie cookie = {.kind = EVENT_CALIBRATION, .slot = 0};
    int result = -ETIME; /* it opens but never fires */

    for (uint64_t period = PERIOD_NS; period <= LONGEST_NS; period *= 2) {
        int descriptor = perf_clock_open(period, event_cookie_pack(cookie));
        uint64_t values[EXPIRIES];
        unsigned n;

        if (descriptor < 0)
            return descriptor;
        perf_event_enable(&descriptor);
        n = read_expiries(clock, period, values);
        perf_event_disable(&descriptor);
        syscall(SYS_close, descriptor);
        if (n == 0)
            return result;
        settings.trigger_ns = median_of(values, n);
        result = 0;
        if (fits(settings.trigger_ns, period))
            break;
    }
    return result;
}

int handler_probe(void)
{
    int descriptor = perf_clock_open(1000000000, 0);

    if (descriptor < 0)
        return descriptor;
    syscall(SYS_close, descriptor);
    return 0;
}

int handler_calibrate(void)
{
    uint64_t clock = clock_cost();
    int result;

    calibration.running = true;
    calibrate_trap(clock);
    result = calibrate_trigger(clock);
    calibration.running = false;
    return result;
}

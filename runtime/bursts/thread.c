/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. Where threads begin and end. */
#include "bursts/thread.h"

#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bursts/bursts.h"
#include "bursts/event_costs.h"
#include "bursts/rate.h"
#include "bursts/thread_internal.h"
#include "bursts/thread_usage.h"
#include "interposition/descriptors.h"
#include "interposition/interpose_signal.h"
#include "output/output.h"
#include "perf_events/served.h"
#include "perf_events/timebase.h"
#include "process/settings.h"
#include "process/tree.h"
#include "recording/tape.h"
#include "watches/step_over.h"
#include "watches/watch.h"

#include "signal_safe.h"

/* What one burst is expected to cost beyond its signal, until it has been measured: 2 to 4 ms were
 * in virtual machines, with what follows it. Half a millisecond is what a process of 0.1 s can
 * afford to find that out. */
enum { BURST_COST_NS = 500 * 1000 };

/*
 * What a process pays for libreuse.so before it begins and after it has ended, to the dynamic
 * loader and the kernel: with it, runs of true state .47 of the .50 ms that they took longer (AMD
 * Zen 5, in a virtual machine).
 */
enum { LOADING_NS = 100 * 1000 };

/* For another thread to finish what it does to one of ours, ms. */
enum { ENDING_NAPS = 200 };

static struct governor_process own_governor; /* of a recording, which is repeated alone */
static struct governor_process *governor = &own_governor; /* written at start-up and by a child */

void threads_begin(void)
{
    bool is_new = true;

    governor = tape_mode == TAPE_OFF ? tree_governor(&is_new) : &own_governor;
    if (is_new)
        governor_process_begin(governor, settings.options.budget_percent / 100,
                               pmu_in_use() ? 0 : settings.options.period,
                               settings.trigger_ns + BURST_COST_NS);
    thread_times_begin();
}

/* Everything but the memory that is used again. */
static void initialise(struct thread *thread)
{
    thread->id = thread_next_id();
    atomic_store(&thread->takes_traps, !signal_is_believed_blocked());
    thread->clock = thread->calls_file = -1;
    thread->instead = (struct thread_clock){0};
    pmu_thread_forget(&thread->pmu);
    atomic_flag_clear(&thread->serving);
    watch_begin_thread(thread);
    step_over_begin_thread(thread);
    atomic_store(&thread->overhead_ns, 0);
    atomic_store(&thread->besides_ns, 0);
    thread->carried_ns = 0;
    thread->expires_once = false;
    thread->in_handler = false;
    thread->events = 0;
    /* A recording is repeated alone. */
    random_seed(&thread->random,
                settings.seed + thread->id + (tape_mode == TAPE_OFF ? tree_number() << 32 : 0));
    governor_begin(&thread->governor, governor);
    switches_begin(&thread->switches);
    thread->window = (struct register_window){0};
    ticks_begin(&thread->ticks);
    thread->bridge.scratch = NULL;
    thread->marker.set = false;
    thread->calls = NULL;
    memset(&thread->rate, 0, sizeof thread->rate);
    memset(thread->wait_loops, 0, sizeof thread->wait_loops);
    thread->next_wait_loop = 0;
    thread->next_sample = 0;
    thread->region_depth = 0;
    memset(&thread->totals, 0, sizeof thread->totals);
    thread->totals.thread_id = thread->id;
}

static void announce(const struct thread *thread)
{
    struct record_thread record = {
        .thread_id = thread->id,
        .tid = atomic_load(&thread->tid),
        .monotonic_ns = thread->started_ns,
        .stack_low = thread->stack_low,
        .stack_high = thread->stack_high,
    };

    memcpy(record.name, thread->name, sizeof record.name);
    output_append(RECORD_THREAD, &record, sizeof record, NULL, 0);
}

void threads_announce(void)
{
    for (const struct thread *thread = thread_first(); thread; thread = thread->next)
        if (atomic_load(&thread->alive) || atomic_load(&thread->ending))
            announce(thread);
}

static uint64_t since(uint64_t then, uint64_t now)
{
    return now > then ? now - then : 0;
}

void thread_write_totals(struct thread *thread, uint64_t app_ns)
{
    thread->totals.monotonic_ns = monotonic_ns();
    thread->totals.app_ns = app_ns;
    thread->totals.handler_ns = atomic_load(&thread->overhead_ns);
    thread->totals.besides_ns = atomic_load(&thread->besides_ns);
    if (!pmu_in_use() && thread == thread_current()) {
        const struct event_costs costs = event_costs_now();
        struct thread_usage usage = thread_usage_now();

        /* Since its last burst. */
        thread->totals.besides_ns +=
            switches_open_cost(&thread->switches, usage.switches - thread->former.switches, &costs);

        thread->totals.user_ns = since(thread->former.user_ns, usage.user_ns);
        thread->totals.kernel_ns = since(thread->former.kernel_ns, usage.kernel_ns);
    }
    output_append(RECORD_TOTALS, &thread->totals, sizeof thread->totals, NULL, 0);
    served_write(thread);
}

void thread_before_exec(void)
{
    struct thread *self = thread_current();

    if (self)
        governor_end(&self->governor, thread_cpu_time(self));
}

void threads_write_totals(void)
{
    for (struct thread *thread = thread_first(); thread; thread = thread->next)
        if (atomic_load(&thread->alive)) {
            if (pmu_in_use())
                served_take(thread);
            thread_write_totals(thread, thread_app_ns(thread));
        }
}

/* Of the first thread that begins. A forked child's clocks begin with it. */
static struct tree_former former;

void thread_goes_on_from(const struct tree_former *counts)
{
    former = *counts;
}

static struct thread *begin(uint64_t stack_low, uint64_t stack_high)
{
    uint64_t entered = thread_cpu_ns(), cost;
    struct thread *thread =
        thread_claim((pid_t)tape_value(TAPE_CALL, (uint64_t)syscall(SYS_gettid)));

    if (!thread)
        return NULL;
    initialise(thread);
    thread->former = former;
    former = (struct tree_former){0};
    thread->stack_low = stack_low;
    thread->stack_high = stack_high;
    memset(thread->name, 0, sizeof thread->name);
    syscall(SYS_prctl, PR_GET_NAME, thread->name);
    tape_bytes(thread->name, sizeof thread->name);
    thread->started_ns = monotonic_ns();
    announce(thread);
    thread_enter(thread);
    thread_start_trigger(thread);
    cost = thread_cpu_ns() - entered;
    atomic_store(&thread->overhead_ns, cost);
    governor_spend_besides(&thread->governor, cost);
    if (!pmu_in_use())
        rate_begin(thread, since(thread->former.cpu_ns, entered));
    return thread;
}

struct thread *thread_start(uint64_t stack_low, uint64_t stack_high)
{
    const uint64_t stack[2] = {stack_low, stack_high};
    bool taped = tape_begin(TAPE_THREAD_BEGIN, 0, stack, sizeof stack);
    struct thread *thread = begin(stack_low, stack_high);

    if (taped)
        tape_end();
    return thread;
}

void thread_charge_start(struct thread *thread, uint64_t entered)
{
    uint64_t charged, cost;

    /* A replay begins after start-up. */
    if (!thread || tape_mode != TAPE_OFF)
        return;
    cost = thread_cpu_ns() - entered;
    rate_restart(thread, since(thread->former.cpu_ns, entered));
    charged = atomic_exchange(&thread->overhead_ns, cost);
    if (cost > charged)
        governor_spend_besides(&thread->governor, cost - charged);
    governor_spend_besides(&thread->governor, LOADING_NS);
    atomic_fetch_add(&thread->besides_ns, LOADING_NS);
}

/* Another thread that ends one of the watches is about to disarm its register: the number must not
 * be given out meanwhile, for a clock perhaps. Kept rather, if that thread does not get on. */
static void release_registers(struct thread *thread)
{
    for (unsigned i = 0; i < thread->watches.count; i++) {
        unsigned naps = 0;

        while (!private_watch_is_settled(&thread->watches, i) && naps++ < ENDING_NAPS)
            syscall(SYS_nanosleep, &(struct timespec){.tv_nsec = 1000 * 1000}, NULL);
        if (private_watch_is_settled(&thread->watches, i))
            descriptor_release(&thread->registers[i]);
    }
    thread->watches.count = 0;
}

static void finish(struct thread *thread, enum watch_end reason)
{
    sigset_t before;
    uint64_t now, cpu;

    signals_block(&before);
    if (!atomic_exchange(&thread->alive, false)) {
        signals_restore(&before);
        return;
    }
    atomic_store(&thread->ending, true);
    thread_trigger(thread, false);
    now = thread_app_ns(thread);
    cpu = thread_cpu_time(thread);
    if (pmu_in_use()) {
        served_take(thread);
        thread_sum_losses(thread);
    }
    bursts_end_thread(thread);
    watch_end_thread(thread, reason, now);
    if (reason == WATCH_THREAD_ENDED)
        line_sharing_thread_ended(thread->id);
    else
        line_sharing_stop(LINE_END_PROCESS);
    thread_write_totals(thread, now);
    atomic_store(&thread->ending, false);
    governor_end(&thread->governor, cpu);
    thread_times_end(thread, cpu);
    if (reason == WATCH_THREAD_ENDED) {
        struct record_thread_end end = {
            .thread_id = thread->id,
            .monotonic_ns = thread->totals.monotonic_ns,
            .app_ns = now,
        };

        output_append(RECORD_THREAD_END, &end, sizeof end, NULL, 0);
        release_registers(thread);
        step_over_end_thread(thread);
        descriptor_release(&thread->clock);
        descriptor_release(&thread->calls_file);
        if (thread->pmu.samplers > 0)
            pmu_thread_close(&thread->pmu);
        if (thread->totals.expirations > 0)
            output_settle();
        thread_leave(thread);
    }
    signals_restore(&before);
}

void thread_finish(struct thread *thread, enum watch_end reason)
{
    const uint32_t why = (uint32_t)reason;
    bool taped;

    if (!atomic_load(&thread->alive))
        return;
    taped = tape_begin(TAPE_THREAD_END, thread->id, &why, sizeof why);
    finish(thread, reason);
    if (taped)
        tape_end();
}

void thread_reset_after_fork(void)
{
    const struct thread *self = thread_current();
    uint64_t low = 0, high = 0;

    if (self) {
        low = self->stack_low;
        high = self->stack_high;
    }
    thread_forget_all();
    threads_begin();
    thread_start(low, high);
}

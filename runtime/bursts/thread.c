/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe, though only thread_current(), thread_first() and the counters are used in handlers.
 */
#include "bursts/thread.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bursts/bursts.h"
#include "bursts/rate.h"
#include "interposition/descriptors.h"
#include "interposition/interpose_signal.h"
#include "memory/memory.h"
#include "output/output.h"
#include "output/say.h"
#include "perf_events/perf_event.h"
#include "perf_events/served.h"
#include "perf_events/timebase.h"
#include "process/settings.h"
#include "process/tree.h"
#include "recording/tape.h"
#include "sampling/sample.h"
#include "watches/step_over.h"
#include "watches/watch.h"

#include "signal_safe.h"

/* What one burst is expected to cost beyond its signal, until it has been measured. */
enum { BURST_COST_NS = 250 * 1000 };

/*
 * What a process pays for libreuse.so before it begins and after it has ended, to the dynamic
 * loader and the kernel: with it, runs of true state .47 of the .50 ms that they took longer (AMD
 * Zen 5, in a virtual machine).
 */
enum { LOADING_NS = 100 * 1000 };

/* For another thread to finish what it does to one of ours, ms. */
enum { ENDING_NAPS = 200 };

/* The calling thread's; set by its own thread. */
static __thread struct thread *current __attribute__((tls_model("initial-exec")));

/* All structs ever made; pushed at the front by compare-and-swap, never removed. */
static struct thread *_Atomic registry;
static _Atomic uint32_t thread_ids;
static _Atomic unsigned alive;
static _Atomic bool paused; /* by the API */
static _Atomic uint64_t ended_app_ns, ended_overhead_ns;
static _Atomic uint64_t carried_ns;          /* by threads that have ended */
static struct governor_process own_governor; /* of a recording, which is repeated alone */
static struct governor_process *governor = &own_governor; /* written at start-up and by a child */

/* Of finished threads; under its lock, which is held with signals blocked. */
static struct pmu_losses pmu_losses;
static atomic_flag pmu_losses_lock = ATOMIC_FLAG_INIT;

struct thread *thread_current(void)
{
    return current;
}

struct thread *thread_first(void)
{
    return atomic_load(&registry);
}

unsigned thread_alive_count(void)
{
    return atomic_load_explicit(&alive, memory_order_relaxed);
}

/* A struct that no thread uses: an old one or a new one. NULL without memory. */
static struct thread *claim(pid_t tid)
{
    struct thread *thread;

    for (thread = thread_first(); thread; thread = thread->next) {
        pid_t nobody = 0;

        if (atomic_compare_exchange_strong(&thread->tid, &nobody, tid))
            return thread;
    }
    thread = memory_map(sizeof *thread);
    if (!thread)
        return NULL;
    thread->handler_stack = memory_map_stack(HANDLER_STACK);
    if (!thread->handler_stack) {
        memory_unmap(thread, sizeof *thread);
        return NULL;
    }
    atomic_store(&thread->tid, tid);
    thread->next = atomic_load(&registry);
    while (!atomic_compare_exchange_weak(&registry, &thread->next, thread))
        ;
    return thread;
}

void threads_begin(void)
{
    bool is_new = true;

    governor = tape_mode == TAPE_OFF ? tree_governor(&is_new) : &own_governor;
    if (is_new)
        governor_process_begin(governor, settings.options.budget_percent / 100,
                               pmu_in_use() ? 0 : settings.options.period,
                               settings.trigger_ns + BURST_COST_NS);
    atomic_store(&carried_ns, 0);
}

uint64_t thread_weight(struct thread *thread)
{
    uint64_t weight = thread->period_ns + thread->carried_ns;

    thread->period_ns = 0;
    thread->carried_ns = 0;
    if (atomic_load_explicit(&carried_ns, memory_order_relaxed))
        weight += atomic_exchange(&carried_ns, 0);
    return weight;
}

void thread_carry(struct thread *thread)
{
    thread->carried_ns += thread->period_ns;
    thread->period_ns = 0;
}

/* Everything but the memory that is used again. */
static void initialise(struct thread *thread)
{
    thread->id = atomic_fetch_add(&thread_ids, 1) + 1;
    atomic_store(&thread->takes_traps, !signal_is_believed_blocked());
    thread->clock = -1;
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

void thread_write_totals(struct thread *thread, uint64_t app_ns)
{
    thread->totals.monotonic_ns = monotonic_ns();
    thread->totals.app_ns = app_ns;
    thread->totals.handler_ns = atomic_load(&thread->overhead_ns);
    thread->totals.besides_ns = atomic_load(&thread->besides_ns);
    output_append(RECORD_TOTALS, &thread->totals, sizeof thread->totals, NULL, 0);
    served_write(thread);
}

void thread_before_exec(void)
{
    if (current)
        governor_end(&current->governor, thread_cpu_time(current));
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

static struct thread *begin(uint64_t stack_low, uint64_t stack_high)
{
    uint64_t entered = thread_cpu_ns(), cost;
    struct thread *thread = claim((pid_t)tape_value(TAPE_CALL, (uint64_t)syscall(SYS_gettid)));

    if (!thread)
        return NULL;
    initialise(thread);
    thread->stack_low = stack_low;
    thread->stack_high = stack_high;
    memset(thread->name, 0, sizeof thread->name);
    syscall(SYS_prctl, PR_GET_NAME, thread->name);
    tape_bytes(thread->name, sizeof thread->name);
    thread->started_ns = monotonic_ns();
    announce(thread);
    atomic_fetch_add(&alive, 1);
    current = thread;
    atomic_store(&thread->alive, true);
    if (pmu_in_use())
        start_counters(thread);
    else
        start_clock(thread);
    cost = thread_cpu_ns() - entered;
    atomic_store(&thread->overhead_ns, cost);
    governor_spend_besides(&thread->governor, cost);
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
    charged = atomic_exchange(&thread->overhead_ns, cost);
    if (cost > charged)
        governor_spend_besides(&thread->governor, cost - charged);
    atomic_fetch_add(&thread->besides_ns, LOADING_NS);
}

void thread_become(struct thread *thread)
{
    current = thread;
}

uint64_t thread_cpu_time(const struct thread *thread)
{
    uint64_t cpu =
        thread == current ? thread_cpu_ns() : clock_ns(thread_cpu_clock(atomic_load(&thread->tid)));
    uint64_t overhead = atomic_load_explicit(&thread->overhead_ns, memory_order_relaxed);

    return cpu > overhead ? cpu - overhead : 0;
}

uint64_t thread_app_ns(const struct thread *thread)
{
    if (thread->instead.rate > 0)
        return thread_clock_accesses(thread, thread_cpu_time(thread));
    return pmu_in_use() ? pmu_thread_accesses(&thread->pmu, thread == current)
                        : thread_cpu_time(thread);
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

static void sum_losses(const struct thread *thread)
{
    while (atomic_flag_test_and_set_explicit(&pmu_losses_lock, memory_order_acquire))
        ;
    pmu_thread_sum_losses(&thread->pmu, &pmu_losses);
    atomic_flag_clear_explicit(&pmu_losses_lock, memory_order_release);
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

/* What the thread would have taken alone. */
static uint64_t own_time(uint64_t cpu, uint64_t besides)
{
    return cpu > besides ? cpu - besides : 0;
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
        sum_losses(thread);
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
    atomic_fetch_add(&carried_ns, thread->carried_ns);
    atomic_fetch_add(&ended_app_ns, own_time(cpu, thread->totals.besides_ns));
    atomic_fetch_add(&ended_overhead_ns, thread->totals.handler_ns + thread->totals.besides_ns);
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
        if (thread->pmu.samplers > 0)
            pmu_thread_close(&thread->pmu);
        atomic_fetch_sub(&alive, 1);
        if (thread->totals.expirations > 0)
            output_settle();
        current = NULL;
        atomic_store(&thread->tid, 0);
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

void thread_region_begin(struct thread *thread, uint32_t region_id)
{
    const uint32_t what[2] = {true, region_id};
    bool taped = tape_begin(TAPE_REGION, thread->id, what, sizeof what);

    if (thread->region_depth < THREAD_REGIONS)
        thread->regions[thread->region_depth] = region_id;
    thread->region_depth++;
    if (taped)
        tape_end();
}

void thread_region_end(struct thread *thread)
{
    const uint32_t what[2] = {false, 0};
    bool taped;

    if (thread->region_depth == 0)
        return;
    taped = tape_begin(TAPE_REGION, thread->id, what, sizeof what);
    thread->region_depth--;
    if (taped)
        tape_end();
}

void thread_pmu_losses(struct pmu_losses *losses)
{
    *losses = pmu_losses;
}

void thread_totals(uint64_t *app_ns, uint64_t *overhead_ns)
{
    *app_ns = atomic_load(&ended_app_ns);
    *overhead_ns = atomic_load(&ended_overhead_ns);
    for (struct thread *thread = thread_first(); thread; thread = thread->next)
        if (atomic_load(&thread->alive)) {
            const uint64_t besides = atomic_load(&thread->besides_ns);

            *app_ns += own_time(thread_cpu_time(thread), besides);
            *overhead_ns += atomic_load(&thread->overhead_ns) + besides;
        }
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

void thread_forget_all(void)
{
    for (struct thread *thread = thread_first(); thread; thread = thread->next) {
        atomic_store(&thread->alive, false);
        atomic_store(&thread->ending, false);
        thread->watches.count = 0;
        atomic_store(&thread->tid, 0);
    }
    atomic_store(&alive, 0);
    atomic_store(&thread_ids, 0);
    atomic_store(&ended_app_ns, 0);
    atomic_store(&ended_overhead_ns, 0);
    memset(&pmu_losses, 0, sizeof pmu_losses);
    atomic_flag_clear(&pmu_losses_lock);
    current = NULL;
}

void thread_reset_after_fork(void)
{
    const struct thread *self = current;
    uint64_t low = 0, high = 0;

    if (self) {
        low = self->stack_low;
        high = self->stack_high;
    }
    thread_forget_all();
    threads_begin();
    thread_start(low, high);
}

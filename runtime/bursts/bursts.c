/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "bursts/bursts.h"

#include <string.h>

#include "arch/arch.h"
#include "bursts/bridge.h"
#include "bursts/cost_account.h"
#include "bursts/event_costs.h"
#include "bursts/first_cache.h"
#include "bursts/look_ahead.h"
#include "bursts/meet.h"
#include "bursts/pursue.h"
#include "bursts/rate.h"
#include "bursts/sampler.h"
#include "bursts/thread_usage.h"
#include "bursts/turns.h"
#include "memory/shared_mappings.h"
#include "output/output.h"
#include "perf_events/timebase.h"
#include "process/settings.h"
#include "sampling/line_mask.h"
#include "sampling/line_visit.h"
#include "unwinding/attribution.h"
#include "watches/marker.h"
#include "watches/watch.h"

#include "signal_safe.h"

enum {
    BATCH_LEAST = 64, /* of look_ahead_next() */
    /* Code that makes no access in so many instructions calculates: it is looked at no longer. */
    SILENT_INSTRUCTIONS = 16384,
};

/* ---- what the core asks while it groups probes ---- */

static void identify(void *user, uint64_t address, struct burst_object *object)
{
    const struct scratch *scratch = user;

    attribution_identify(scratch->thread, address, object);
}

static uint32_t path_at(void *user, uint32_t index)
{
    struct scratch *scratch = user;

    return paths_at(&scratch->paths, index);
}

static void meet_code(void *user, uint32_t path, uint64_t ip)
{
    const struct scratch *scratch = user;

    attribution_meet(scratch->thread, path, ip);
}

/* How the addresses of its instructions follow each other. */
static void write_steps(struct scratch *scratch)
{
    struct address_steps steps[ADDRESS_STEPS_MAX];
    struct record_steps record = {.burst_id = scratch->record.burst_id};
    enum cost_part before = cost_enter(COST_DISTANCES);

    record.count = address_steps_find(&scratch->steps, scratch->burst, settings.line_size,
                                      &scratch->provenance, steps);
    set_conflicts_count(&scratch->sets, first_cache_sets(), scratch->burst, steps, record.count);
    cost_leave(before);
    if (record.count > 0)
        output_append(RECORD_STEPS, &record, sizeof record, steps, record.count * sizeof *steps);
}

/* Writes the burst; false: it has not a single access. */
static bool write_burst(struct scratch *scratch)
{
    struct burst_host host = {identify, path_at, meet_code, scratch};
    struct record_totals *totals = &scratch->thread->totals;
    struct record_burst *record = &scratch->record;
    enum cost_part before = cost_enter(COST_DISTANCES);
    uint32_t probes;
    bool encoded;

    paths_rewind(&scratch->paths);
    probes = burst_close(scratch->burst, &host);
    cost_leave(before);
    if (probes == 0) {
        totals->lost[LOSS_UNREADABLE]++;
        return false;
    }
    before = cost_enter(COST_WRITING);
    encoded = burst_encode(scratch->burst, record, scratch->encoded, sizeof scratch->encoded);
    cost_leave(before);
    if (!encoded) {
        totals->lost[LOSS_BUFFER]++;
        return false;
    }
    totals->bursts++;
    if (!pmu_in_use())
        sampler_learn(burst_access(scratch->burst, 0), burst_count(scratch->burst));
    if (output_append(RECORD_BURST, record, sizeof *record, scratch->encoded, record->probe_size)) {
        output_count_sample();
        write_steps(scratch);
        memory_lines_write(&scratch->lines, scratch->burst, record->burst_id);
        shared_mappings_note(scratch);
        meet(scratch);
    }
    return true;
}

/* ---- samples ---- */

static uint32_t region_of(const struct thread *thread)
{
    unsigned depth = thread->region_depth;

    return depth ? thread->regions[(depth < THREAD_REGIONS ? depth : THREAD_REGIONS) - 1] : 0;
}

static uint64_t new_id(struct thread *thread)
{
    return ++thread->next_sample | (uint64_t)thread->id << 40;
}

void bursts_describe(struct scratch *scratch, uint32_t path, uint64_t ip,
                     struct record_sample *sample)
{
    const struct record_burst *record = &scratch->record;

    *sample = (struct record_sample){
        .sample_id = new_id(scratch->thread),
        .thread_id = record->thread_id,
        .context_id = attribution_on_path(scratch->thread, path, ip),
        .monotonic_ns = monotonic_ns(),
        .app_ns = record->app_ns,
        .weight_ns = record->weight_ns,
        .loop = record->loop,
        .stop = record->stop,
        .cpu = record->cpu,
        .region_id = record->region_id,
        .burst_id = record->burst_id,
        .weight_factor = 1,
    };
}

/* What follows the sample tells whether the thread polls there, and of a store when it stores to
 * the line again. */
static void offer_run(struct thread *thread, struct scratch *scratch)
{
    const struct access_run *run = &scratch->run;
    const struct access *after = run->accesses + run->sampled + 1;
    size_t n = run->count - run->sampled - 1;
    struct own_visit visit;
    struct polling polling = {0};
    bool store = run->sample.kind == ACCESS_STORE;
    bool kernel_copies = kernel_buffers_touch(
        &scratch->buffers, line_start(run->sample.address, settings.line_size), settings.line_size);

    if (store) {
        own_visit_begin(&visit, run);
        own_visit_feed(&visit, after, n < OWN_VISIT_ACCESSES ? n : OWN_VISIT_ACCESSES);
    } else {
        polling_feed(&polling, &run->sample, after, n);
    }
    line_sharing_offer(thread, run, store ? &visit : NULL, polling_is_seen(&polling), kernel_copies,
                       &scratch->sample);
    if (polling_is_seen(&polling))
        turns_learn(thread, &polling.loop);
}

/*
 * The burst's sample for communication: an access drawn before the burst began, so that where it
 * stops has no say in it. Offered before the thread executes it. A burst that ends before it has
 * another one, from what is still to be executed.
 */
static void offer_sample(struct scratch *scratch, bool ends)
{
    struct thread *thread = scratch->thread;
    uint32_t count = burst_count(scratch->burst);
    uint32_t probes = count < BURST_PROBES ? count : BURST_PROBES;
    enum cost_part before;

    if (scratch->offered || !line_sharing_active())
        return;
    if (ends && scratch->sampled >= count && scratch->from < probes)
        scratch->sampled = scratch->from + random_below(&thread->random, probes - scratch->from);
    if (scratch->sampled < scratch->from || scratch->sampled >= count)
        return;
    before = cost_enter(COST_SAMPLE);
    /* Of the probes that are still to be executed, stores that tell more may be preferred. */
    scratch->sampled =
        scratch->from + line_sharing_prefer(thread, burst_access(scratch->burst, scratch->from),
                                            probes - scratch->from, count - scratch->from,
                                            scratch->sampled - scratch->from,
                                            &scratch->weight_factor);
    scratch->offered = true;
    scratch->run = access_run_at(burst_access(scratch->burst, 0), count, scratch->sampled,
                                 settings.line_size, &thread->random);
    scratch->run.from = scratch->from;
    paths_rewind(&scratch->paths);
    bursts_describe(scratch, paths_at(&scratch->paths, scratch->sampled), scratch->run.sample.ip,
                    &scratch->sample);
    access_run_describe(&scratch->run, &scratch->sample);
    scratch->sample.weight_factor = scratch->weight_factor;
    attribution_object(thread, &scratch->sample);
    offer_run(thread, scratch);
    cost_leave(before);
}

/* The rest of the burst may tell of its line's next use what was not known when it was offered. */
static void write_sample(struct scratch *scratch)
{
    const struct access_run *run = &scratch->run;
    struct burst_probe probe = {.index = run->sampled,
                                .address = run->sample.address,
                                .width = run->sample.width,
                                .straddles = run->straddles};

    if (!scratch->offered)
        return;
    burst_describe(scratch->burst, &probe, &scratch->sample);
    scratch->thread->totals.samples++;
    output_append(RECORD_SAMPLE, &scratch->sample, sizeof scratch->sample, NULL, 0);
}

/* ---- the burst ---- */

static void begin(struct scratch *scratch, ucontext_t *context, uint64_t app_now)
{
    struct thread *thread = scratch->thread;

    scratch->record = (struct record_burst){
        .burst_id = new_id(thread),
        .thread_id = thread->id,
        .monotonic_ns = monotonic_ns(),
        .app_ns = app_now,
        .weight_ns = thread_weight(thread),
        .region_id = region_of(thread),
        .cpu = attribution_cpu(),
    };
    scratch->from = 0;
    scratch->instructions = 0;
    scratch->offered = false;
    scratch->weight_factor = 1;
    scratch->begun_at = arch_ip(context);
    scratch->sampled = random_below(&thread->random, BURST_PROBES);
    burst_begin(scratch->burst, settings.line_size,
                random_below(&thread->random, BURST_WIDE_ONE_IN) == 0);
    kernel_buffers_begin(&scratch->buffers);
    provenance_begin(&scratch->provenance);
    paths_begin(&scratch->paths, context);
    scratch->record.context_id =
        attribution_on_path(thread, paths_at(&scratch->paths, 0), arch_ip(context));
    thread->calls_kept = 0;
}

/* Feeds the burst until it has enough or the interpreter stops. */
static enum interpreter_stop feed(struct scratch *scratch)
{
    struct thread *thread = scratch->thread;
    struct burst *burst = scratch->burst;
    enum interpreter_stop why = INTERPRETER_FULL;
    uint64_t before = scratch->instructions;
    size_t n;

    while (burst_wants(burst) > 0 && (why == INTERPRETER_FULL || why == INTERPRETER_BUDGET)) {
        uint32_t wanted = burst_wants(burst);

        bool silent = burst_count(burst) == 0;

        if (scratch->instructions > (silent ? SILENT_INSTRUCTIONS : BURST_INSTRUCTIONS_MAX))
            return INTERPRETER_BUDGET;
        if (silent || wanted < BATCH_LEAST)
            wanted = BATCH_LEAST;
        if (wanted > THREAD_BATCH)
            wanted = THREAD_BATCH;
        n = look_ahead_next(thread, wanted, &why);
        n = burst_feed(burst, thread->batch, n);
        if (!pmu_in_use())
            rate_follow(scratch, n);
        scratch->instructions = before + interpreter_instructions(thread->interpreter);
    }
    return burst_wants(burst) > 0 ? why : INTERPRETER_FULL;
}

/* Looks ahead from where the thread is. Returns why that ended. If it is a stop, *stop is filled
 * in; if the burst is full, the look-ahead can go on, and must be ended. */
static enum interpreter_stop look(struct scratch *scratch, const ucontext_t *context,
                                  struct bridge_stop *stop)
{
    struct thread *thread = scratch->thread;
    enum interpreter_stop why;
    enum cost_part before;

    scratch->from = burst_count(scratch->burst);
    if (!look_ahead_begin(thread, context))
        return INTERPRETER_UNKNOWN;
    before = cost_enter(COST_INTERPRETATION);
    thread->calls = &scratch->paths.calls;
    if (!pmu_in_use())
        rate_follow_begin(scratch);
    why = feed(scratch);
    thread->calls = NULL;
    if (!pmu_in_use())
        rate_follow_end(scratch);
    if (scratch->record.loop == 0)
        scratch->record.loop = loops_hottest(&thread->loops);
    if (why == INTERPRETER_SYSTEM_CALL) {
        kernel_buffers_note(&scratch->buffers, thread->interpreter);
        if (!pmu_in_use())
            rate_system_call(scratch);
    }
    if (why != INTERPRETER_FULL) {
        bridge_foresee(thread->interpreter, why, stop);
        look_ahead_end(thread);
    }
    cost_leave(before);
    return why;
}

/* What context switches cost because of our events. With hardware counters the application time is
 * no time; what those cost at a switch is not known. */
static void charge_switches(struct thread *thread, uint64_t switches, uint64_t app_now)
{
    const struct event_costs costs = event_costs_now();
    struct switch_cost cost;

    cost = switches_count(&thread->switches, switches, app_now, thread->ticks.part_ns, &costs);
    governor_spend(&thread->governor, cost.burst_ns);
    governor_spend_besides(&thread->governor, cost.besides_ns);
    atomic_fetch_add_explicit(&thread->besides_ns, cost.burst_ns + cost.besides_ns,
                              memory_order_relaxed);
}

/* The registers' lines: drawn before anything is known of what becomes of them. */
static void draw_watches(struct scratch *scratch, uint64_t app_now)
{
    struct thread *thread = scratch->thread;
    struct burst_probe probes[WATCHES_MAX];
    enum cost_part before = cost_enter(COST_MARKER);
    uint32_t slots;
    unsigned n;

    switches_restart_window(&thread->switches, app_now);
    watch_registers(thread);
    slots = private_watches_accept(&thread->watches);
    if (slots == 0) {
        thread->totals.lost[LOSS_NO_REGISTER]++;
        cost_leave(before);
        return;
    }
    n = burst_draw_open(scratch->burst, &thread->random, (unsigned)__builtin_popcount(slots),
                        probes);
    marker_set(scratch, slots, probes, n, app_now);
    cost_leave(before);
}

/*
 * The burst has all the accesses that it will have, and its thread is here. looking: the look-ahead
 * can go on from its end.
 */
static void complete(struct scratch *scratch, ucontext_t *context, uint64_t app_now, bool looking)
{
    struct thread *thread = scratch->thread;
    enum cost_part before;
    bool written = write_burst(scratch);

    if (looking) {
        if (written)
            pursue(scratch);
        look_ahead_end(thread);
    }
    if (written) {
        offer_sample(scratch, true);
        write_sample(scratch);
        if (!pmu_in_use()) {
            turns_follow(thread, scratch, context, app_now);
            before = cost_enter(COST_RATE);
            rate_note(scratch);
            cost_leave(before);
        }
        draw_watches(scratch, app_now);
    }
    scratch_give_back(scratch);
}

/* Looks ahead from here; then the burst is complete, or waits for its thread to pass a stop. */
static void advance(struct scratch *scratch, ucontext_t *context, uint64_t app_now)
{
    struct thread *thread = scratch->thread;
    struct bridge_stop stop;
    enum interpreter_stop why = look(scratch, context, &stop);

    if (why != INTERPRETER_FULL) {
        thread->totals.stops++;
        scratch->record.stop = (uint8_t)why;
        offer_sample(scratch, false);
        if (bridge_set(thread, scratch, &stop, app_now))
            return;
    }
    complete(scratch, context, app_now, why == INTERPRETER_FULL);
}

void bursts_take(struct thread *thread, ucontext_t *context, uint64_t app_now)
{
    struct scratch *scratch;

    bursts_end_thread(thread);
    scratch = scratch_take(thread);
    if (!scratch) {
        struct scratch *waiting = scratch_take_waiting();

        if (waiting)
            bursts_end_early(waiting);
        scratch = scratch_take(thread);
    }
    if (!scratch) {
        thread_carry(thread);
        return;
    }
    governor_burst(&thread->governor, pmu_in_use() ? 0 : app_now);
    if (!pmu_in_use()) {
        struct thread_usage usage = thread_usage_now();

        charge_switches(thread, usage.switches - thread->former.switches, app_now);
        rate_usage(scratch, &usage);
    }
    begin(scratch, context, app_now);
    advance(scratch, context, app_now);
}

void bursts_go_on(struct thread *thread, struct scratch *scratch, ucontext_t *context,
                  uint64_t app_now)
{
    thread->totals.bridged++;
    scratch->record.stops++;
    scratch->record.stop = 0;
    advance(scratch, context, app_now);
}

void bursts_end_early(struct scratch *scratch)
{
    if (write_burst(scratch))
        write_sample(scratch);
    scratch_give_back(scratch);
}

void bursts_end_thread(struct thread *thread)
{
    struct scratch *scratch = bridge_leave(thread);

    marker_forget(thread);
    if (scratch)
        bursts_end_early(scratch);
}

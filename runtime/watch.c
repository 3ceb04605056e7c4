/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "watch.h"

#include <stdatomic.h>
#include <stddef.h>

#include "attribution.h"
#include "descriptors.h"
#include "interpose_allocation.h"
#include "interpose_signal.h"
#include "look_ahead.h"
#include "output.h"
#include "perf_event.h"
#include "rate.h"
#include "sampling/watch_plan.h"
#include "settings.h"
#include "timebase.h"

#include "signal_safe.h"

enum {
    /* A word that is touched more often than this on the way to the sampled access is not worth a
     * trap each; its sample counts as censored at the window's end. */
    TRAPS_BEFORE_MAX = 12,
    /* How far a visit to a line is followed after a trap, in accesses. */
    VISIT_ACCESSES = 384,
    /* Traps of one watch on our own accesses before it is given up. */
    OWN_TRAPS_MAX = 8,
};

unsigned watch_registers(struct thread *thread)
{
    unsigned wanted = settings.sharing ? THREAD_WATCHES - 1 : THREAD_WATCHES;

    if (thread->watches_opened)
        return thread->watch_count;
    thread->watches_opened = true;
    thread->watch_count = 0;
    for (unsigned i = 0; i < wanted; i++) {
        int descriptor = descriptor_adopt(perf_watch_open(false));

        if (descriptor < 0)
            break;
        thread->watches[i].descriptor = descriptor;
        thread->watch_count = i + 1;
    }
    slots_begin(&thread->slots, thread->watch_count);
    return thread->watch_count;
}

void watch_invalidate(struct thread *owner, unsigned slot, uint64_t sample_id,
                      const struct thread *by, uint64_t ip, uint32_t context, unsigned visit_flags,
                      unsigned words_after)
{
    struct watch *watch = &owner->watches[slot];
    struct record_invalidation record = {
        .sample_id = sample_id,
        .thread_id = by->id,
        .context_id = context,
        .monotonic_ns = monotonic_ns(),
        .app_ns = thread_app_ns(owner),
        .ip = ip,
        .flags = (uint8_t)visit_flags,
        .words_after = (uint8_t)words_after,
        .cpu = attribution_cpu(),
    };

    if (atomic_load(&watch->state) != WATCH_RUNNING || watch->sample.sample_id != sample_id)
        return;
    atomic_store(&watch->invalidated, true);
    output_append(RECORD_INVALIDATION, &record, sizeof record, NULL, 0);
}

static bool change_state(struct watch *watch, enum watch_state from, enum watch_state to)
{
    uint32_t expected = from;

    return atomic_compare_exchange_strong(&watch->state, &expected, to);
}

/* Writes the sample's record, once. */
static void report_sample(struct watch *watch)
{
    if (watch->reported)
        return;
    watch->reported = true;
    if (output_append(RECORD_SAMPLE, &watch->sample, sizeof watch->sample, NULL, 0))
        output_count_sample();
}

/* The watch could not serve its sample: the sample stands without one. */
static void report_unwatched(struct watch *watch)
{
    watch->sample.flags |= SAMPLE_ARM_FAILED;
    watch->sample.watch_mode = WATCH_NONE;
    report_sample(watch);
}

static void free_register(struct watch *watch)
{
    perf_event_disable(watch->descriptor);
    if (watch->release_watched)
        allocation_unwatch(watch->sample.watch_address);
    watch->release_watched = false;
    watch->generation++;
    atomic_store(&watch->state, WATCH_FREE);
}

static void count_end(struct thread *owner, enum watch_end reason, bool invalidated)
{
    /* An ending by another thread may race with the owner's own count; the counters are for the
     * summary, the records carry the truth. */
    if (invalidated)
        owner->totals.invalidated++;
    else if (reason == WATCH_REUSED)
        owner->totals.reused++;
    else if (reason == WATCH_EVICTED)
        owner->totals.evicted++;
    else
        owner->totals.ended++;
}

bool watch_end(struct thread *owner, unsigned slot, enum watch_end reason, uint64_t app_now,
               const struct thread *by, uint64_t ip, uint32_t context, unsigned visit_flags,
               unsigned words_after)
{
    struct watch *watch = &owner->watches[slot];

    if (change_state(watch, WATCH_BEFORE, WATCH_ENDING)) {
        report_unwatched(watch);
        owner->totals.armed--;
        shared_watch_release(owner, slot);
        free_register(watch);
        return false;
    }
    if (!change_state(watch, WATCH_RUNNING, WATCH_ENDING))
        return false;
    struct record_watch_end end = {
        .sample_id = watch->sample.sample_id,
        .thread_id = by->id,
        .context_id = context,
        .monotonic_ns = monotonic_ns(),
        .app_ns = app_now,
        .ip = ip,
        .reason = (uint8_t)reason,
        .flags = (uint8_t)visit_flags,
        .words_after = (uint8_t)words_after,
        .cpu = attribution_cpu(),
    };
    output_append(RECORD_WATCH_END, &end, sizeof end, NULL, 0);
    count_end(owner, reason, atomic_load(&watch->invalidated));
    shared_watch_release(owner, slot);
    free_register(watch);
    return true;
}

/* Makes room in a slot: whatever it holds goes. */
static void evict(struct thread *thread, unsigned slot, uint64_t app_now)
{
    struct watch *watch = &thread->watches[slot];

    if (atomic_load(&watch->state) == WATCH_TIMING) {
        rate_cancel(thread);
        watch_release_timing(thread, slot);
        return;
    }
    watch_end(thread, slot, WATCH_EVICTED, app_now, thread, 0, 0, 0, 0);
}

/* Slots are also freed by other threads (invalidation): the policy sees what is really busy. */
static void refresh_slots(struct thread *thread)
{
    thread->slots.busy = 0;
    for (unsigned i = 0; i < thread->watch_count; i++)
        if (atomic_load(&thread->watches[i].state) != WATCH_FREE)
            thread->slots.busy |= 1u << i;
}

static int arm(struct watch *watch, unsigned slot, uint64_t address)
{
    struct event_cookie cookie = {
        .kind = EVENT_WATCH, .slot = slot, .generation = watch->generation};

    return perf_watch_arm(watch->descriptor, address, WATCH_WORD, WATCH_LOADS_AND_STORES,
                          event_cookie_pack(cookie), false);
}

void watch_start(struct thread *thread, struct record_sample *sample, uint64_t app_now)
{
    struct watch_plan plan;
    struct watch *watch;
    unsigned slot;
    bool evicts;

    watch_plan_make(&thread->window, &thread->random, &plan);
    sample->words_accessed = plan.words_accessed;
    if (watch_registers(thread) == 0 || plan.traps_before > TRAPS_BEFORE_MAX) {
        if (thread->watch_count == 0)
            thread->totals.lost[LOSS_NO_REGISTER]++;
        sample->flags |= SAMPLE_ARM_FAILED;
        if (output_append(RECORD_SAMPLE, sample, sizeof *sample, NULL, 0))
            output_count_sample();
        return;
    }
    refresh_slots(thread);
    slot = slots_offer(&thread->slots, &thread->random, &evicts);
    watch = &thread->watches[slot];
    if (evicts)
        evict(thread, slot, app_now);
    sample->watch_mode = (uint8_t)plan.mode;
    sample->watch_slot = (uint8_t)slot;
    sample->watch_length = WATCH_WORD;
    sample->watch_address = plan.address;
    watch->traps_before = plan.traps_before;
    watch->sampled_ip = sample->ip;
    watch->reported = false;
    watch->generation++;
    watch->own_traps = 0;
    atomic_store(&watch->invalidated, false);
    shared_watch_offer(thread, slot, sample);
    watch->sample = *sample;
    atomic_store(&watch->state, plan.traps_before ? WATCH_BEFORE : WATCH_RUNNING);
    if (arm(watch, slot, plan.address) != 0) {
        thread->totals.lost[LOSS_NO_REGISTER]++;
        report_unwatched(watch);
        shared_watch_release(thread, slot);
        atomic_store(&watch->state, WATCH_FREE);
        return;
    }
    watch->release_watched = true;
    allocation_watch(plan.address);
    thread->totals.armed++;
    if (plan.traps_before == 0)
        report_sample(watch);
}

/* The trap that the sampled access itself makes: the watch starts to run. */
static void begin_running(struct thread *thread, unsigned slot, uint64_t trap_ip, uint64_t app_now)
{
    struct watch *watch = &thread->watches[slot];

    if (--watch->traps_before > 0)
        return;
    /* x86 reports the instruction after the access, or a repeated string instruction that is not
     * through yet itself. Anything else means that the target took
     * another way than foreseen: nothing can be said of this watch. */
    if (trap_ip - watch->sampled_ip > 15) {
        thread->totals.lost[LOSS_TRAP_UNKNOWN]++;
        watch_end(thread, slot, WATCH_LOST, app_now, thread, 0, 0, 0, 0);
        return;
    }
    watch->sample.app_ns = app_now;
    report_sample(watch);
    atomic_store(&watch->state, WATCH_RUNNING);
}

unsigned watch_follow_visit(struct thread *thread, uint64_t sampled_address,
                            uint64_t trapped_address, const ucontext_t *context,
                            unsigned *words_after)
{
    struct visit visit;
    enum interpreter_stop why;
    unsigned flags = 0;
    size_t seen = 0;

    *words_after = 0;
    if (!look_ahead_begin(thread, context))
        return 0;
    visit_begin(&visit, sampled_address, trapped_address, settings.line_size);
    do {
        size_t n = look_ahead_next(thread, 128, &why);

        visit_feed(&visit, thread->batch, n);
        seen += n;
    } while (why == INTERPRETER_FULL && seen < VISIT_ACCESSES);
    look_ahead_end(thread);
    flags = WATCH_END_VISIT_KNOWN;
    if (visit_touches_sampled(&visit))
        flags |= WATCH_END_VISIT_TOUCHES_ACCESSED;
    if (visit_ends_at_trapped(&visit))
        flags |= WATCH_END_VISIT_ENDS_HERE;
    *words_after = visit_words_after(&visit);
    return flags;
}

static void finish_by_reuse(struct thread *thread, unsigned slot, ucontext_t *context,
                            uint64_t app_now)
{
    struct watch *watch = &thread->watches[slot];
    unsigned flags, words_after;
    uint64_t ip = (uint64_t)context->uc_mcontext.gregs[REG_RIP];

    /* Off first: everything below takes time, and the word may be hot. */
    perf_event_disable(watch->descriptor);
    flags = watch_follow_visit(thread, watch->sample.address, watch->sample.watch_address, context,
                               &words_after);
    watch_end(thread, slot, WATCH_REUSED, app_now, thread, ip,
              attribution_context(thread, context, ip), flags, words_after);
}

static void trap_one(struct thread *thread, unsigned slot, ucontext_t *context, uint64_t app_now)
{
    uint64_t ip = (uint64_t)context->uc_mcontext.gregs[REG_RIP];

    switch (atomic_load(&thread->watches[slot].state)) {
    case WATCH_BEFORE:
        begin_running(thread, slot, ip, app_now);
        break;
    case WATCH_RUNNING:
        finish_by_reuse(thread, slot, context, app_now);
        break;
    case WATCH_TIMING:
        rate_trap(thread, slot, ip, app_now);
        break;
    default:
        perf_event_disable(thread->watches[slot].descriptor);
        thread->totals.lost[LOSS_TRAP_UNKNOWN]++;
    }
}

void watch_trap(struct thread *thread, unsigned slot, uint32_t generation, ucontext_t *context,
                uint64_t app_now)
{
    if (slot >= thread->watch_count ||
        (thread->watches[slot].generation & 0xffffff) != generation) {
        thread->totals.lost[LOSS_TRAP_UNKNOWN]++;
        return;
    }
    /* Registers on one word trap together but the kernel sends one signal for all of them. */
    uint64_t address = thread->watches[slot].sample.watch_address;

    for (unsigned i = 0; i < thread->watch_count; i++) {
        uint32_t state = atomic_load(&thread->watches[i].state);

        if (i == slot || (thread->watches[i].sample.watch_address == address &&
                          state != WATCH_FREE && state != WATCH_ENDING))
            trap_one(thread, i, context, app_now);
    }
}

void watch_own_trap(struct thread *thread, unsigned slot, uint32_t generation)
{
    struct watch *watch = &thread->watches[slot];

    if (slot >= thread->watch_count || (watch->generation & 0xffffff) != generation ||
        ++watch->own_traps < OWN_TRAPS_MAX)
        return;
    if (atomic_load(&watch->state) == WATCH_TIMING)
        rate_cancel(thread);
    else
        watch_end(thread, slot, WATCH_LOST, thread_app_ns(thread), thread, 0, 0, 0, 0);
}

bool watch_take_for_timing(struct thread *thread, unsigned slot, uint64_t address, uint64_t app_now)
{
    struct watch *watch = &thread->watches[slot];

    if (atomic_load(&watch->state) != WATCH_FREE)
        evict(thread, slot, app_now);
    watch->generation++;
    watch->own_traps = 0;
    watch->reported = true;
    watch->sample.watch_address = address & ~(uint64_t)(WATCH_WORD - 1);
    atomic_store(&watch->state, WATCH_TIMING);
    if (arm(watch, slot, watch->sample.watch_address) == 0)
        return true;
    atomic_store(&watch->state, WATCH_FREE);
    return false;
}

void watch_release_timing(struct thread *thread, unsigned slot)
{
    struct watch *watch = &thread->watches[slot];

    if (atomic_load(&watch->state) == WATCH_TIMING)
        free_register(watch);
}

void watch_block_freed(uint64_t base, uint64_t size)
{
    sigset_t before;
    struct thread *self = thread_current();

    if (!self)
        return;
    signals_block(&before);
    for (struct thread *thread = thread_first(); thread; thread = thread->next) {
        for (unsigned i = 0; i < thread->watch_count; i++) {
            struct watch *watch = &thread->watches[i];

            if (atomic_load(&watch->state) == WATCH_RUNNING &&
                watch->sample.watch_address - base < size)
                watch_end(thread, i, WATCH_FREED, thread_app_ns(thread), self, 0, 0, 0, 0);
        }
    }
    signals_restore(&before);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. The mechanism behind sampling/private_watch.h: perf events, records, look-ahead. */
#include "watches/watch.h"

#include <stddef.h>

#include "allocation/interpose_allocation.h"
#include "arch/arch.h"
#include "bursts/cost_account.h"
#include "bursts/look_ahead.h"
#include "bursts/rate.h"
#include "interposition/descriptors.h"
#include "interposition/interpose_signal.h"
#include "output/output.h"
#include "perf_events/perf_event.h"
#include "perf_events/timebase.h"
#include "process/settings.h"
#include "recording/tape.h"
#include "sampling/watch_plan.h"
#include "unwinding/attribution.h"
#include "watches/step_over.h"

#include "signal_safe.h"

static bool arm(void *user, unsigned slot, uint64_t address, uint32_t generation)
{
    const struct thread *thread = user;
    const struct private_watch *watch = &thread->watches.watch[slot];
    struct event_cookie cookie = {.kind = EVENT_WATCH, .slot = slot, .generation = generation};

    if (atomic_load(&watch->state) == WATCH_TAKEN && watch->purpose == WATCH_FOR_BRIDGE)
        return perf_breakpoint_arm(&thread->registers[slot], thread->bridge.stop.until,
                                   event_cookie_pack(cookie)) == 0;
    return perf_watch_arm(&thread->registers[slot], address, WATCH_WORD, WATCH_LOADS_AND_STORES,
                          event_cookie_pack(cookie), false) == 0;
}

static void disarm(void *user, unsigned slot)
{
    const struct thread *thread = user;

    perf_event_disable(&thread->registers[slot]);
}

static void append(void *user, enum record_type type, const void *record, size_t size)
{
    (void)user;
    output_append(type, record, size, NULL, 0);
}

static uint64_t now(void *user)
{
    (void)user;
    return monotonic_ns();
}

static uint64_t app_now(void *user)
{
    return thread_app_ns(user);
}

static uint16_t cpu(void *user)
{
    (void)user;
    return attribution_cpu();
}

unsigned watch_follow_visit(struct thread *thread, uint64_t sampled_address,
                            uint64_t trapped_address, const ucontext_t *context,
                            unsigned *words_after)
{
    struct visit visit;
    enum interpreter_stop why;
    size_t seen = 0;

    *words_after = 0;
    if (!look_ahead_begin_after_access(thread, context))
        return 0;
    visit_begin(&visit, sampled_address, trapped_address, WATCH_WORD, settings.line_size);
    do {
        size_t n = look_ahead_next(thread, 128, &why);

        visit_feed(&visit, thread->batch, n);
        seen += n;
    } while (why == INTERPRETER_FULL && seen < VISIT_ACCESSES);
    look_ahead_end(thread);
    *words_after = visit_words_after(&visit);
    return visit_flags(&visit);
}

static bool follow(void *user, const struct record_sample *sample, const struct watch_trap *trap,
                   struct record_watch_end *end)
{
    struct thread *thread = user;
    ucontext_t *context = trap->machine;
    enum cost_part before = cost_enter(COST_VISIT);
    unsigned words_after;

    end->flags = (uint8_t)watch_follow_visit(thread, sample->address, sample->watch_address,
                                             context, &words_after);
    end->words_after = (uint8_t)words_after;
    end->context_id = attribution_context(thread, context, trap->ip);
    cost_leave(before);
    return true;
}

static void accompany(void *user, unsigned slot, struct record_sample *sample)
{
    shared_watch_offer(user, slot, sample);
}

static void leave(void *user, unsigned slot, const struct record_sample *sample)
{
    (void)sample;
    shared_watch_release(user, slot);
}

static void armed(void *user, unsigned slot, const struct record_sample *sample)
{
    (void)user;
    (void)slot;
    allocation_watch(sample->watch_address);
}

static void disarmed(void *user, unsigned slot, const struct record_sample *sample)
{
    (void)user;
    (void)slot;
    allocation_unwatch(sample->watch_address);
}

static void taken_trap(void *user, unsigned slot, unsigned purpose, const struct watch_trap *trap)
{
    (void)slot;
    switch ((enum watch_purpose)purpose) {
    case WATCH_FOR_MARKER:
        marker_trap(user, trap);
        break;
    case WATCH_FOR_BRIDGE:
        bridge_trap(user, trap->machine, trap->app_now);
        break;
    }
}

static void taken_cancel(void *user, unsigned slot, unsigned purpose)
{
    (void)slot;
    switch ((enum watch_purpose)purpose) {
    case WATCH_FOR_MARKER:
        marker_cancel(user);
        break;
    case WATCH_FOR_BRIDGE:
        bridge_cancel(user);
        break;
    }
}

static const struct watch_mechanism mechanism = {
    .arm = arm,
    .disarm = disarm,
    .append = append,
    .monotonic_ns = now,
    .app_ns = app_now,
    .cpu = cpu,
    .follow_visit = follow,
    .accompany = accompany,
    .leave = leave,
    .armed = armed,
    .disarmed = disarmed,
    .taken_trap = taken_trap,
    .taken_cancel = taken_cancel,
};

static void begin(struct thread *thread, unsigned count)
{
    private_watches_begin(&thread->watches, &mechanism, thread, thread->id, &thread->random,
                          &thread->totals, count, WATCH_WORD);
}

void watch_begin_thread(struct thread *thread)
{
    thread->registers_opened = false;
    begin(thread, 0);
}

unsigned watch_registers(struct thread *thread)
{
    unsigned count = 0;

    if (thread->registers_opened)
        return thread->watches.count;
    thread->registers_opened = true;
    while (count < WATCH_PRIVATE && count < settings.options.registers) {
        if (descriptor_adopt(perf_watch_open(false), &thread->registers[count]) < 0)
            break;
        count++;
    }
    begin(thread, count);
    return count;
}

void watch_end_lines(struct thread *thread, enum watch_end reason, uint64_t app_now)
{
    struct watch_ending ending = {.reason = reason, .app_now = app_now, .by_thread = thread->id};

    for (unsigned i = 0; i < thread->watches.count; i++)
        private_watch_end(&thread->watches, i, &ending);
}

void watch_end_thread(struct thread *thread, enum watch_end reason, uint64_t app_now)
{
    for (unsigned i = 0; i < thread->watches.count; i++)
        private_watch_release(&thread->watches, i);
    watch_end_lines(thread, reason, app_now);
}

bool watch_is_armed(const struct thread *thread)
{
    return private_watches_busy(&thread->watches) != 0 || line_sharing_is_of(thread);
}

static bool serves_watch(const struct private_watch *watch, uint64_t address)
{
    uint32_t state = atomic_load(&watch->state);

    return address && watch->sample.watch_address == address && state != WATCH_FREE &&
           state != WATCH_ENDING;
}

void watch_put_aside(struct thread *thread, uint64_t address)
{
    struct step_over *step = &thread->step;

    for (unsigned i = 0; i < thread->watches.count; i++) {
        const struct private_watch *watch = &thread->watches.watch[i];

        if (!serves_watch(watch, address))
            continue;
        disarm(thread, i);
        step->private_aside |= 1u << i;
        step->private_generation[i] = watch->generation;
    }
}

void watch_bring_back(struct thread *thread, unsigned registers)
{
    for (unsigned i = 0; i < thread->watches.count; i++) {
        const struct private_watch *watch = &thread->watches.watch[i];

        if (registers >> i & 1 && watch->generation == thread->step.private_generation[i] &&
            serves_watch(watch, watch->sample.watch_address))
            perf_event_enable(&thread->registers[i]);
    }
}

void watch_stray_trap(struct thread *thread, unsigned slot)
{
    if (slot < thread->watches.count)
        disarm(thread, slot);
}

void watch_trap(struct thread *thread, unsigned slot, uint32_t generation, ucontext_t *context,
                uint64_t app_now)
{
    struct watch_trap trap = {
        .ip = arch_after_access(context),
        .app_now = app_now,
        .machine = context,
    };
    uint64_t address =
        slot < thread->watches.count ? thread->watches.watch[slot].sample.watch_address : 0;

    private_watch_trap(&thread->watches, slot, generation, &trap);
    line_sharing_trapped_too(thread, address, context);
    if (!ARCH_TRAPS_BEFORE_ACCESS)
        return;
    /* Another thread may have ended the watch while this one was bringing its register back. */
    if (address && atomic_load(&thread->watches.watch[slot].state) == WATCH_FREE)
        disarm(thread, slot);
    step_over_access(thread, address, context);
}

void watch_trapped_too(struct thread *thread, uint64_t address, ucontext_t *context,
                       uint64_t app_now)
{
    struct watch_trap trap = {
        .ip = arch_after_access(context),
        .app_now = app_now,
        .machine = context,
    };

    for (unsigned i = 0; i < thread->watches.count; i++) {
        struct private_watch *watch = &thread->watches.watch[i];

        /* One that is aside has had this very access. */
        if (!serves_watch(watch, address) || thread->step.private_aside >> i & 1)
            continue;
        private_watch_trap(&thread->watches, i, watch->generation & WATCH_GENERATION_MASK, &trap);
        return;
    }
}

void watch_own_trap(struct thread *thread, unsigned slot, uint32_t generation)
{
    private_watch_own_trap(&thread->watches, slot, generation);
}

void watch_invalidate(struct thread *owner, unsigned slot, uint64_t sample_id,
                      const struct thread *by, uint64_t ip, uint32_t context, unsigned visit_flags,
                      unsigned words_after)
{
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

    private_watch_invalidate(&owner->watches, slot, &record);
}

void watch_block_freed(uint64_t base, uint64_t size)
{
    sigset_t before;
    struct thread *self = thread_current();
    const uint64_t block[2] = {base, size};
    bool taped;

    if (!self)
        return;
    taped = tape_begin(TAPE_BLOCK_FREED, self->id, block, sizeof block);
    signals_block(&before);
    line_sharing_block_freed(base, size);
    for (struct thread *thread = thread_first(); thread; thread = thread->next)
        private_watch_block_freed(&thread->watches, base, size, self->id);
    signals_restore(&before);
    if (taped)
        tape_end();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/private_watch.h"

#include "signal_safe.h"

void private_watches_begin(struct private_watches *set, const struct watch_mechanism *mechanism,
                           void *thread, uint32_t thread_id, struct random *random,
                           struct record_totals *totals, unsigned count, uint32_t register_size)
{
    set->mechanism = mechanism;
    set->thread = thread;
    set->thread_id = thread_id;
    set->random = random;
    set->totals = totals;
    set->count = count < WATCHES_MAX ? count : WATCHES_MAX;
    set->register_size = register_size;
    slots_begin(&set->slots, set->count);
    for (unsigned i = 0; i < WATCHES_MAX; i++)
        atomic_store(&set->watch[i].state, WATCH_FREE);
}

static bool change_state(struct private_watch *watch, enum watch_state from, enum watch_state to)
{
    uint32_t expected = from;

    return atomic_compare_exchange_strong(&watch->state, &expected, to);
}

static void leave(struct private_watches *set, unsigned slot)
{
    if (set->mechanism->leave)
        set->mechanism->leave(set->thread, slot, &set->watch[slot].sample);
}

static void free_register(struct private_watches *set, unsigned slot)
{
    struct private_watch *watch = &set->watch[slot];

    set->mechanism->disarm(set->thread, slot);
    watch->generation++;
    atomic_store(&watch->state, WATCH_FREE);
}

static void count_end(struct record_totals *totals, enum watch_end reason, bool invalidated)
{
    /* An ending by another thread may race with the owner's own count; the counters are for the
     * summary, the records carry the truth. */
    if (invalidated)
        totals->invalidated++;
    else if (reason == WATCH_REUSED)
        totals->reused++;
    else if (reason == WATCH_EVICTED)
        totals->evicted++;
    else
        totals->ended++;
}

static struct record_watch_end end_record(const struct private_watches *set, unsigned slot,
                                          const struct watch_ending *ending)
{
    return (struct record_watch_end){
        .sample_id = set->watch[slot].sample.sample_id,
        .thread_id = ending->by_thread,
        .monotonic_ns = set->mechanism->monotonic_ns(set->thread),
        .app_ns = ending->app_now,
        .ip = ending->ip,
        .reason = (uint8_t)ending->reason,
        .cpu = set->mechanism->cpu(set->thread),
    };
}

/* The watch, in state WATCH_ENDING and its end written, is over. */
static void finish(struct private_watches *set, unsigned slot, enum watch_end reason)
{
    count_end(set->totals, reason, atomic_load(&set->watch[slot].invalidated));
    leave(set, slot);
    if (set->mechanism->disarmed)
        set->mechanism->disarmed(set->thread, slot, &set->watch[slot].sample);
    free_register(set, slot);
}

bool private_watch_end(struct private_watches *set, unsigned slot,
                       const struct watch_ending *ending)
{
    struct private_watch *watch = &set->watch[slot];
    struct record_watch_end end;

    if (!change_state(watch, WATCH_RUNNING, WATCH_ENDING))
        return false;
    end = end_record(set, slot, ending);
    set->mechanism->append(set->thread, RECORD_WATCH_END, &end, sizeof end);
    finish(set, slot, ending->reason);
    return true;
}

bool private_watch_is_settled(const struct private_watches *set, unsigned slot)
{
    return atomic_load(&set->watch[slot].state) != WATCH_ENDING;
}

static void end_by_owner(struct private_watches *set, unsigned slot, enum watch_end reason,
                         uint64_t app_now)
{
    struct watch_ending ending = {
        .reason = reason, .app_now = app_now, .by_thread = set->thread_id};

    private_watch_end(set, slot, &ending);
}

void private_watch_invalidate(struct private_watches *set, unsigned slot,
                              const struct record_invalidation *record)
{
    struct private_watch *watch = &set->watch[slot];

    if (atomic_load(&watch->state) != WATCH_RUNNING || watch->sample.sample_id != record->sample_id)
        return;
    atomic_store(&watch->invalidated, true);
    set->mechanism->append(set->thread, RECORD_INVALIDATION, record, sizeof *record);
}

/* The register goes, whatever it was taken for. */
static void cancel(struct private_watches *set, unsigned slot)
{
    if (set->mechanism->taken_cancel)
        set->mechanism->taken_cancel(set->thread, slot, set->watch[slot].purpose);
    private_watch_release(set, slot);
}

/* Makes room in a slot: whatever it holds goes. */
static void evict(struct private_watches *set, unsigned slot, uint64_t app_now)
{
    if (atomic_load(&set->watch[slot].state) == WATCH_TAKEN)
        cancel(set, slot);
    else
        end_by_owner(set, slot, WATCH_EVICTED, app_now);
}

uint32_t private_watches_busy(const struct private_watches *set)
{
    uint32_t busy = 0;

    for (unsigned i = 0; i < set->count; i++)
        if (atomic_load(&set->watch[i].state) != WATCH_FREE)
            busy |= 1u << i;
    return busy;
}

uint32_t private_watches_accept(struct private_watches *set)
{
    /* Slots are also freed by traps and other threads: the policy sees what is really busy. */
    set->slots.busy = private_watches_busy(set);
    return slots_accept(&set->slots, set->random);
}

/* Puts the slot to a new use, in that state, and arms it. False: it is free. */
static bool arm(struct private_watches *set, unsigned slot, enum watch_state state)
{
    struct private_watch *watch = &set->watch[slot];

    watch->generation++;
    watch->own_traps = 0;
    atomic_store(&watch->state, state);
    if (set->mechanism->arm(set->thread, slot, watch->sample.watch_address,
                            watch->generation & WATCH_GENERATION_MASK))
        return true;
    set->totals->lost[LOSS_NO_REGISTER]++;
    atomic_store(&watch->state, WATCH_FREE);
    return false;
}

bool private_watch_start(struct private_watches *set, unsigned slot, struct record_sample *sample,
                         uint64_t app_now)
{
    struct private_watch *watch = &set->watch[slot];

    evict(set, slot, app_now);
    sample->watch_slot = (uint8_t)slot;
    sample->app_ns = app_now;
    if (set->mechanism->accompany)
        set->mechanism->accompany(set->thread, slot, sample);
    watch->sample = *sample;
    atomic_store(&watch->invalidated, false);
    if (!arm(set, slot, WATCH_RUNNING)) {
        leave(set, slot);
        return false;
    }
    set->mechanism->append(set->thread, RECORD_SAMPLE, sample, sizeof *sample);
    if (set->mechanism->armed)
        set->mechanism->armed(set->thread, slot, sample);
    set->totals->armed++;
    return true;
}

void private_watch_decline(struct private_watches *set, unsigned slot, struct record_sample *sample,
                           uint64_t app_now)
{
    struct private_watch *watch = &set->watch[slot];
    const struct watch_ending ending = {
        .reason = WATCH_EVICTED, .app_now = app_now, .by_thread = set->thread_id};
    struct record_watch_end end;

    evict(set, slot, app_now);
    sample->watch_slot = (uint8_t)slot;
    sample->app_ns = app_now;
    watch->sample = *sample;
    end = end_record(set, slot, &ending);
    set->mechanism->append(set->thread, RECORD_SAMPLE, sample, sizeof *sample);
    set->mechanism->append(set->thread, RECORD_WATCH_END, &end, sizeof end);
    count_end(set->totals, WATCH_EVICTED, false);
}

static void end_by_reuse(struct private_watches *set, unsigned slot, const struct watch_trap *trap)
{
    struct private_watch *watch = &set->watch[slot];
    struct watch_ending ending = {
        .reason = WATCH_REUSED,
        .app_now = trap->app_now,
        .by_thread = set->thread_id,
        .ip = trap->ip,
    };
    struct record_watch_end end;

    if (!change_state(watch, WATCH_RUNNING, WATCH_ENDING))
        return;
    /* Off first: what follows takes time, and the word may be hot. */
    set->mechanism->disarm(set->thread, slot);
    end = end_record(set, slot, &ending);
    if (set->mechanism->follow_visit(set->thread, &watch->sample, trap, &end))
        set->mechanism->append(set->thread, RECORD_WATCH_END, &end, sizeof end);
    finish(set, slot, WATCH_REUSED);
}

static void trap_one(struct private_watches *set, unsigned slot, const struct watch_trap *trap)
{
    switch (atomic_load(&set->watch[slot].state)) {
    case WATCH_RUNNING:
        end_by_reuse(set, slot, trap);
        break;
    case WATCH_TAKEN:
        if (set->mechanism->taken_trap)
            set->mechanism->taken_trap(set->thread, slot, set->watch[slot].purpose, trap);
        break;
    default:
        set->mechanism->disarm(set->thread, slot);
        set->totals->lost[LOSS_TRAP_UNKNOWN]++;
    }
}

static bool in_force(const struct private_watches *set, unsigned slot, uint32_t generation)
{
    return slot < set->count && (set->watch[slot].generation & WATCH_GENERATION_MASK) == generation;
}

void private_watch_trap(struct private_watches *set, unsigned slot, uint32_t generation,
                        const struct watch_trap *trap)
{
    uint64_t address;

    if (!in_force(set, slot, generation)) {
        set->totals->lost[LOSS_TRAP_UNKNOWN]++;
        return;
    }
    address = set->watch[slot].sample.watch_address;
    for (unsigned i = 0; i < set->count; i++) {
        uint32_t state = atomic_load(&set->watch[i].state);

        if (i == slot || (set->watch[i].sample.watch_address == address && state != WATCH_FREE &&
                          state != WATCH_ENDING))
            trap_one(set, i, trap);
    }
}

void private_watch_own_trap(struct private_watches *set, unsigned slot, uint32_t generation)
{
    if (!in_force(set, slot, generation) || ++set->watch[slot].own_traps < WATCH_OWN_TRAPS_MAX)
        return;
    if (atomic_load(&set->watch[slot].state) == WATCH_TAKEN)
        cancel(set, slot);
    else
        end_by_owner(set, slot, WATCH_LOST, set->mechanism->app_ns(set->thread));
}

void private_watch_block_freed(struct private_watches *set, uint64_t base, uint64_t size,
                               uint32_t by_thread)
{
    for (unsigned i = 0; i < set->count; i++) {
        struct watch_ending ending = {.reason = WATCH_FREED, .by_thread = by_thread};

        if (atomic_load(&set->watch[i].state) != WATCH_RUNNING ||
            set->watch[i].sample.watch_address - base >= size)
            continue;
        ending.app_now = set->mechanism->app_ns(set->thread);
        private_watch_end(set, i, &ending);
    }
}

bool private_watch_take(struct private_watches *set, unsigned slot, unsigned purpose,
                        uint64_t address, uint64_t app_now)
{
    struct private_watch *watch = &set->watch[slot];

    evict(set, slot, app_now);
    watch->purpose = purpose;
    watch->sample.watch_address = address & ~(uint64_t)(set->register_size - 1);
    return arm(set, slot, WATCH_TAKEN);
}

void private_watch_release(struct private_watches *set, unsigned slot)
{
    if (change_state(&set->watch[slot], WATCH_TAKEN, WATCH_ENDING))
        free_register(set, slot);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signal-safe.
 *
 * One perf event with `inherit` is a debug register at the same address in every thread of the
 * process; one system call arms or moves all of them. There are two, and two uses for them: line
 * watches (line_sharing.c), or accompanying one private watch at a time, looking for stores of
 * other threads to a word of its line.
 */
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"
#include "interposition/descriptors.h"
#include "output/output.h"
#include "perf_events/perf_event.h"
#include "perf_events/timebase.h"
#include "process/settings.h"
#include "recording/tape.h"
#include "sampling/watch_plan.h"
#include "spin_hint.h"
#include "unwinding/attribution.h"
#include "watches/step_over.h"
#include "watches/watch.h"

#include "signal_safe.h"

enum {
    SHARED_REGISTERS = 2,
    /* Chance that a new watch takes the registers from an older use: long intervals must survive.
     */
    SHARED_REPLACE_ONE_IN = 8,
    /* Slot in the cookie of a register that accompanies; those of line watches are 0 and 1. */
    SLOT_ACCOMPANIES = SHARED_WATCH_SLOTS - 1,
    PATIENCE = 1000,
};

/* SHARED_BUSY: accompanies; SHARED_LINES: serves a line watch. */
enum shared_state { SHARED_CLOSED, SHARED_FREE, SHARED_BUSY, SHARED_LINES, SHARED_CHANGING };

/*
 * state moves by compare-and-swap; the other fields belong to whoever moved it to SHARED_CHANGING.
 */
static struct {
    _Atomic int state;
    int descriptors[SHARED_REGISTERS];
    unsigned count;
    struct thread *owner;
    unsigned slot;
    _Atomic uint32_t generation;
    _Atomic unsigned own_traps; /* on stores of our own handlers */
    uint64_t address;           /* the watched word */
    uint64_t sampled_address;   /* whose line it is in */
    uint64_t sample_id;
    uint64_t lines[SHARED_REGISTERS]; /* words that line watches watch */
    uint32_t use;                     /* counts the times that they were armed */
    unsigned aside[SHARED_REGISTERS]; /* threads that are stepping over an access to them */
} shared;

static void open_registers(void)
{
    int expected = SHARED_CLOSED;
    unsigned left = settings.options.registers;

    if (!atomic_compare_exchange_strong(&shared.state, &expected, SHARED_CHANGING))
        return;
    /* The private ones come first. */
    left = left < WATCH_PRIVATE ? 0 : left - WATCH_PRIVATE;
    left = left < SHARED_REGISTERS ? left : SHARED_REGISTERS;
    for (shared.count = 0; shared.count < left; shared.count++) {
        if (descriptor_adopt(perf_watch_open(true), &shared.descriptors[shared.count]) < 0)
            break;
    }
    line_sharing_begin(shared.count);
    atomic_store(&shared.state, shared.count == 0 ? SHARED_CLOSED : SHARED_FREE);
}

void shared_watch_open(void)
{
    const struct thread *self = thread_current();
    bool taped;

    if (!settings.sharing || shared_watch_is_open())
        return;
    taped = tape_begin(TAPE_SHARED_OPEN, self ? self->id : 0, NULL, 0);
    open_registers();
    if (taped)
        tape_end();
}

bool shared_watch_is_open(void)
{
    return atomic_load_explicit(&shared.state, memory_order_relaxed) != SHARED_CLOSED;
}

void shared_watch_reset_after_fork(void)
{
    atomic_store(&shared.state, SHARED_CLOSED);
    line_sharing_reset_after_fork();
}

static bool take(int from)
{
    return atomic_compare_exchange_strong(&shared.state, &from, SHARED_CHANGING);
}

/* The register leaves a watch that goes on: what other threads store from now on is not seen. */
static void leave_watch(void)
{
    struct record_invalidation record = {
        .sample_id = shared.sample_id,
        .thread_id = shared.owner->id,
        .monotonic_ns = monotonic_ns(),
        .app_ns = thread_app_ns(shared.owner),
        .flags = INVALIDATION_NOT_SEEN,
        .cpu = attribution_cpu(),
    };

    output_append(RECORD_INVALIDATION, &record, sizeof record, NULL, 0);
}

/* ---- line watches ---- */

bool shared_registers_arm(uint64_t address, uint64_t address2, bool loads, uint32_t generation)
{
    const uint64_t addresses[SHARED_REGISTERS] = {address, address2};
    bool armed = true;
    unsigned patience = 0;

    while (!take(SHARED_FREE) && !take(SHARED_LINES)) {
        if (take(SHARED_BUSY)) {
            leave_watch();
            break;
        }
        if (++patience > PATIENCE)
            return false;
    }
    for (unsigned i = 0; i < shared.count && addresses[i]; i++) {
        struct event_cookie cookie = {
            .kind = EVENT_SHARED_WATCH, .slot = i, .generation = generation};

        shared.lines[i] = addresses[i];
        shared.aside[i] = 0;
        armed &= perf_watch_arm(&shared.descriptors[i], addresses[i], WATCH_WORD,
                                loads ? WATCH_LOADS_AND_STORES : WATCH_STORES,
                                event_cookie_pack(cookie), true) == 0;
    }
    shared.use++;
    for (unsigned i = 0; i < shared.count && !armed; i++)
        perf_event_disable(&shared.descriptors[i]);
    atomic_store(&shared.state, armed ? SHARED_LINES : SHARED_FREE);
    return armed;
}

void shared_registers_disarm(void)
{
    if (!take(SHARED_LINES))
        return;
    for (unsigned i = 0; i < shared.count; i++)
        perf_event_disable(&shared.descriptors[i]);
    atomic_store(&shared.state, SHARED_FREE);
}

/* Waits for whoever changes the registers. False: they serve no line watch, or that takes long. */
static bool take_lines(void)
{
    for (unsigned patience = 0; patience < PATIENCE; patience++) {
        int state = atomic_load(&shared.state);

        if (state != SHARED_LINES && state != SHARED_CHANGING)
            return false;
        if (take(SHARED_LINES))
            return true;
        spin_hint();
    }
    return false;
}

void shared_watch_put_aside(struct thread *thread, uint64_t address)
{
    struct step_over *step = &thread->step;

    if (!address || !take_lines())
        return;
    if (step->shared_use != shared.use)
        step->shared_aside = 0;
    step->shared_use = shared.use;
    for (unsigned i = 0; i < shared.count; i++) {
        if (shared.lines[i] != address)
            continue;
        perf_event_disable(&shared.descriptors[i]);
        shared.aside[i] += ~step->shared_aside >> i & 1;
        step->shared_aside |= 1u << i;
    }
    atomic_store(&shared.state, SHARED_LINES);
}

void shared_watch_bring_back(unsigned registers, uint32_t use)
{
    if (!registers || !take_lines())
        return;
    for (unsigned i = 0; i < shared.count && shared.use == use; i++)
        if (registers >> i & 1 && --shared.aside[i] == 0)
            perf_event_enable(&shared.descriptors[i]);
    atomic_store(&shared.state, SHARED_LINES);
}

/* ---- accompanying a private watch ---- */

bool shared_registers_kept(struct random *random)
{
    return atomic_load(&shared.state) == SHARED_BUSY &&
           random_below(random, SHARED_REPLACE_ONE_IN) != 0;
}

static bool take_for_watch(struct thread *owner)
{
    if (take(SHARED_FREE))
        return true;
    if (shared_registers_kept(&owner->random))
        return false;
    if (take(SHARED_BUSY)) {
        leave_watch();
        return true;
    }
    if (!line_sharing_yields(&owner->random))
        return false;
    line_sharing_stop(LINE_END_EVICTED);
    return take(SHARED_FREE);
}

void shared_watch_offer(struct thread *owner, unsigned slot, struct record_sample *sample)
{
    uint64_t address;
    uint32_t generation;

    /* A line watch for this very sample sees the stores as well. */
    if (thread_alive_count() < 2 || line_sharing_follows(sample->sample_id) || !owner->shareable ||
        !take_for_watch(owner))
        return;
    address = watch_plan_any_word(sample->address, &owner->random, settings.line_size);
    generation = (atomic_load(&shared.generation) + 1) & 0xffffff;
    atomic_store(&shared.generation, generation);
    atomic_store(&shared.own_traps, 0);
    struct event_cookie cookie = {
        .kind = EVENT_SHARED_WATCH, .slot = SLOT_ACCOMPANIES, .generation = generation};

    if (perf_watch_arm(&shared.descriptors[0], address, WATCH_WORD, WATCH_STORES,
                       event_cookie_pack(cookie), true) != 0) {
        atomic_store(&shared.state, SHARED_FREE);
        return;
    }
    shared.owner = owner;
    shared.slot = slot;
    shared.address = address;
    shared.sampled_address = sample->address;
    shared.sample_id = sample->sample_id;
    sample->invalidation_address = address;
    sample->flags |= SAMPLE_INVALIDATION_WATCH;
    atomic_store(&shared.state, SHARED_BUSY);
}

void shared_watch_release(const struct thread *owner, unsigned slot)
{
    if (atomic_load(&shared.state) != SHARED_BUSY || shared.owner != owner || shared.slot != slot ||
        !take(SHARED_BUSY))
        return;
    if (shared.owner == owner && shared.slot == slot) {
        perf_event_disable(&shared.descriptors[0]);
        atomic_store(&shared.state, SHARED_FREE);
    } else {
        atomic_store(&shared.state, SHARED_BUSY);
    }
}

void shared_watch_own_trap(unsigned slot, uint32_t generation)
{
    enum { OWN_TRAPS_MAX = 8 };

    if (slot != SLOT_ACCOMPANIES) {
        line_sharing_own_trap();
        return;
    }
    if (atomic_load(&shared.generation) != generation ||
        atomic_fetch_add(&shared.own_traps, 1) + 1 < OWN_TRAPS_MAX || !take(SHARED_BUSY))
        return;
    leave_watch();
    perf_event_disable(&shared.descriptors[0]);
    atomic_store(&shared.state, SHARED_FREE);
}

void shared_watch_stray_trap(unsigned slot)
{
    if (slot != SLOT_ACCOMPANIES) {
        line_sharing_stop(LINE_END_LOST);
        return;
    }
    if (!take(SHARED_BUSY))
        return;
    leave_watch();
    perf_event_disable(&shared.descriptors[0]);
    atomic_store(&shared.state, SHARED_FREE);
}

static void accompanying_trap(struct thread *thread, uint32_t generation, ucontext_t *context,
                              uint64_t app_now)
{
    struct thread *owner;
    unsigned slot, flags, words_after;
    uint64_t address, sampled_address, sample_id, ip = arch_after_access(context);
    uint32_t in_force = atomic_load(&shared.generation);

    if (in_force != generation || !take(SHARED_BUSY)) {
        /* Several threads store to the word at once: one ends the watch, the others come late. If
         * it has been put aside meanwhile, it must run before the register traps no more. */
        thread->totals.lost[LOSS_TRAP_UNKNOWN]++;
        if (atomic_load(&shared.state) == SHARED_CHANGING)
            syscall(SYS_sched_yield);
        return;
    }
    owner = shared.owner;
    slot = shared.slot;
    address = shared.address;
    sampled_address = shared.sampled_address;
    sample_id = shared.sample_id;
    if (owner == thread)
        leave_watch();
    perf_event_disable(&shared.descriptors[0]);
    atomic_store(&shared.state, SHARED_FREE);
    if (owner != thread) {
        flags = watch_follow_visit(thread, sampled_address, address, context, &words_after);
        watch_invalidate(owner, slot, sample_id, thread, ip,
                         attribution_context(thread, context, ip), flags, words_after);
        return;
    }
    watch_trapped_too(thread, address, context, app_now);
    if (ARCH_TRAPS_BEFORE_ACCESS)
        step_over_access(thread, address, context);
}

void shared_watch_trap(struct thread *thread, unsigned slot, uint32_t generation,
                       ucontext_t *context, uint64_t app_now)
{
    uint64_t words[2];

    if (slot == SLOT_ACCOMPANIES) {
        accompanying_trap(thread, generation, context, app_now);
        return;
    }
    line_sharing_words(words);
    line_sharing_trap(thread, slot == 1, generation, context);
    watch_trapped_too(thread, words[slot], context, app_now);
    if (ARCH_TRAPS_BEFORE_ACCESS)
        step_over_access(thread, words[slot], context);
}

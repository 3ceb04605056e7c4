/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signal-safe.
 *
 * One perf event with `inherit` is a debug register at the same address in every thread of the
 * process; one system call arms or moves all of them. It accompanies one running watch at a time
 * and looks for stores of other threads to a word of the watched line.
 */
#include <stdatomic.h>

#include "attribution.h"
#include "descriptors.h"
#include "output.h"
#include "perf_event.h"
#include "sampling/watch_plan.h"
#include "settings.h"
#include "watch.h"

#include "signal_safe.h"

/* Chance that a new watch takes the register from an older one: long intervals must survive. */
enum { SHARED_REPLACE_ONE_IN = 8 };

enum shared_state { SHARED_CLOSED, SHARED_FREE, SHARED_BUSY, SHARED_CHANGING };

/*
 * state moves by compare-and-swap; the other fields belong to whoever moved it to SHARED_CHANGING.
 */
static struct {
    _Atomic int state;
    int descriptor;
    struct thread *owner;
    unsigned slot;
    _Atomic uint32_t generation;
    _Atomic unsigned own_traps; /* on stores of our own handlers */
    uint64_t address;           /* the watched word */
    uint64_t sampled_address;   /* whose line it is in */
    uint64_t sample_id;
} shared;

void shared_watch_open(void)
{
    int expected = SHARED_CLOSED, descriptor;

    if (!settings.sharing ||
        !atomic_compare_exchange_strong(&shared.state, &expected, SHARED_CHANGING))
        return;
    descriptor = descriptor_adopt(perf_watch_open(true));
    shared.descriptor = descriptor;
    atomic_store(&shared.state, descriptor < 0 ? SHARED_CLOSED : SHARED_FREE);
}

void shared_watch_reset_after_fork(void)
{
    atomic_store(&shared.state, SHARED_CLOSED);
}

void shared_watch_move_descriptor(int from, int to)
{
    if (atomic_load(&shared.state) != SHARED_CLOSED && shared.descriptor == from)
        shared.descriptor = to;
}

static bool take(int from)
{
    return atomic_compare_exchange_strong(&shared.state, &from, SHARED_CHANGING);
}

void shared_watch_offer(struct thread *owner, unsigned slot, struct record_sample *sample)
{
    uint64_t address;
    uint32_t generation;

    if (thread_alive_count() < 2)
        return;
    if (!take(SHARED_FREE)) {
        if (random_below(&owner->random, SHARED_REPLACE_ONE_IN) != 0 || !take(SHARED_BUSY))
            return;
    }
    address = watch_plan_any_word(&owner->window, &owner->random);
    generation = (atomic_load(&shared.generation) + 1) & 0xffffff;
    atomic_store(&shared.generation, generation);
    atomic_store(&shared.own_traps, 0);
    struct event_cookie cookie = {.kind = EVENT_SHARED_WATCH, .generation = generation};

    if (perf_watch_arm(shared.descriptor, address, WATCH_WORD, WATCH_STORES,
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
        perf_event_disable(shared.descriptor);
        atomic_store(&shared.state, SHARED_FREE);
    } else {
        atomic_store(&shared.state, SHARED_BUSY);
    }
}

void shared_watch_own_trap(uint32_t generation)
{
    enum { OWN_TRAPS_MAX = 8 };

    if (atomic_load(&shared.generation) != generation ||
        atomic_fetch_add(&shared.own_traps, 1) + 1 < OWN_TRAPS_MAX || !take(SHARED_BUSY))
        return;
    perf_event_disable(shared.descriptor);
    atomic_store(&shared.state, SHARED_FREE);
}

void shared_watch_trap(struct thread *thread, uint32_t generation, ucontext_t *context,
                       uint64_t app_now)
{
    struct thread *owner;
    unsigned slot, flags, words_after;
    uint64_t address, sampled_address, sample_id,
        ip = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
    uint32_t in_force = atomic_load(&shared.generation);

    if (in_force != generation || !take(SHARED_BUSY)) {
        /* Several threads store to the word at once: one ends the watch, the others come late. */
        thread->totals.lost[LOSS_TRAP_UNKNOWN]++;
        return;
    }
    owner = shared.owner;
    slot = shared.slot;
    address = shared.address;
    sampled_address = shared.sampled_address;
    sample_id = shared.sample_id;
    perf_event_disable(shared.descriptor);
    atomic_store(&shared.state, SHARED_FREE);
    if (owner != thread) {
        flags = watch_follow_visit(thread, sampled_address, address, context, &words_after);
        watch_invalidate(owner, slot, sample_id, thread, ip,
                         attribution_context(thread, context, ip), flags, words_after);
        return;
    }
    /* The owner's own store. If its private register watches the same word, that one has trapped by
     * the same instruction, and the kernel sends one signal for both. */
    const struct private_watch *watch = &owner->watches.watch[slot];

    if (watch->sample.watch_address == address)
        watch_trap(owner, slot, watch->generation & WATCH_GENERATION_MASK, context, app_now);
}

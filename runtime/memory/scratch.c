/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe but for scratch_create(). */
#include "memory/scratch.h"

#include "bursts/thread.h"
#include "bursts/thread_usage.h"
#include "memory/memory.h"

#include "signal_safe.h"

enum {
    /* More than there are processors: handlers that are preempted, bursts that wait. */
    SCRATCH_SPARE = 12,
    PAGE = 4096,
    TOUCHED = 16 * PAGE, /* of one that is new, all of which a burst needs, to time page faults */
};

/* Of struct scratch; a burst that waits is known by its thread. */
enum { SCRATCH_FREE = 0, SCRATCH_TAKEN = 1, SCRATCH_WAITS = 2 };

/* Written at start-up and by a forked child; one mapping, of which only what is used is touched. */
static unsigned char *memory;
static size_t each; /* bytes of one */
static unsigned count;
static _Atomic unsigned used;  /* none from this one on was ever taken */
static _Atomic uint64_t waits; /* so far */
static _Atomic bool is_kept_from_children;

static uint64_t waiting_state(const struct thread *thread)
{
    return SCRATCH_WAITS + (uint64_t)thread->id;
}

static size_t whole_pages(size_t bytes)
{
    return (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
}

static struct scratch *scratch_at(unsigned i)
{
    return (struct scratch *)(void *)(memory + i * each);
}

/* As many as there is room for, up to `wanted`. */
static void map_all(unsigned wanted)
{
    each = whole_pages(sizeof(struct scratch)) + whole_pages(burst_memory_size());
    while (wanted > 0 && (memory = memory_map(wanted * each)) == NULL)
        wanted /= 2;
    count = wanted;
}

void scratch_create(uint64_t cpus)
{
    if (count == 0) {
        map_all(
            (unsigned)(cpus + SCRATCH_SPARE < SCRATCH_MAX ? cpus + SCRATCH_SPARE : SCRATCH_MAX));
        return;
    }
    if (is_kept_from_children)
        atomic_store(&used, 0);
    for (unsigned i = 0; i < atomic_load(&used); i++)
        atomic_store(&scratch_at(i)->state, SCRATCH_FREE);
}

size_t scratch_bytes(void)
{
    return each;
}

void scratch_before_fork(void)
{
    if (!is_kept_from_children && atomic_load(&used) > 0)
        is_kept_from_children = memory_keep_from_children(memory, count * each);
}

/* Returns whether it has never been used. */
static bool note_used(unsigned i)
{
    unsigned before = atomic_load(&used);

    while (before <= i && !atomic_compare_exchange_weak(&used, &before, i + 1))
        ;
    return before <= i;
}

struct scratch *scratch_take(struct thread *thread)
{
    for (unsigned i = 0; i < count; i++) {
        struct scratch *scratch = scratch_at(i);
        uint64_t nobody = SCRATCH_FREE;

        if (atomic_load_explicit(&scratch->state, memory_order_relaxed) != SCRATCH_FREE)
            continue;
        bool fresh = note_used(i); /* before it is: a child forked here is to find it */

        if (atomic_compare_exchange_strong(&scratch->state, &nobody, SCRATCH_TAKEN)) {
            scratch->thread = thread;
            scratch->burst =
                (struct burst *)((unsigned char *)scratch + whole_pages(sizeof(struct scratch)));
            if (fresh)
                thread_usage_touch(scratch->burst, TOUCHED);
            return scratch;
        }
    }
    return NULL;
}

void scratch_give_back(struct scratch *scratch)
{
    atomic_store(&scratch->state, SCRATCH_FREE);
}

void scratch_wait(struct scratch *scratch)
{
    atomic_store(&scratch->waiting, atomic_fetch_add(&waits, 1));
    atomic_store(&scratch->state, waiting_state(scratch->thread));
}

bool scratch_resume(struct scratch *scratch, const struct thread *thread)
{
    uint64_t expected = waiting_state(thread);

    return atomic_compare_exchange_strong(&scratch->state, &expected, SCRATCH_TAKEN);
}

struct scratch *scratch_take_waiting(void)
{
    struct scratch *longest = NULL;
    uint64_t state = 0;

    for (unsigned i = 0; i < atomic_load(&used); i++) {
        struct scratch *scratch = scratch_at(i);
        uint64_t now = atomic_load(&scratch->state);

        if (now >= SCRATCH_WAITS &&
            (!longest || atomic_load(&scratch->waiting) < atomic_load(&longest->waiting))) {
            longest = scratch;
            state = now;
        }
    }
    if (!longest || !atomic_compare_exchange_strong(&longest->state, &state, SCRATCH_TAKEN))
        return NULL;
    return longest;
}

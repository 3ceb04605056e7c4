/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "watches/marker.h"

#include "bursts/bursts.h"
#include "process/settings.h"
#include "sampling/watch_plan.h"
#include "unwinding/attribution.h"
#include "watches/watch.h"

#include "signal_safe.h"

enum {
    /* On the way to the awaited one: a word that is hotter is not worth them. */
    TRAPS_BEFORE_MAX = 12,
    /* Longest instruction of any machine: a trap that lies further on is not of the expected one.
     */
    INSTRUCTION_BYTES_MAX = 15,
};

/* Makes the samples, in the order of their accesses. */
static void describe(struct scratch *scratch, struct marker *marker,
                     const struct burst_probe *probes, unsigned n)
{
    struct thread *thread = scratch->thread;

    paths_rewind(&scratch->paths);
    for (unsigned i = 0; i < n; i++) {
        const struct access *access = burst_access(scratch->burst, probes[i].index);
        struct record_sample *sample = &marker->samples[i];

        bursts_describe(scratch, paths_at(&scratch->paths, probes[i].index), access->ip, sample);
        burst_describe(scratch->burst, &probes[i], sample);
        sample->flags |= SAMPLE_OPEN;
        attribution_object(thread, sample);
        watch_plan_make(sample, &thread->random, WATCH_WORD, settings.line_size);
        marker->indexes[i] = probes[i].index;
        marker->shareable[i] = watch_plan_suits_all_threads(access);
        marker->copied[i] =
            kernel_buffers_touch(&scratch->buffers, sample->watch_address, WATCH_WORD);
    }
    marker->count = n;
}

/* All foreseen touches are made, as of the access marker->index. */
static void start(struct thread *thread, uint64_t app_now)
{
    struct marker *marker = &thread->marker;
    uint32_t slots = marker->slots;
    /* Other threads' stores can be watched for with one register: for one of the lines, by chance,
     * not for the last. */
    unsigned shared = random_below(&thread->random, marker->count);

    marker->set = false;
    for (unsigned i = 0; i < marker->count; i++) {
        unsigned slot = (unsigned)__builtin_ctz(slots);

        slots &= slots - 1;
        marker->samples[i].marker_accesses = marker->index - marker->indexes[i];
        thread->shareable = marker->shareable[i] && i == shared;
        if (marker->copied[i]) {
            private_watch_decline(&thread->watches, slot, &marker->samples[i], app_now);
            thread->totals.samples++;
        } else {
            thread->totals.samples +=
                private_watch_start(&thread->watches, slot, &marker->samples[i], app_now);
        }
    }
}

/*
 * Traps of a register on the word from one access up to another: one per instruction, though a
 * read-modify-write instruction makes two accesses, and one per exclusive pair, which nothing can
 * stop between its load and its store.
 */
static unsigned traps_on(const struct burst *burst, uint64_t word, uint32_t from, uint32_t to)
{
    const struct access *last = NULL;
    unsigned traps = 0;

    for (uint32_t i = from; i <= to; i++) {
        const struct access *access = burst_access(burst, i);

        if (access->address >= word + WATCH_WORD || access->address + access->width <= word)
            continue;
        if (access->kind == ACCESS_STORE &&
            (access->exclusive || (last && last + 1 == access && access->read_modify_write &&
                                   access->ip == last->ip && last->kind == ACCESS_LOAD))) {
            last = NULL;
            continue;
        }
        traps++;
        last = access;
    }
    return traps;
}

/* What tells that the thread has made the access of that index, the latest of those drawn. */
static bool find(const struct scratch *scratch, uint32_t latest, struct marker *marker,
                 uint64_t *word)
{
    const struct burst *burst = scratch->burst;
    struct burst_marker found;
    const struct access *access = burst_access(burst, latest);

    if (burst_marker_find(burst, latest, scratch->from, WATCH_WORD, &found)) {
        marker->index = found.index;
        marker->ip = found.ip;
        marker->traps_before = 1;
        *word = found.address;
        return true;
    }
    *word = access->address & ~(uint64_t)(WATCH_WORD - 1);
    marker->index = latest;
    marker->ip = access->ip;
    marker->traps_before = traps_on(burst, *word, scratch->from, latest);
    return marker->traps_before <= TRAPS_BEFORE_MAX;
}

void marker_set(struct scratch *scratch, uint32_t slots, struct burst_probe *probes, unsigned n,
                uint64_t app_now)
{
    struct thread *thread = scratch->thread;
    struct marker *marker = &thread->marker;
    uint64_t word;

    if (n == 0)
        return;
    burst_sort_probes(probes, n);
    marker->slots = slots;
    if (probes[n - 1].index < scratch->from) {
        describe(scratch, marker, probes, n);
        marker->index = scratch->from;
        start(thread, app_now);
        return;
    }
    if (!find(scratch, probes[n - 1].index, marker, &word) ||
        kernel_buffers_touch(&scratch->buffers, word, WATCH_WORD))
        return;
    describe(scratch, marker, probes, n);
    marker->slot = (unsigned)__builtin_ctz(slots);
    marker->set =
        private_watch_take(&thread->watches, marker->slot, WATCH_FOR_MARKER, word, app_now);
    thread->totals.markers += marker->set;
}

void marker_trap(struct thread *thread, const struct watch_trap *trap)
{
    struct marker *marker = &thread->marker;

    if (!marker->set || --marker->traps_before > 0)
        return;
    private_watch_release(&thread->watches, marker->slot);
    marker->set = false;
    if (trap->ip - marker->ip > INSTRUCTION_BYTES_MAX)
        return;
    thread->totals.foreseen++;
    start(thread, trap->app_now);
}

void marker_cancel(struct thread *thread)
{
    thread->marker.set = false;
}

void marker_forget(struct thread *thread)
{
    if (thread->marker.set && thread == thread_current())
        private_watch_release(&thread->watches, thread->marker.slot);
    thread->marker.set = false;
}

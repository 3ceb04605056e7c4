/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "perf_events/served.h"

#include <errno.h>

#include "bursts/look_ahead.h"
#include "memory/memory.h"
#include "output/output.h"
#include "perf_events/timebase.h"
#include "pmu/access_use.h"
#include "recording/tape.h"
#include "sampling/served.h"
#include "spin_hint.h"
#include "unwinding/attribution.h"

#include "signal_safe.h"

void served_begin_thread(struct thread *thread)
{
    if (pmu_served_by()[0] == '\0')
        return;
    if (thread->served)
        served_clear(thread->served);
    else
        thread->served = memory_map(sizeof *thread->served);
    if (!thread->served) {
        thread->pmu.losses.no_witness = 1;
        thread->pmu.losses.refusal = ENOMEM;
    }
}

static void lock(struct thread *thread)
{
    while (atomic_flag_test_and_set_explicit(&thread->serving, memory_order_acquire))
        spin_hint();
}

static void unlock(struct thread *thread)
{
    atomic_flag_clear_explicit(&thread->serving, memory_order_release);
}

static void write_cells(struct thread *thread)
{
    struct served_table *table = thread->served;
    uint64_t now = table->used ? monotonic_ns() : 0;

    for (uint32_t i = 0; i < table->used; i++) {
        table->cell[i].thread_id = thread->id;
        table->cell[i].monotonic_ns = now;
        if (!output_append(RECORD_SERVED, &table->cell[i], sizeof table->cell[i], NULL, 0))
            thread->totals.lost[LOSS_BUFFER]++;
    }
    served_clear(table);
}

static bool lies_in(uint64_t address, const void *begin, size_t size)
{
    return address - (uintptr_t)begin < size;
}

/*
 * The unit samples our handlers as well: their code, and what the C library's code does with their
 * memory.
 */
static bool is_ours(const struct thread *thread, const struct access_record *access)
{
    return look_ahead_is_runtime(access->ip) ||
           tape_value(TAPE_SETTING,
                      lies_in(access->address, thread->handler_stack, HANDLER_STACK) ||
                          lies_in(access->address, thread, sizeof *thread) ||
                          lies_in(access->address, thread->served, sizeof *thread->served));
}

/*
 * Objects of a batch's latest addresses: finding one looks at every thread's stack, and SPE leaves
 * a hundred records at a time. Of globals the page: no other object shares it.
 */
enum { RECENT = 8, PAGE = 4096 };

struct batch {
    struct thread *thread;
    unsigned next;
    struct {
        uint64_t low, size;
        struct served_object object;
    } recent[RECENT];
};

static struct served_object object_at(struct batch *batch, uint64_t address)
{
    struct record_sample sample = {.address = address};
    struct served_object object;
    uint64_t low, size;

    for (unsigned i = 0; i < RECENT; i++)
        if (address - batch->recent[i].low < batch->recent[i].size)
            return batch->recent[i].object;
    attribution_object(batch->thread, &sample);
    object = (struct served_object){sample.object_kind, sample.object_reference};
    low = sample.object_base;
    size = sample.object_size;
    if (object.kind == OBJECT_GLOBAL) {
        low = address / PAGE * PAGE;
        size = PAGE;
    }
    batch->recent[batch->next].low = low;
    batch->recent[batch->next].size = size;
    batch->recent[batch->next].object = object;
    batch->next = (batch->next + 1) % RECENT;
    return object;
}

static void take_record(void *context, const struct access_record *access, uint64_t weight)
{
    struct batch *batch = context;
    struct thread *thread = batch->thread;
    struct served_object object;

    if (access_use(access) != USE_ACCESS || is_ours(thread, access))
        return;
    object = object_at(batch, access->address);
    if (served_add(thread->served, access, object, weight))
        return;
    write_cells(thread);
    served_add(thread->served, access, object, weight);
}

void served_take(struct thread *thread)
{
    struct batch batch = {.thread = thread};

    lock(thread);
    pmu_thread_drain(&thread->pmu, thread->served ? take_record : NULL, &batch);
    unlock(thread);
}

void served_adapt(struct thread *thread, uint64_t mean)
{
    struct batch batch = {.thread = thread};

    lock(thread);
    pmu_thread_adapt(&thread->pmu, mean, thread->served ? take_record : NULL, &batch);
    unlock(thread);
}

void served_write(struct thread *thread)
{
    if (!thread->served)
        return;
    lock(thread);
    write_cells(thread);
    unlock(thread);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What the unit has left in its buffers. See pmu.h. Signal-safe. */
#include <string.h>

#include "perf_events/perf_event.h"
#include "perf_events/pmu_internal.h"
#include "pmu/access_use.h"
#include "pmu/ibs.h"
#include "pmu/perf_plan.h"
#include "pmu/ring.h"
#include "process/settings.h"
#include "recording/tape.h"

#include "signal_safe.h"

/* A buffer on its way out. */
struct drain {
    const struct pmu_choice *choice; /* of the event that wrote it */
    uint64_t weight;                 /* of each record */
    struct pmu_losses *losses;
    pmu_record record; /* NULL: nobody wants them */
    void *context;
    struct pmu_witness *witness; /* that it is the ring of; NULL: a sampler's */
    bool untold;                 /* records of the ring were lost in this batch */
    bool switched_off;           /* the AUX area was full */
};

static void give(struct drain *drain, const struct access_record *access)
{
    if (access_use(access) == USE_DAMAGED)
        drain->losses->damaged++;
    else if (drain->record)
        drain->record(drain->context, access, drain->weight);
}

/* ---- the ring ---- */

/* A sample as an access: IBS hands out its registers. False when it is none that can be used. */
static bool sample_access(const struct pmu_choice *choice, const struct perf_plan *plan,
                          const uint8_t *record, const struct perf_record_header *header,
                          struct access_record *access)
{
    const struct ibs_processor processor = {pmu_engine.processor.family,
                                            pmu_engine.processor.model};
    struct ibs_registers registers;
    const uint8_t *raw;
    size_t size;

    if (!(choice->sample_type & PERF_SAMPLE_RAW))
        return perf_plan_record(plan, record, header, access);
    raw = perf_plan_raw(plan, record, header, &size);
    return raw && ibs_decode(raw, size, &registers) &&
           ibs_to_record(&registers, &processor, access);
}

/* Bytes [from, to) of a buffer of `size`, which the tape records or supplies. */
static void tape_buffer(uint8_t *bytes, uint64_t size, uint64_t from, uint64_t to)
{
    uint64_t offset = from % size, fresh = to - from;
    uint64_t straight = fresh < size - offset ? fresh : size - offset;

    if (!tape_inside || fresh > size)
        return;
    tape_bytes(bytes + offset, straight);
    tape_bytes(bytes, fresh - straight);
}

/* What the kernel has written since the last time. */
static void open_ring(struct perf_event_mmap_page *page, struct ring *ring)
{
    uint8_t *data = (uint8_t *)page + settings.page_size;

    ring->data = data;
    ring->size = pmu_ring_bytes();
    ring->head = tape_value(TAPE_COUNT, __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE));
    ring->tail = page->data_tail;
    ring->damaged = 0;
    tape_buffer(data, ring->size, ring->tail, ring->head);
}

static void take_spe(void *context, const struct spe_record *record)
{
    struct drain *drain = context;
    struct access_record access;

    spe_to_record(record, drain->choice->source_table, &access);
    give(drain, &access);
}

static void take_piece(struct drain *drain, const struct perf_stream_record *stream)
{
    struct aux_area *area = &drain->witness->aux;

    /* In its own order: a replay has the bytes only from here on. */
    tape_buffer((uint8_t *)area->bytes, area->size, area->tail, stream->offset + stream->count);
    drain->switched_off |=
        aux_take(area, stream->offset, stream->count, stream->flags, take_spe, drain);
}

static void take_stream_record(struct drain *drain, const uint8_t *bytes, size_t size)
{
    struct perf_stream_record stream;

    if (!perf_stream_decode(bytes, size, &stream))
        return;
    switch (stream.event) {
    case STREAM_LOST:
        drain->losses->records += stream.count;
        drain->untold = true;
        break;
    case STREAM_THROTTLED:
        drain->losses->throttled++;
        break;
    case STREAM_TRACE_BEGUN:
        if (drain->witness)
            drain->witness->begun = true;
        break;
    case STREAM_AUX:
        if (drain->witness && drain->witness->aux.bytes)
            take_piece(drain, &stream);
        break;
    default:
        break;
    }
}

static void drain_ring(struct drain *drain, struct perf_event_mmap_page *page)
{
    struct perf_layout layout = {.sample_type = drain->choice->sample_type};
    struct perf_record_header header;
    struct perf_plan plan;
    bool planned = perf_plan_make(&layout, UNIT_PEBS, drain->choice->sampler[0].kinds, &plan);
    struct ring ring;
    const uint8_t *bytes;

    open_ring(page, &ring);
    while (ring_next(&ring, &header, &bytes)) {
        struct access_record access;

        if (header.type != PERF_RECORD_SAMPLE)
            take_stream_record(drain, bytes, header.size);
        else if (planned && sample_access(drain->choice, &plan, bytes, &header, &access))
            give(drain, &access);
        else
            drain->losses->damaged++;
    }
    drain->losses->damaged += ring.damaged;
    drain->untold |= ring.damaged > 0;
    __atomic_store_n(&page->data_tail, ring.tail, __ATOMIC_RELEASE);
}

/* ---- the witness ---- */

/* Pieces of the area were told of in the ring. Where that had no room, the area's own head says
 * what is there. */
static void finish_area(struct drain *drain, struct perf_event_mmap_page *page)
{
    struct aux_area *area = &drain->witness->aux;

    if (drain->untold) {
        uint64_t head = tape_value(TAPE_COUNT, __atomic_load_n(&page->aux_head, __ATOMIC_ACQUIRE));

        tape_buffer((uint8_t *)area->bytes, area->size, area->tail, head);
        aux_take_untold(area, head, take_spe, drain);
        /* Whether it was full nobody told; enabling what is enabled changes nothing. */
        drain->switched_off = true;
    }
    __atomic_store_n(&page->aux_tail, area->tail, __ATOMIC_RELEASE);
}

void pmu_witness_drain(struct pmu_witness *witness, bool enabled, struct pmu_losses *losses,
                       pmu_record record, void *context)
{
    struct drain drain = {.choice = &pmu_engine.witness,
                          .weight = witness->interval,
                          .losses = losses,
                          .record = record,
                          .context = context,
                          .witness = witness};

    drain_ring(&drain, witness->ring);
    if (!witness->aux.bytes)
        return;
    finish_area(&drain, witness->ring);
    if (drain.switched_off && enabled)
        perf_event_control(&witness->descriptor, PERF_EVENT_IOC_ENABLE, NULL);
}

/* ---- a thread ---- */

void pmu_thread_drain(struct pmu_thread *thread, pmu_record record, void *context)
{
    struct drain drain = {.choice = &pmu_engine.choice,
                          .weight = thread->stands_for,
                          .losses = &thread->losses,
                          .record = pmu_engine.has_witness ? NULL : record,
                          .context = context};
    bool enabled = atomic_load_explicit(&thread->enabled, memory_order_relaxed);

    for (unsigned i = 0; i < thread->samplers; i++)
        if (thread->ring[i])
            drain_ring(&drain, thread->ring[i]);
    thread->stands_for = thread->period;
    if (thread->witness.descriptor >= 0)
        pmu_witness_drain(&thread->witness, enabled, &thread->losses, record, context);
}

void pmu_thread_adapt(struct pmu_thread *thread, uint64_t mean, pmu_record record, void *context)
{
    struct pmu_witness *witness = &thread->witness;
    uint64_t interval;

    if (witness->descriptor < 0 || witness->interval_fixed)
        return;
    interval = pmu_witness_interval(witness, mean);
    if (interval <= 2 * witness->interval && witness->interval <= 2 * interval)
        return;
    if (perf_event_control(&witness->descriptor, PERF_EVENT_IOC_PERIOD, &interval) != 0) {
        witness->interval_fixed = true;
        return;
    }
    /* The kernel has stopped the unit for it: what was sampled before is all there. */
    pmu_witness_drain(witness, atomic_load_explicit(&thread->enabled, memory_order_relaxed),
                      &thread->losses, record, context);
    witness->interval = interval;
}

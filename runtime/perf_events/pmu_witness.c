/* SPDX-License-Identifier: BSD-3-Clause */
/* The event beside the samplers that only leaves records. See pmu.h. Signal-safe. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interposition/descriptors.h"
#include "perf_events/perf_event.h"
#include "perf_events/pmu_internal.h"
#include "process/settings.h"

#include "signal_safe.h"

enum {
    AUX_BYTES = 64 * 1024, /* of each thread, if that many may be locked */
    AUX_PAGES_LEAST = 2,   /* the kernel takes no fewer */
    /* An interval is chosen so that a quarter of the area fills from one signal to the next, were
     * every operation a record. Programs execute some four operations for each access. */
    AUX_RECORD_BYTES = 64,
    AUX_SHARE = 4,
    OPERATIONS_PER_ACCESS = 4,
    /* PEBS interrupts for each record: not more than a few for each signal, which costs far more.
     */
    RECORDS_PER_SIGNAL = 4,
};

void pmu_witness_forget(struct pmu_witness *witness)
{
    memset(witness, 0, sizeof *witness);
    witness->descriptor = witness->leader = -1;
}

static uint64_t rounded(uint64_t interval)
{
    const struct pmu_choice *choice = &pmu_engine.witness;

    interval = (interval + choice->period_multiple - 1) / choice->period_multiple *
               choice->period_multiple;
    return interval < choice->period_least ? choice->period_least : interval;
}

uint64_t pmu_witness_interval(const struct pmu_witness *witness, uint64_t period)
{
    uint64_t size = witness ? witness->aux.size : AUX_BYTES;

    if (pmu_engine.witness.unit != PMU_SPE)
        return rounded(period / RECORDS_PER_SIGNAL);
    return rounded(period * OPERATIONS_PER_ACCESS / (size / AUX_RECORD_BYTES / AUX_SHARE));
}

/* The area lies behind the ring. As large as may be: what the kernel lets a user lock is shared by
 * all threads. */
static int map_area(struct pmu_witness *witness)
{
    struct perf_event_mmap_page *page = witness->ring;
    size_t least = AUX_PAGES_LEAST * (size_t)settings.page_size;
    size_t size = least > AUX_BYTES ? least : AUX_BYTES;

    page->aux_offset = pmu_ring_mapping();
    for (; size >= least; size /= 2) {
        void *bytes;

        page->aux_size = size;
        bytes = pmu_map(witness->descriptor, size, pmu_ring_mapping());
        if (bytes) {
            aux_begin(&witness->aux, bytes, size);
            return 0;
        }
    }
    return -ENOBUFS;
}

static int open_leader(struct pmu_witness *witness)
{
    struct perf_event_attr attributes = pmu_attributes(&pmu_engine.witness.leader);

    int opened = pmu_open_event(&attributes, -1, &witness->leader);

    return opened < 0 ? opened : 0;
}

static int open_all(struct pmu_witness *witness)
{
    struct pmu_choice *choice = &pmu_engine.witness;
    int result = choice->sampler[0].needs_leader ? open_leader(witness) : 0;

    if (result < 0)
        return result;
    result = pmu_open_sampler(choice, &choice->sampler[0], witness->interval, 0, false,
                              witness->leader, &witness->descriptor);
    if (result < 0)
        return result;
    witness->ring = pmu_map(witness->descriptor, pmu_ring_mapping(), 0);
    if (!witness->ring)
        return -ENOBUFS;
    return choice->unit == PMU_SPE ? map_area(witness) : 0;
}

int pmu_witness_open(struct pmu_witness *witness, uint64_t interval)
{
    int result;

    pmu_witness_forget(witness);
    witness->interval = rounded(interval);
    result = open_all(witness);
    if (result < 0)
        pmu_witness_close(witness);
    return result;
}

void pmu_witness_close(struct pmu_witness *witness)
{
    if (witness->aux.bytes)
        syscall(SYS_munmap, witness->aux.bytes, witness->aux.size);
    if (witness->ring)
        syscall(SYS_munmap, witness->ring, pmu_ring_mapping());
    descriptor_release(&witness->descriptor);
    descriptor_release(&witness->leader);
    pmu_witness_forget(witness);
}

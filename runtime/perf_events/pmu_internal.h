/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the parts of the engine `pmu` (pmu.h). */
#ifndef REUSE_RUNTIME_PMU_INTERNAL_H
#define REUSE_RUNTIME_PMU_INTERNAL_H

#include <linux/perf_event.h>

#include "perf_events/pmu.h"

struct pmu_engine {
    bool in_use;
    bool has_witness;
    struct pmu_choice choice, witness;
    struct processor processor;
    char description[256];
    char served_by[192];
    char witness_refusal[PMU_REASON_MAX + 64];
};

extern struct pmu_engine pmu_engine;

/* As pmu_thread_open(); signals: each overflow brings one. `tried` is left at the event that was
 * refused. */
int pmu_thread_open_events(struct pmu_thread *, uint64_t period, uint64_t cookie, bool signals,
                           const struct pmu_event **tried);

/* Count of one of the thread's counting events, of the calling thread. */
uint64_t pmu_event_count(const struct pmu_thread *, unsigned counter);

/* An event's count, and for how long it was wanted and on a counter, ns; zeros if it cannot be
 * read. */
void pmu_read_event(const int *descriptor, uint64_t values[3]);

/* ---- opening (pmu_open.c) ---- */

struct perf_event_attr pmu_attributes(const struct pmu_event *);

/* Descriptor of ours, or -errno, in *holder as well (descriptors.h). */
int pmu_open_event(const struct perf_event_attr *, int group, int *holder);

/*
 * An event that samples; kernels that do not know a part of the sample type get an older one.
 * signals: each overflow brings one, with the cookie; else the records gather in the ring.
 */
int pmu_open_sampler(struct pmu_choice *, const struct pmu_event *, uint64_t period,
                     uint64_t cookie, bool signals, int group, int *holder);

/* Bytes of a ring's data, and of its page as well. */
size_t pmu_ring_bytes(void);
size_t pmu_ring_mapping(void);

/* Shared memory of an event. NULL when the kernel refuses: locked memory is limited, and we can do
 * without. */
void *pmu_map(int descriptor, size_t size, size_t offset);

/* ---- the witness (pmu_witness.c) ---- */

/* Disabled; 0 or -errno: -ENOBUFS if memory for its buffers cannot be locked. */
int pmu_witness_open(struct pmu_witness *, uint64_t interval);
void pmu_witness_close(struct pmu_witness *);
void pmu_witness_forget(struct pmu_witness *);
/* The interval that suits samplers of this period; NULL: before it is opened. */
uint64_t pmu_witness_interval(const struct pmu_witness *, uint64_t period);

/* ---- draining (pmu_drain.c) ---- */

void pmu_witness_drain(struct pmu_witness *, bool enabled, struct pmu_losses *, pmu_record,
                       void *context);

#endif

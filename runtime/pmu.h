/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine `pmu`: hardware counters trigger the samples and are the access clock.
 *
 * In each thread the chosen events (src/pmu/choose.h) interrupt every so many accesses and bring a
 * SIGTRAP, as the CPU clock does in the engine `clock`; everything from there on (window, watches,
 * records) is the same code. What differs: a sample stands for a counted number of accesses, and
 * all times of the profile count accesses (key `clock` of RECORD_RUN), so that no rate is
 * estimated.
 *
 * Records that the unit leaves in the ring buffer are drained with each signal: losses and
 * throttling are counted from them.
 */
#ifndef REUSE_RUNTIME_PMU_H
#define REUSE_RUNTIME_PMU_H

#include <stdbool.h>
#include <stdint.h>

#include "pmu/choose.h"
#include "sampling/random.h"

enum {
    PMU_RING_PAGES = 4, /* of each event that samples */
    /* First period, before the access rate of a thread is known: some milliseconds. */
    PMU_FIRST_PERIOD = 4 * 1000 * 1000,
};

/* What one counting event needs to be read. */
struct pmu_counter {
    int descriptor; /* -1: not opened */
    void *page;     /* the kernel's page about it, for rdpmc; NULL without */
    uint8_t accesses;
};

/* What a unit did not deliver as it should; of one thread, or of all. */
struct pmu_losses {
    uint64_t records;   /* that the ring had no room for */
    uint64_t throttled; /* times that the kernel stopped an event for a while */
    uint64_t damaged;   /* records that could not be read */
    uint64_t
        no_ring; /* threads whose buffer could not be locked: the above are not known of them */
    /* Counters were shared out with others': longest time an event was wanted and not on a counter,
     * and for how long it was wanted, ns. Counts are scaled up. */
    uint64_t off_ns, enabled_ns;
};

struct pmu_thread {
    unsigned counters; /* 0: the engine is not in use in this thread */
    struct pmu_counter counter[PMU_EVENTS_MAX];
    unsigned samplers;
    int sampler[PMU_EVENTS_MAX]; /* may be the same descriptors as the counters' */
    int leader;                  /* of a group that the kernel demands; -1 */
    void *ring[PMU_EVENTS_MAX];  /* page and buffer of each; NULL without */
    uint64_t period;
    uint64_t ours;  /* accesses of our own handlers: no part of any distance */
    uint64_t last;  /* accesses at the last sample */
    uint64_t first; /* what the first sample stands for; 0 once it is taken */
    struct pmu_losses losses;
};

/*
 * Looks for a unit, tries it on a loop of known accesses, and makes it the engine if it is honest.
 * False with one line in `reason` (PMU_REASON_MAX). Once, at start-up, before other threads; not
 * signal-safe. event: REUSE_EVENT.
 */
bool pmu_start(const char *event, char *reason);

/* Whether pmu_start() succeeded. The rest is signal-safe. */
bool pmu_in_use(void);

/* The unit and its events in words, for RECORD_RUN: "pebs cpu/MEM_INST_RETIRED:ALL_LOADS ...". */
const char *pmu_description(void);

/* Opens the events for the calling thread, disabled, with this period and cookie. 0 or -errno. */
int pmu_thread_open(struct pmu_thread *, uint64_t period, uint64_t cookie);
void pmu_thread_close(struct pmu_thread *);

/* After fork the events and mappings are the parent's. */
void pmu_thread_forget(struct pmu_thread *);

int pmu_thread_enable(struct pmu_thread *);
void pmu_thread_disable(struct pmu_thread *);

/* New period, counted from now. */
void pmu_thread_set_period(struct pmu_thread *, uint64_t period);

/* Accesses that the thread has made, without ours. `self`: it is the calling thread. Scaled up when
 * the kernel had to share counters out. */
uint64_t pmu_thread_accesses(const struct pmu_thread *, bool self);

/* Takes what is in the ring; `record` is called for each access (may be NULL). */
void pmu_thread_drain(struct pmu_thread *, void (*record)(void *, const struct access_record *),
                      void *context);

/* Adds a thread's losses to a sum; reads how long its counters were off. */
void pmu_thread_sum_losses(const struct pmu_thread *, struct pmu_losses *sum);

/* One of the descriptors has a new number. */
void pmu_thread_move_descriptor(struct pmu_thread *, int from, int to);

/*
 * The first sample comes anywhere within a period of `mean`, so that threads shorter than that are
 * sampled in proportion to their accesses; it stands for all of the mean.
 */
void pmu_thread_set_first_period(struct pmu_thread *, struct random *, uint64_t mean);

/* Accesses that a sample stands for, once for each sample: from the last one to `now`; where the
 * period counts accesses, the period. */
uint64_t pmu_thread_weight(struct pmu_thread *, uint64_t now);

#endif

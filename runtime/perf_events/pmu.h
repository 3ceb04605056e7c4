/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine `pmu`: hardware counters trigger the samples and are the access clock.
 *
 * In each thread the chosen events (src/observe/pmu/choose.h) interrupt every so many accesses and
 * bring a SIGTRAP, as the CPU clock does in the engine `clock`; everything from there on (window,
 * watches, records) is the same code. What differs: a sample stands for a counted number of
 * accesses, and all times of the profile count accesses (key `clock` of RECORD_RUN), so that no
 * rate is estimated.
 *
 * The records that a unit leaves of its samples say where data came from. Those of the samplers
 * are taken; or, where samplers tell nothing of it (Intel's events of all accesses, Arm's
 * counters), those of a witness: an event beside them that brings no signal and only leaves
 * records, SPE or PEBS' load latencies. Both are drained at the signals of the samplers and when a
 * thread ends.
 */
#ifndef REUSE_RUNTIME_PMU_H
#define REUSE_RUNTIME_PMU_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "pmu/aux_area.h"
#include "pmu/choose.h"
#include "sampling/random.h"

enum {
    PMU_RING_BYTES = 16 * 1024, /* of each event that samples, at least a page */
    /* First period, before the access rate of a thread is known: some milliseconds. */
    PMU_FIRST_PERIOD = 4 * 1000 * 1000,
};

/* What one counting event needs to be read. */
struct pmu_counter {
    int descriptor;              /* -1: the sampler of this index counts */
    void *page;                  /* the kernel's page about it, for rdpmc; NULL without */
    uint8_t accesses, core_kind; /* as in struct pmu_event */
};

/* What a unit did not deliver as it should; of one thread, or of all. */
struct pmu_losses {
    uint64_t records;   /* that the ring had no room for */
    uint64_t throttled; /* times that the kernel stopped an event for a while */
    uint64_t damaged;   /* records that could not be read */
    uint64_t
        no_ring; /* threads whose buffer could not be locked: the above are not known of them */
    uint64_t by_clock; /* threads that were refused hardware events: see thread_clock.h */
    /* Counters were shared out with others': longest time an event was wanted and not on a counter,
     * and for how long it was wanted, ns. Counts are scaled up. With several kinds of cores: time
     * in which none of their units counted; nothing is scaled up for it. */
    uint64_t off_ns, enabled_ns;
    /* Of the witness; times as above. */
    uint64_t no_witness;  /* threads for which it, or its buffer, was refused */
    int refusal;          /* errno of the last refusal */
    uint64_t never_begun; /* threads in which the kernel never began to trace */
    uint64_t witness_off_ns, witness_enabled_ns;
    struct aux_faults aux;
};

/* An event that only leaves records. */
struct pmu_witness {
    int descriptor;      /* -1: none */
    int leader;          /* of a group that the kernel demands; -1 */
    void *ring;          /* its page and buffer */
    struct aux_area aux; /* bytes NULL: the records are in the ring */
    uint64_t interval;   /* events of the unit from one record to the next */
    bool interval_fixed; /* the kernel takes no other */
    bool begun;          /* the kernel has begun to trace */
};

struct pmu_thread {
    unsigned counters; /* 0: the engine is not in use in this thread */
    struct pmu_counter counter[PMU_EVENTS_MAX];
    unsigned samplers;
    int sampler[PMU_EVENTS_MAX]; /* these count as well where no counters are chosen */
    int leader;                  /* of a group that the kernel demands; -1 */
    void *ring[PMU_EVENTS_MAX];  /* page and buffer of each; NULL without */
    struct pmu_witness witness;
    _Atomic bool enabled; /* also written by threads that pause others */
    uint64_t period;      /* of the samplers; longer than `asked` by what handlers of ours add */
    uint64_t asked;       /* the target's own accesses from one sample to the next */
    uint64_t set_at;      /* accesses when the period was set, and then: */
    uint64_t ours_then;   /* `ours` */
    uint64_t stands_for;  /* events of the unit that a record of a sampler stands for */
    uint64_t ours;        /* accesses of our own handlers: no part of any distance */
    uint64_t last;        /* accesses at the last sample */
    uint64_t first;       /* what the first sample stands for; 0 once it is taken */
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

/* Counters of the processor that its events take in each thread, of each kind of core; 0 when it is
 * not in use. */
unsigned pmu_counters_taken(void);

/* Whether cores of several kinds have a unit each. */
bool pmu_has_kinds_of_cores(void);

/* The unit and its events in words, for RECORD_RUN: "pebs cpu/MEM_INST_RETIRED:ALL_LOADS ...". */
const char *pmu_description(void);

/* The unit and the event whose records say where data came from, likewise; "" without one. */
const char *pmu_served_by(void);

/* Why there is no witness although the processor has one; "" otherwise. */
const char *pmu_witness_refusal(void);

/* Opens the events for the calling thread, disabled, with this period and cookie. 0 or -errno. */
int pmu_thread_open(struct pmu_thread *, uint64_t period, uint64_t cookie);
void pmu_thread_close(struct pmu_thread *);

/* After fork the events and mappings are the parent's. */
void pmu_thread_forget(struct pmu_thread *);

int pmu_thread_enable(struct pmu_thread *);
void pmu_thread_disable(struct pmu_thread *);

/*
 * New period, counted from now, in accesses of the target, which has made `now` of them. The unit
 * counts while handlers of ours run as well: by how much that made the last period too short, this
 * one is longer. So as many samples are taken as the target's accesses alone would bring.
 */
void pmu_thread_set_period(struct pmu_thread *, uint64_t period, uint64_t now);

/* Accesses that the thread has made, without ours. `self`: it is the calling thread. Scaled up when
 * the kernel had to share counters out. */
uint64_t pmu_thread_accesses(const struct pmu_thread *, bool self);

/* A sampled access, and how many of the unit's events it stands for. */
typedef void (*pmu_record)(void *context, const struct access_record *, uint64_t weight);

/* Takes what is in the buffers. Each record that may tell where data came from is given to `record`
 * (access_use() says whether it is one of an access). One thread at a time. */
void pmu_thread_drain(struct pmu_thread *, pmu_record record, void *context);

/* The period of the samplers is about `mean` now: the witness's follows when it is far from what
 * its buffer has room for. Drains before. */
void pmu_thread_adapt(struct pmu_thread *, uint64_t mean, pmu_record record, void *context);

/* Adds a thread's losses to a sum; reads how long its counters were off. */
void pmu_thread_sum_losses(const struct pmu_thread *, struct pmu_losses *sum);

/*
 * The first sample comes anywhere within a period of `mean`, so that threads shorter than that are
 * sampled in proportion to their accesses; it stands for all of the mean.
 */
void pmu_thread_set_first_period(struct pmu_thread *, struct random *, uint64_t mean);

/* Accesses that a sample stands for, once for each sample: from the last one to `now`; where the
 * period counts accesses, the period that was asked for. */
uint64_t pmu_thread_weight(struct pmu_thread *, uint64_t now);

#endif

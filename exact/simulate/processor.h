/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One thread on simulated hardware: a PMU that records every so many-th access, and debug registers
 * that trap; driven by the thread's own access stream. The policies are those of the runtime
 * (src/sampling): what is simulated is only what they ask of the hardware. Where the runtime looks
 * ahead with an interpreter, here the accesses are simply awaited. So a burst needs no marker: when
 * it is complete, the thread has just made its last access.
 *
 * Time is counted in accesses: the application clock of the k-th access of the thread reads k.
 *
 * Knows no QEMU and no file: what it needs of its surroundings are the functions of struct
 * processor_host, so that tests can drive it. Used by one thread at a time.
 */
#ifndef REUSE_EXACT_SIMULATE_PROCESSOR_H
#define REUSE_EXACT_SIMULATE_PROCESSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/format.h"
#include "sampling/address_steps.h"
#include "sampling/burst.h"
#include "sampling/private_watch.h"
#include "sampling/random.h"
#include "sampling/set_conflicts.h"
#include "sampling/watch_plan.h"
#include "simulate/layout.h"
#include "simulate/pmu.h"
#include "simulate/registers.h"
#include "stream.h"

struct processor_options {
    struct simulated_pmu_options pmu;
    enum simulated_layout layout;
    bool trap_before;       /* registers trap before the access (Arm), else after it (x86) */
    uint32_t register_size; /* bytes that one register watches: a power of two, 8 .. line_size */
    unsigned registers;     /* per thread, at most WATCHES_MAX */
    uint32_t line_size;
};

/* The surroundings. `user` is the processor's. */
struct processor_host {
    uint64_t (*ip_of)(void *user, uint32_t instruction);
    unsigned (*length_of)(void *user, uint32_t instruction); /* bytes */
    void (*identify)(void *user, uint64_t address, struct burst_object *);
    void (*append)(void *user, enum record_type, const void *record, size_t size);
    uint64_t (*monotonic_ns)(void *user);
    /* Adds what is known of communication through the sample's line. Called for the sample of each
     * burst that is drawn from all its probes. May be NULL. */
    void (*communicate)(void *user, struct record_sample *);
};

enum { PROCESSOR_VISITS_OPEN = 8 };

/* From its counter's overflow to its last access. */
struct burst_under_way {
    bool open;
    uint64_t id;
    uint64_t weight;
    uint64_t app_ns;      /* at its first access; before that of the counter's overflow */
    uint32_t undelivered; /* accesses until the record is; 0: accesses are being added */
    struct access recorded;
};

/* A visit to a line that is followed after a trap. */
struct open_visit {
    struct visit visit;
    uint32_t seen;
    struct record_watch_end end;
};

struct processor {
    const struct processor_options *options;
    const struct processor_host *host;
    void *user;
    uint32_t thread_id;
    uint64_t accesses; /* made so far */
    uint64_t carried;  /* weight of expiries during bursts: goes to the next one */
    struct random random, pmu_random;
    struct simulated_pmu pmu;
    struct simulated_registers registers;
    struct private_watches watches;
    struct record_totals totals;
    struct burst_under_way under_way;
    struct burst *burst;
    struct record_burst *record; /* PROFILE_RECORD_MAX bytes */
    struct step_counter steps;
    struct set_state sets;
    unsigned visits_open; /* the first so many of: */
    struct open_visit visits[PROCESSOR_VISITS_OPEN];
};

/* False without memory. options, host and user must outlive the processor. */
bool processor_begin(struct processor *, const struct processor_options *,
                     const struct processor_host *, void *user, uint32_t thread_id, uint64_t seed);

/* The next accesses of the thread. */
void processor_run(struct processor *, const struct stream_access *, size_t count);

/* The thread or the process ends: so do all its watches, for that reason. */
void processor_end(struct processor *, enum watch_end reason);

/*
 * Of the burst, and of its sample from all probes, that begin when the thread's PMU runs over for
 * the n-th time, from 1. There are none if the record is lost or a burst is under way.
 */
uint64_t processor_sample_id(const struct processor *, uint64_t n);

/* Accesses that the burst under way still waits for; 0: there is none. Without skid. */
uint32_t processor_burst_left(const struct processor *);

/* Its RECORD_TOTALS as of now. */
void processor_append_totals(struct processor *);

void processor_free(struct processor *);

#endif

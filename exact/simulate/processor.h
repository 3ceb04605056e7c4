/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One thread on simulated hardware: a PMU that records every so many-th access, and debug registers
 * that trap; driven by the thread's own access stream. The policies are those of the runtime
 * (src/sampling): what is simulated is only what they ask of the hardware. Where the runtime looks
 * ahead with an interpreter, here the accesses are simply awaited.
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
#include "sampling/private_watch.h"
#include "sampling/random.h"
#include "sampling/watch_plan.h"
#include "sampling/window.h"
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
    uint32_t window; /* accesses to look ahead */
};

/* The surroundings. `user` is the processor's. */
struct processor_host {
    uint64_t (*ip_of)(void *user, uint32_t instruction);
    unsigned (*length_of)(void *user, uint32_t instruction); /* bytes */
    /* Fills object_* of the sample from its address. */
    void (*attribute)(void *user, struct record_sample *);
    void (*append)(void *user, enum record_type, const void *record, size_t size);
    uint64_t (*monotonic_ns)(void *user);
    /* Adds what is known of communication through the sample's line. May be NULL. */
    void (*communicate)(void *user, struct record_sample *);
};

enum {
    PROCESSOR_SAMPLES_OPEN = 8, /* samples whose record or window is under way at once */
    PROCESSOR_VISITS_OPEN = 8,
    PROCESSOR_WINDOW = 2000, /* accesses to look ahead: what the runtime does */
};

/* A sample between its counter's overflow and its window's end. */
struct open_sample {
    struct access access; /* as the record tells */
    uint64_t sample_id;
    uint64_t weight;
    uint64_t app_ns, delivered_ns; /* of the counter's overflow; of the record's delivery */
    uint32_t undelivered;          /* accesses until then; 0: the window is being filled */
    struct window *window;
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
    uint64_t carried;  /* weight of samples that could not be taken */
    struct random random, pmu_random;
    struct simulated_pmu pmu;
    struct simulated_registers registers;
    struct private_watches watches;
    struct record_totals totals;
    unsigned samples_open, visits_open; /* the first so many of: */
    struct open_sample samples[PROCESSOR_SAMPLES_OPEN];
    struct open_visit visits[PROCESSOR_VISITS_OPEN];
    struct window *spare_windows[PROCESSOR_SAMPLES_OPEN]; /* from [samples_open] on */
};

/* False without memory. options, host and user must outlive the processor. */
bool processor_begin(struct processor *, const struct processor_options *,
                     const struct processor_host *, void *user, uint32_t thread_id, uint64_t seed);

/* The next accesses of the thread. */
void processor_run(struct processor *, const struct stream_access *, size_t count);

/* The thread or the process ends: so do all its watches, for that reason. */
void processor_end(struct processor *, enum watch_end reason);

/* Of the sample that is taken when the thread's PMU runs over for the n-th time, from 1. */
uint64_t processor_sample_id(const struct processor *, uint64_t n);

/* Its RECORD_TOTALS as of now. */
void processor_append_totals(struct processor *);

void processor_free(struct processor *);

#endif

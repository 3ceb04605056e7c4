/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program's accesses, the truth about their locality by brute force, and the profile that the
 * clock engine would write of it: the sampling policies are the runtime's own (burst, watch plan,
 * slots), only the hardware is simulated. For tests of estimators against the truth.
 */
#ifndef REUSE_TESTS_LOCALITY_SIMULATOR_H
#define REUSE_TESTS_LOCALITY_SIMULATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/reader.h"

/* One thread's accesses: 8-byte words, in order. Grows as accesses are added. */
struct trace {
    size_t count, capacity;
    struct trace_access {
        uint32_t word;  /* address / 8 */
        uint16_t place; /* instruction; the ip is derived from it */
        uint8_t words;  /* touched at once, 1.. */
        uint8_t store;
    } * accesses;
    double *end_ns; /* application time at which the access is done */
    double now_ns;
};

void trace_add(struct trace *, uint32_t word, uint8_t words, uint16_t place, bool store,
               double cost_ns);
void trace_free(struct trace *);

/* The truth of one line size: distances of every access (distinct other lines since the last use).
 */
struct truth {
    size_t accesses, cold;
    uint64_t *distances;   /* count by stack distance, 0 .. lines-1 */
    uint64_t *reuse_times; /* count by reuse time, 0 .. accesses */
    uint64_t *invalidated; /* count by stack distance, of uses after another thread's store */
    size_t lines;
};

/* other: a second thread whose access k happens together with access k of this one, or NULL. */
void truth_create(const struct trace *, const struct trace *other, uint32_t line_size,
                  struct truth *);
void truth_free(struct truth *);
/* Misses of any kind per access in a cache of that many lines. */
double truth_miss_ratio(const struct truth *, double lines);
double truth_coherence(const struct truth *, double lines);
/* P(reuse time > time); cold counts as never. */
double truth_survival(const struct truth *, double time);

struct sampling {
    uint64_t seed;
    double period_ns;      /* mean time between bursts; jittered by a quarter */
    double period_late_ns; /* of the second half of the run; 0: the same */
    unsigned slots;        /* debug registers per thread */
    unsigned readings;     /* rate readings per place; 0: none */
    double reading_noise;  /* deviation of ln(reading) */
    double wrapped;        /* share of the readings in which the variable was set back */
    bool blind;            /* visits are not looked at (VISIT_KNOWN is not set) */
    bool blind_accessed;   /* not at traps on the accessed word */
    uint32_t line_size;    /* the run's; 0: 64 */
};

/* Places p in 0 .. share their loop by p / 16. ip and loop of a place. */
uint64_t place_ip(uint16_t place);
uint64_t place_loop(uint16_t place);

/* Profile of one or two threads. The caller frees it with profile_free(). */
struct profile *simulate(const struct trace *const *traces, size_t threads,
                         const struct sampling *);

#endif

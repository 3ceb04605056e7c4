/* SPDX-License-Identifier: BSD-3-Clause */
/* The two parts of the stand-in for a PMU: the system calls that it answers (pmu_stand_in.c) and
 * the records that it makes (pmu_stand_in_records.c). */
#ifndef TESTS_SUPPORT_PMU_STAND_IN_H
#define TESTS_SUPPORT_PMU_STAND_IN_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampling/random.h"

/* The system call itself. Signal-safe, as all below. */
long stand_in_kernel(long number, const long arguments[6]);

/* A number from the environment. */
uint64_t stand_in_number(const char *variable, int base, uint64_t fallback);

/* Accesses of the self-test's loop: passes over 4096 words, three in each step. */
uint64_t stand_in_test_accesses(void);

enum made_unit {
    MADE_IBS,
    MADE_COUNTS,    /* events of all loads, or all stores: no source of data is told */
    MADE_LATENCIES, /* Intel's load latency event */
    MADE_SPE,
};

/* An event whose buffers are filled here instead of by the kernel. Never freed. */
struct maker {
    enum made_unit unit;
    unsigned char thirds; /* of all accesses that it samples */
    bool enabled, begun;
    uint64_t period;
    uint64_t sample_type;
    uint64_t last;    /* events of the unit at its last record */
    uint64_t written; /* position in the AUX area; its aux_head lags behind */
    struct random random;
    struct perf_event_mmap_page *page; /* ring and AUX area behind it; NULL when unmapped */
};

enum {
    STAND_IN_PAGE = 4096,
    STAND_IN_RING = 4 * STAND_IN_PAGE,
    STAND_IN_AUX = 64 * 1024,
    STAND_IN_BUFFERS = STAND_IN_PAGE + STAND_IN_RING + STAND_IN_AUX,
};

/* NULL without memory. It is one of the calling thread's. */
struct maker *maker_create(enum made_unit, unsigned thirds, const struct perf_event_attr *);

/* The thread has made so many accesses: records of its makers that are due. */
void makers_advance(uint64_t accesses);

/* Tells of what is in the AUX area and was not told of. */
void maker_flush(struct maker *);

/* What an honest unit would have left of the self-test's loop. */
void maker_fill_test(struct maker *);

#endif

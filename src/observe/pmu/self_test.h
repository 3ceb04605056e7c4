/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is the PMU to be believed? A loop whose accesses are known is counted and sampled; what came back
 * is compared with what was done. Some hypervisors show a PMU that counts nothing, counts something
 * else, or samples without addresses.
 *
 * Running events is the caller's part; here are the loop and the judgement. No allocation;
 * signal-safe.
 */
#ifndef REUSE_PMU_SELF_TEST_H
#define REUSE_PMU_SELF_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pmu/access_record.h"
#include "pmu/choose.h"

enum {
    SELF_TEST_WORDS = 4096, /* of the array: 32 KiB */
    SELF_TEST_REASON = 256, /* bytes of a reason, enough for any */
    SELF_TEST_SAMPLES_LEAST = 16,
    SELF_TEST_THROTTLED_LEAST = 4,
};

/* How the loop is to be run. */
struct self_test_plan {
    uint64_t period; /* of the samplers */
    unsigned passes;
};

/*
 * For a kernel that lets an event interrupt a CPU so many times a second
 * (kernel.perf_event_max_sample_rate, which it lowers by itself when interrupts take long; 0: not
 * known). Usually a fraction of a millisecond with all its samples within one tick; where that
 * would be throttled, samples lie farther apart and the loop takes longer, up to a tenth of a
 * second.
 */
struct self_test_plan self_test_plan(uint64_t samples_per_second);

struct self_test {
    /* what was done */
    uint64_t begin, end; /* addresses of the array */
    uint64_t loads, stores;
    uint64_t period; /* of the samplers */
    /* what was counted, by kind: an event of both kinds adds to `both` */
    bool counted;
    uint64_t counted_loads, counted_stores, counted_both;
    /* what was sampled in user mode */
    uint64_t samples;  /* all, also those of no access */
    uint64_t accesses; /* loads and stores with an address */
    uint64_t inside;   /* addresses in the array */
    uint64_t inside_loads;
    uint64_t damaged, lost;
    uint64_t throttled; /* times that the kernel stopped an event until its next tick */
};

/* The loop: two loads and one store in each pass over three words, `passes` times over `array`,
 * which has SELF_TEST_WORDS words. Sets begin, end, loads and stores. */
void self_test_run(struct self_test *, volatile uint64_t *array, unsigned passes);

/* Adds one sample; or `count` that could not be read. */
void self_test_record(struct self_test *, const struct access_record *);
void self_test_unreadable(struct self_test *, uint64_t count);

/* Adds a count of one of the choice's counting events. */
void self_test_count(struct self_test *, const struct pmu_event *, uint64_t count);

/*
 * The verdict. False with one line in `reason` that has the numbers. Units with exact counters have
 * to be right within 5 %; those that count speculative accesses within 40 %. At least half of the
 * samples that were to be expected have to come, nine in ten accesses have to lie inside the array,
 * and the share of loads among them must be that of the loop within what chance allows. Of a unit
 * that the kernel throttled, how many samples come says nothing: SELF_TEST_THROTTLED_LEAST suffice.
 */
bool self_test_judge(const struct self_test *, const struct pmu_choice *, char *reason);

#endif

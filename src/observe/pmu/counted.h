/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the counters of a thread counted together.
 *
 * An event that shares its counter with others is on it for a part of the time that it is wanted,
 * and its count is scaled up by the two. On a processor with several kinds of cores each kind has a
 * unit of its own, and a thread counts on one of them at a time: the others' events are wanted all
 * the while, but nothing is missing of them. So there the counts are added as they are. Scaling is
 * then left to events of the same unit: one that was on a counter for a shorter time than another
 * of its unit had to give way.
 *
 * Pure; signal-safe.
 */
#ifndef REUSE_PMU_COUNTED_H
#define REUSE_PMU_COUNTED_H

#include <stdint.h>

/* One event, as the kernel's read(2) tells of it. */
struct pmu_reading {
    uint64_t count;
    uint64_t enabled_ns, running_ns; /* wanted, and on a counter; of the thread's time on a core */
    uint8_t accesses;                /* for each count: pmu_event.accesses */
    uint8_t core_kind;               /* pmu_event.core_kind */
};

/* Accesses that the events counted, scaled as above. core_kinds: pmu_choice.core_kinds. */
uint64_t pmu_counted_accesses(const struct pmu_reading *, unsigned readings, unsigned core_kinds);

/*
 * For how long no unit of any kind of core had an event on a counter, of *enabled_ns in which that
 * was wanted: the thread ran on a core whose unit nobody knows, or others held the counters. ns; 0
 * below a hundredth, for the events are not read at the same instant.
 */
uint64_t pmu_uncounted_ns(const struct pmu_reading *, unsigned readings, uint64_t *enabled_ns);

#endif

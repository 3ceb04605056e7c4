/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which hardware events count the traffic between the levels of the caches: lines that come into a
 * level, and dirty lines that leave it. For a comparison with what is predicted; never sampled.
 *
 * The choice is a pure function of the processor and of what the kernel shows below
 * /sys/bus/event_source/devices, as in choose.h; encodings are checked against libpfm4 for each
 * model that it knows. No allocation; not on the signal path.
 */
#ifndef REUSE_PMU_LEVEL_COUNTERS_H
#define REUSE_PMU_LEVEL_COUNTERS_H

#include "pmu/choose.h"
#include "profile/format.h"

enum {
    LEVEL_COUNTERS_MAX = 6,
    LEVEL_COUNTER_NAME = 160,
    /* Lines that the trial (level_counter_judge()) fetches from memory. */
    LEVEL_COUNTER_TRIAL = 1024,
};

/*
 * One event. What it counts of a level is the sum over all events of that level and kind, those
 * with COUNTER_SUBTRACTED taken off.
 */
struct level_counter {
    char name[LEVEL_COUNTER_NAME]; /* libpfm4's, or the vendor's where that has none */
    uint32_t type;                 /* perf_event_attr */
    uint64_t config;
    uint8_t kind;   /* enum counter_kind */
    uint8_t levels; /* bit n: lines that come into, or leave, level n; bit 0: the outermost cache */
    uint16_t flags; /* enum counter_flags */
    bool one_kind_of_core; /* the others' have an event of their own */
};

/*
 * Fills in at most LEVEL_COUNTERS_MAX events, those of the innermost level first, and returns how
 * many. taken: counters of the processor that other events of each thread need all the time (the
 * samplers'): events that would not find room beside them are left out, the outermost levels first,
 * because what shares counters with a sampler would disturb it. 0: they may share, and be scaled.
 */
unsigned level_counters_choose(const struct pmu_machine *, unsigned taken,
                               struct level_counter out[LEVEL_COUNTERS_MAX]);

/* Encodings of a processor's model, before any counting of room; for tests. models.h's names. */
unsigned level_counters_of_model(const struct processor *, struct level_counter *out);

/*
 * Whether an event that counted `count` while LEVEL_COUNTER_TRIAL lines were fetched from memory,
 * one after another in an order that nothing predicts, counts what it says. (Hypervisors and
 * emulators open events that never count.) running: the event was on a counter meanwhile.
 */
enum counter_trust level_counter_judge(const struct level_counter *, uint64_t count, bool running);

/* A count that was on a counter only part of the time, scaled up. 0 if it never was. What cores of
 * one kind count is left as it is: while it is not on a counter, another kind's event is. */
double level_counter_scaled(const struct level_counter *, uint64_t count, uint64_t enabled_ns,
                            uint64_t running_ns);

#endif

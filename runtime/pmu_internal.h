/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the parts of the engine `pmu` (pmu.h). */
#ifndef REUSE_RUNTIME_PMU_INTERNAL_H
#define REUSE_RUNTIME_PMU_INTERNAL_H

#include "pmu.h"

struct pmu_engine {
    bool in_use;
    struct pmu_choice choice;
    struct processor processor;
    char description[256];
};

extern struct pmu_engine pmu_engine;

/* As pmu_thread_open(); signals: each overflow brings one. `tried` is left at the event that was
 * refused. */
int pmu_thread_open_events(struct pmu_thread *, uint64_t period, uint64_t cookie, bool signals,
                           const struct pmu_event **tried);

/* Count of one of the thread's counting events, of the calling thread. */
uint64_t pmu_event_count(const struct pmu_thread *, unsigned counter);

#endif

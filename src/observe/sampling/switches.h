/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What context switches of a thread cost because of its events, which no handler sees: the kernel
 * takes clocks and registers out and puts them in again at each switch. A thread that waits for
 * others 50 000 times a second can lose more by that than by its bursts.
 *
 *   - An open clock: a little at each switch. Nothing can be done about it.
 *   - A clock that is due before the next tick of the kernel: the timer of the processor is set at
 *     each switch, which in a virtual machine is dear. A cost of each burst: so many switches as
 * the thread makes in a tick. The period that follows from it is longer.
 *   - Armed registers. A thread of many switches has them for a share of its time only: at each
 *     burst it is drawn whether it has, by a coin that knows nothing of lines, and kept for some
 *     bursts, so that long reuses are seen as well.
 *
 * All in proportion to what a trap and an expiry cost on the machine, with factors measured on a
 * virtual machine. Pure; signal-safe; one struct per thread.
 */
#ifndef REUSE_SAMPLING_SWITCHES_H
#define REUSE_SAMPLING_SWITCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "sampling/random.h"

struct switches {
    uint64_t count, app_ns; /* as of the last burst */
    double per_ns;          /* of late */
    bool unwatched;         /* no registers for now */
};

struct switch_cost {
    uint64_t besides_ns; /* since the last burst, whatever the period */
    uint64_t burst_ns;   /* of this burst */
};

void switches_begin(struct switches *);

/* At a burst, app_ns into the thread's life: it has been switched out `count` times so far. The
 * period in force has been period_ns.
 * trigger_ns, trap_ns: hidden costs of an expiry and of a trap. */
struct switch_cost switches_count(struct switches *, uint64_t count, uint64_t app_ns,
                                  uint64_t period_ns, uint64_t trigger_ns, uint64_t trap_ns);

/* Share of the time for which registers may be armed within a fair part of the budget (a share of
 * the thread's time). */
double switches_watch_share(const struct switches *, double budget, uint64_t trap_ns);

/* Draws whether lines are watched from this burst to the next, in the long run that share of all
 * bursts. */
bool switches_may_watch(struct switches *, struct random *, double share);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What context switches of a thread cost because of its events, which no handler sees: the kernel
 * takes clocks and registers out and puts them in again at each switch. A thread that waits for
 * others 50 000 times a second can lose more by that than by its bursts.
 *
 *   - An open clock: a little at each switch. Nothing can be done about it.
 *   - A clock that is due before the next tick of the kernel: the timer of the processor is set at
 *     each switch, which in a virtual machine is dear. A cost of each expiry: so many switches as
 *     the thread makes in a tick. The period that follows from it is longer.
 *   - Armed registers. A thread of many switches has them for a window after each burst only, which
 *     may cost as much as the burst does besides. Windows are P, P/2, P/4 ... P/2^n long, P being
 *     the period, each half as often as the next shorter one: every doubling of the time has the
 *     same share of the cost. A watch that a window ends is censored by a draw that knew nothing of
 *     its line.
 *
 * What a clock that is due costs at a switch is measured on the machine (struct event_costs): it is
 * what setting the processor's timer takes, and no part of what an expiry costs (a tenth of it on
 * one virtual machine, half on another). The others are in proportion to what a trap and an expiry
 * cost, with factors measured on a virtual machine. Pure; signal-safe; one struct per thread.
 */
#ifndef REUSE_SAMPLING_SWITCHES_H
#define REUSE_SAMPLING_SWITCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "sampling/random.h"

struct switches {
    double per_ns; /* switches, of late */
    /* As of the last burst, and since it. Application time, ns. */
    uint64_t count, app_ns;
    bool planned;               /* it is known how long registers may be armed */
    bool windows;               /* not always up to the next burst */
    uint64_t window_ns, end_ns; /* 0: this time it is */
    bool armed;                 /* as of noted_ns */
    uint64_t noted_ns, armed_ns;
};

/* Of the machine, ns; 0: not known, or there is none. */
struct event_costs {
    uint64_t trigger_ns; /* an expiry of the clock, with what no handler sees of it */
    uint64_t due_ns;     /* a switch while the clock is due within a tick */
    uint64_t trap_ns;    /* a trap of a debug register; 0: none traps */
};

struct switch_cost {
    uint64_t besides_ns; /* since the last burst, whatever the period */
    uint64_t burst_ns;   /* of this burst */
};

/* What a window may cost. */
struct window_terms {
    double burst_ns;    /* of a burst, with all that follows from it */
    double periods;     /* of the clock from burst to burst, in the mean: see governor.h */
    uint64_t period_ns; /* mean */
    struct event_costs costs;
};

void switches_begin(struct switches *);

/* At a burst, app_ns into the thread's life: it has been switched out `count` times so far. The
 * clock has ended every expiry_ns. The rest as in window_terms. */
struct switch_cost switches_count(struct switches *, uint64_t count, uint64_t app_ns,
                                  uint64_t expiry_ns, const struct event_costs *);

/* Of the switches since then the cost that no period changes, ns; `count` as above. */
uint64_t switches_open_cost(const struct switches *, uint64_t count, const struct event_costs *);

/* What switches cost because of one expiry of the clock, ns. */
uint64_t switches_expiry_cost(const struct switches *, const struct event_costs *);

/* So many that it is worth the time to measure what they cost while the clock is due. */
bool switches_are_many(const struct switches *);

/* Draws how long registers may be armed from now on, unless that is drawn since the last burst. */
void switches_plan_window(struct switches *, struct random *, const struct window_terms *,
                          uint64_t app_ns);

/* As long from now on: the burst's end was known late. */
void switches_restart_window(struct switches *, uint64_t app_ns);

/* How long registers may still be armed, ns; UINT64_MAX: up to the next burst. */
uint64_t switches_window_left(const struct switches *, uint64_t app_ns);

/* Whether one is. */
void switches_note_armed(struct switches *, bool armed, uint64_t app_ns);

#endif

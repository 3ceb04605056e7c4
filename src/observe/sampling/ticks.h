/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ticks: expiries of the clock at which only the interrupted instruction is noted. A burst costs
 * ten to twenty times as much, so a run has few; two to four ticks before each say better where the
 * program spends its time. The report divides the time by all of them among the places at which
 * bursts began (burst_times.h). A tick in code that no burst went through becomes one: what a
 * phase does that takes 3 % of the time is then known from the first tick that meets it.
 *
 * Of one thread, and used by it alone. Pure; signal-safe.
 */
#ifndef REUSE_SAMPLING_TICKS_H
#define REUSE_SAMPLING_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/format.h"
#include "sampling/seen_code.h"

/* All zero: none is to come. */
struct ticks {
    unsigned parts;   /* of the time up to the burst, that are still to come */
    uint64_t part_ns; /* mean length of one */
    bool taken;       /* the expiry that is being handled was a tick */
    unsigned count;
    uint64_t ips[TICKS_MAX];
};

/* For a thread that begins, in the place of one that ended or went through fork perhaps. */
void ticks_begin(struct ticks *);

/*
 * Divides the mean time to the next burst, ns, into equal parts; returns the mean of one. Too short
 * a time is not divided. turn_ns: what a burst costs with the ticks before it; signal_ns: what one
 * signal does, outside of its handler. With n ticks of cost t before bursts of cost b, moments come
 * by b + n t of the budget in n + 1, bursts in one: where the shares of places scatter as much as
 * the bursts within one, n = sqrt(b / t) - 1 is best.
 */
uint64_t ticks_plan(struct ticks *, uint64_t mean_ns, uint64_t turn_ns, uint64_t signal_ns);

/* The clock has expired at ip; 0: it is not known where. True: that was a tick, no burst is due.
 * False: take one; *early_ns is the mean time that it comes early by, for code that bursts have not
 * seen. */
bool ticks_take(struct ticks *, uint64_t ip, const struct seen_code *, uint64_t *early_ns);

/* After a tick: true, and the mean of the next part. */
bool ticks_go_on(struct ticks *, uint64_t *mean_ns);

/* The ticks since the burst before; zeros follow. */
void ticks_list(const struct ticks *, uint64_t ips[TICKS_MAX]);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ticks: expiries of the clock at which only the interrupted instruction is noted. A burst costs
 * ten to twenty times as much, so a run has few; two to four ticks before each say better where the
 * program spends its time. The report divides the time by all of them among the places at which
 * bursts began (burst_times.h). A tick in code that no burst went through becomes one: what a
 * phase does that takes 3 % of the time is then known from the first tick that meets it.
 *
 * Signal-safe; called from the clock's handler, by the engine `clock` only.
 */
#ifndef REUSE_RUNTIME_TICKS_H
#define REUSE_RUNTIME_TICKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bursts/thread.h"

/*
 * Divides the mean time to the next burst, ns, into equal parts; returns the mean of one. Too short
 * a time is not divided. turn_ns: what a burst costs with the ticks before it. With n ticks of cost
 * t before bursts of cost b, moments come by b + n t of the budget in n + 1, bursts in one: where
 * the shares of places scatter as much as the bursts within one, n = sqrt(b / t) - 1 is best.
 */
uint64_t ticks_plan(struct ticks *, uint64_t mean_ns, uint64_t turn_ns);

/* The clock has expired at ip; 0: it is not known where. True: that was a tick, no burst is due.
 * False: take one; *early_ns is the mean time that it comes early by. */
bool ticks_take(struct ticks *, uint64_t ip, uint64_t *early_ns);

/* A burst made these accesses, of code that is known from now on. */
struct access;
void ticks_learn(const struct access *, size_t n);

/* In the child of a fork: forgets the code that the parent's bursts went through. */
void ticks_after_fork(void);

/* After a tick: true, and the mean of the next part. */
bool ticks_go_on(struct ticks *, uint64_t *mean_ns);

/* The ticks since the burst before; zeros follow. */
void ticks_list(const struct ticks *, uint64_t ips[TICKS_MAX]);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ticks: expiries of the clock at which only the interrupted instruction is noted. A burst costs
 * some twenty times as much, so a run has few; two to four ticks before each say better where the
 * program spends its time. The report divides the time by all of them
 * among the places at which bursts began (burst_times.h).
 *
 * Signal-safe; called from the clock's handler, by the engine `clock` only.
 */
#ifndef REUSE_RUNTIME_TICKS_H
#define REUSE_RUNTIME_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#include "bursts/thread.h"

/* Divides the mean time to the next burst, ns, into equal parts; returns the mean of one. Too short
 * a time is not divided. */
uint64_t ticks_plan(struct ticks *, uint64_t mean_ns);

/* The clock has expired at ip; 0: it is not known where. True: that was a tick, no burst is due. */
bool ticks_take(struct ticks *, uint64_t ip);

/* After a tick: true, and the mean of the next part. */
bool ticks_go_on(struct ticks *, uint64_t *mean_ns);

/* The ticks since the burst before; zeros follow. */
void ticks_list(const struct ticks *, uint64_t ips[TICKS_MAX]);

#endif

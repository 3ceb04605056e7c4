/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The time after a burst for which a thread of many context switches has registers
 * (sampling/switches.h), and the clock that ends it. The thread has one clock, which expires at the
 * end of the window first, then where it would have without.
 *
 * Signal-safe; of the calling thread, with signals blocked. Application time, ns.
 */
#ifndef REUSE_RUNTIME_REGISTER_WINDOW_H
#define REUSE_RUNTIME_REGISTER_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct thread;

struct register_window {
    uint64_t rest_ns; /* of the period, after the window; 0: the clock is not set for its end */
};

/* After a burst, the next one period_ns away in the mean. */
void register_window_plan(struct thread *, uint64_t period_ns, uint64_t app_now);

/* The clock is to expire in period_ns. When to have it expire: not after the window's end. */
uint64_t register_window_clock(struct thread *, uint64_t period_ns, uint64_t app_now);

/* It has. Watches end with the window. True: that was all that it was set for. */
bool register_window_expiry(struct thread *, uint64_t app_now);

/* After that: the time from now on at which the clock would have expired without windows. */
uint64_t register_window_rest(const struct thread *, uint64_t app_now);

/* A handler is done: whether registers are armed. */
void register_window_note(struct thread *, uint64_t app_now);

#endif

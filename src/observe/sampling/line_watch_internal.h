/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the line watch share; nobody else includes it. Signal-safe. All but the lock
 * itself are called with the lock held.
 */
#ifndef REUSE_SAMPLING_LINE_WATCH_INTERNAL_H
#define REUSE_SAMPLING_LINE_WATCH_INTERNAL_H

#include "sampling/line_watch.h"

enum {
    /* Turns of waiting for the lock. A handler that does not get it within a few microseconds goes
     * on without: whoever holds it has been put aside by the scheduler, and with many threads on
     * few processors all others would burn their time. */
    SPINS_OF_HANDLER = 300,
    SPINS_MAX = 1000 * 1000,
};

enum line_watch_state { STATE_FREE, STATE_BEFORE, STATE_WAITING, STATE_RUNNING };

/* False if somebody else had it for so many turns. */
bool line_watch_lock(struct line_watch *, unsigned spins);
void line_watch_unlock(struct line_watch *);

/* Nanoseconds from the start of the running watch; 0 before it. */
uint64_t line_watch_elapsed(const struct line_watch *, uint64_t time_ns);

/* The watch runs from now on: RECORD_LINE_WATCH. */
void line_watch_start(struct line_watch *, uint64_t time_ns, uint64_t delayed_ns);

/* Takes the registers off; if it ran, RECORD_LINE_END. */
void line_watch_finish(struct line_watch *, enum line_end, uint64_t elapsed_ns, uint64_t time_ns);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* What the two kinds of rate readings share; see rate.h. Signal-safe. */
#ifndef REUSE_RUNTIME_RATE_INTERNAL_H
#define REUSE_RUNTIME_RATE_INTERNAL_H

#include "rate.h"

enum {
    DEPTH_FIRST = 12 * 1000, /* accesses to explore in a loop of which nothing is known */
    DEPTH_MAX = 400 * 1000,
};

/* Accesses per ns in code of the loop, as far as known; 1 if not. */
double rate_guess(const struct known_loop *);

/* What is known of a loop; an entry is made, at the cost of the one longest unused, if needed. */
struct known_loop *rate_known_loop(struct thread *, uint64_t loop);

/* Too little was found at this depth. */
void rate_look_deeper(struct thread *, struct known_loop *);

/*
 * The reading is over. Writes its record; accepted: it passed its own checks. elapsed may be
 * nonsense (negative) if it did not.
 */
void rate_report(struct thread *, enum rate_method, bool accepted, uint64_t head, uint64_t start,
                 double accesses, uint64_t elapsed);

/* ---- odometers (rate_odometer.c) ---- */

/*
 * Starts a reading by the odometer, for the loop of the reading. fresh: it has just been found, by
 * looking at `explored` accesses from here. False: the loop does not run long enough, or not as
 * foreseen.
 */
bool rate_odometer_start(struct thread *, const ucontext_t *, struct odometer *, bool fresh,
                         uint64_t app_now, uint64_t explored);

/* Takes the next position. */
void rate_odometer_probe(struct thread *, const ucontext_t *, uint64_t app_now);

/* ---- two predicted accesses (rate_watches.c) ---- */

/* An access that was foreseen, to a word that is not touched before it. */
struct candidate {
    uint64_t address, ip, index;
};

/* True if the traps of the two are awaited now. */
bool rate_watches_start(struct thread *, const struct candidate candidates[2], uint64_t app_now);
void rate_watches_cancel(struct thread *);

#endif

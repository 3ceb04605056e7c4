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

/* What came of a reading. */
struct rate_result {
    enum rate_method method;
    bool unproven;  /* see enum rate_flags */
    bool accepted;  /* it passed its own checks; else the numbers may be nonsense */
    uint64_t head;  /* loop head that carried the odometer, 0 for watches */
    uint64_t start; /* app time */
    /* What a long stretch has more than a short one; each lost loss_ns. */
    double accesses, elapsed_ns, loss_ns;
};

/* The reading is over. Writes its record. */
void rate_report(struct thread *, const struct rate_result *);

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

/* ---- predicted accesses (rate_watches.c) ---- */

/* An access that was foreseen, to a word that is not touched before it. */
struct candidate {
    uint64_t address, ip, index;
};

/* True if the traps of the three, in that order, are awaited now. */
bool rate_watches_start(struct thread *, const struct candidate candidates[RATE_PLACES],
                        uint64_t app_now);
void rate_watches_cancel(struct thread *);

#endif

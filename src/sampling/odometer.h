/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Following an odometer (loops.h) over a few visits of its loop head: does it still step as it did,
 * how many accesses is a visit, and how many visits are left before the loop ends or the value
 * jumps back? The last follows from the conditional jumps of the loop's body: where the outcome of
 * a comparison moves by a constant per visit, it reaches zero at a foreseeable one.
 *
 * Pure; no allocation; signal-safe.
 */
#ifndef REUSE_SAMPLING_ODOMETER_H
#define REUSE_SAMPLING_ODOMETER_H

#include <stdbool.h>
#include <stdint.h>

#include "sampling/loops.h"

enum { FOLLOWED_ARRIVALS = 4, FOLLOWED_TESTS = 32 };

struct followed_test {
    uint64_t ip;
    unsigned seen; /* visits in which it was executed, from the first on without a gap */
    int64_t outcome[FOLLOWED_ARRIVALS - 1]; /* of its first execution in each visit */
};

struct followed_odometer {
    const struct odometer *odometer;
    unsigned arrivals;
    uint64_t value[FOLLOWED_ARRIVALS];
    uint64_t accesses[FOLLOWED_ARRIVALS]; /* since the look-ahead began */
    unsigned test_count;
    struct followed_test tests[FOLLOWED_TESTS];
};

void followed_begin(struct followed_odometer *, const struct odometer *);

/* The head is reached; value of the odometer there. */
void followed_arrival(struct followed_odometer *, uint64_t value, uint64_t accesses);

/* A conditional jump between two arrivals. */
void followed_condition(struct followed_odometer *, uint64_t ip, int64_t outcome);

/* The value stepped as foreseen from arrival to arrival, of which there are at least two. */
bool followed_is_steady(const struct followed_odometer *);

/* Mean accesses per visit over the arrivals seen. */
double followed_accesses_per_visit(const struct followed_odometer *);

/*
 * Visits after the last arrival until the nearest foreseeable turn; 0 when none can be foreseen.
 * All arrivals must have been seen. *ip and *step tell the jump that will make it and the change of
 * its outcome per visit, or are 0.
 */
double followed_visits_left(const struct followed_odometer *, uint64_t *ip, int64_t *step);

#endif

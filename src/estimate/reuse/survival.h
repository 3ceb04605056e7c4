/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Survival curves of reuse times: S(t) = P(line not reused up to and including t), t in accesses
 * since the use, whether or not it was invalidated meanwhile. Pure; allocates with malloc.
 */
#ifndef REUSE_REUSE_SURVIVAL_H
#define REUSE_REUSE_SURVIVAL_H

#include <stdbool.h>
#include <stddef.h>

struct survival_point {
    double time;        /* strictly increasing; that of point 0 is 0 */
    double survival;    /* non-increasing, in [0, 1] */
    double invalidated; /* P(reused up to time, but invalidated before that), non-decreasing */
    double unknown;     /* part of survival whose hazard is not (fully) observed any more: the true
                           survival lies between survival - unknown and survival */
    double area;        /* integral of the survival from 0 to time */
};

struct survival_curve {
    size_t count; /* 0: nothing is known */
    size_t capacity;
    struct survival_point *points;
    bool linear; /* straight lines join the points; else each holds up to the next one */
};

/* The curve at a time >= 0, which may be INFINITY; flat beyond the last point. count > 0. */
struct survival_point survival_at(const struct survival_curve *, double time);

void survival_free(struct survival_curve *);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* What bursts tell of variables that move on, one observation a variable and burst. */
#ifndef REUSE_ANALYSIS_PROGRESS_OBSERVATIONS_H
#define REUSE_ANALYSIS_PROGRESS_OBSERVATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/rates/progress_rates.h"

/* A word that moves on through the whole run never goes back: a few in a thousand readings may have
 * caught it half written. */
#define NEVER_BACK 0.01
/* Variance of ln(rate) from which on a variable says nothing: most of what it moved by was one
 * jump, say. */
#define SAYS_NOTHING 1.0

/* One variable in one burst. */
struct observation {
    uint32_t group, thread; /* registers of one piece of code are alike in all threads: 0 */
    uint8_t kind, width;
    uint64_t place;
    size_t record, order;                      /* in the file */
    uint32_t process;                          /* number of its origin in the profile */
    bool shared;                               /* others moved it meanwhile */
    double before_ns, before, since_ns, since; /* times are 0 where that is not known */
    double within, accesses;
};

/* A time of a progress record; 0: not known. Below zero is none: profiles before version 3.4 have
 * such where a signal took less than it was taken to. */
static inline double progress_time(uint64_t ns)
{
    return ns <= INT64_MAX ? (double)ns : 0;
}

/* Order of the threads and, in each, of its variables; 0: the same variable. */
static inline int observation_compare_variables(const struct observation *x,
                                                const struct observation *y)
{
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->kind != y->kind)
        return (int)x->kind - (int)y->kind;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return (int)x->width - (int)y->width;
}

#endif

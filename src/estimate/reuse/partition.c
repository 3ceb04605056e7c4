/* SPDX-License-Identifier: BSD-3-Clause */
/* See partition.h. */
#include "reuse/partition.h"

#include <math.h>
#include <stdlib.h>

#include "support/memory.h"

/* Newton's steps on a concave function from below never pass the root, and on a piecewise linear
 * one end in it; some ten do. */
enum { STEPS_MAX = 10000 };

double partition_eviction_time(const struct partition_member *members, size_t n, double lines)
{
    double time = 0;

    if (isinf(lines))
        return INFINITY;
    for (int step = 0; step < STEPS_MAX; step++) {
        double held = 0, slope = 0;
        for (size_t i = 0; i < n; i++) {
            struct survival_point at = survival_at(members[i].curve, time);
            held += members[i].share * at.area;
            slope += members[i].share * at.survival;
        }
        /* The margin is for rounding: a part that is full at the end of a step belongs to the next
         * one. */
        if (held >= lines * (1 - 1e-12))
            return time;
        if (slope <= 0)
            return INFINITY;
        double next = time + (lines - held) / slope;
        if (next <= time)
            return time;
        time = next;
    }
    return time;
}

void partition_survival_of_misses(const double *lines, const double *all, const double *own,
                                  size_t n, struct survival_curve *out)
{
    double time = 0;

    if (out->capacity < n) {
        out->points = reallocate(out->points, n, sizeof *out->points);
        out->capacity = n;
    }
    out->count = 0;
    for (size_t i = 0; i < n; i++) {
        struct survival_point *point = &out->points[out->count];
        *point = (struct survival_point){.time = time, .survival = own[i]};
        if (out->count)
            point->area = point[-1].area + (time - point[-1].time) * point[-1].survival;
        out->count++;
        if (all[i] <= 0 || i + 1 == n)
            break;
        time += (lines[i + 1] - lines[i]) / all[i];
    }
}

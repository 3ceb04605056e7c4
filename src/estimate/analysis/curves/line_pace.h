/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many different lines a thread, or a group of threads, touches in t accesses, on average:
 *
 *     G(t) = integral_0^t S,   S(u) = share of accesses whose line is not used again within u
 *
 * (AET, Hu et al. 2016; StatStack, Eklov and Hagersten 2010), on a grid of times. Pure.
 */
#ifndef REUSE_ANALYSIS_LINE_PACE_H
#define REUSE_ANALYSIS_LINE_PACE_H

#include <stddef.h>
#include <stdint.h>

#include "profile/probes.h"

enum { PACE_PER_OCTAVE = 8, PACE_OCTAVES = 46, PACE_POINTS = PACE_PER_OCTAVE * PACE_OCTAVES + 2 };

/* The times of the grid: 0, then from 1 on, accesses. They are asked for by the million: exp2()
 * would be called for nothing but eighths of an octave. */
static inline double pace_time(size_t point)
{
    static const double parts[PACE_PER_OCTAVE] = {
        0x1p+0,
        0x1.172b83c7d517bp+0,
        0x1.306fe0a31b715p+0,
        0x1.4bfdad5362a27p+0,
        0x1.6a09e667f3bcdp+0,
        0x1.8ace5422aa0dbp+0,
        0x1.ae89f995ad3adp+0,
        0x1.d5818dcfba487p+0,
    };

    return point ? parts[(point - 1) % PACE_PER_OCTAVE] *
                       (double)(UINT64_C(1) << (point - 1) / PACE_PER_OCTAVE)
                 : 0;
}

/* The first point that is not before the time; PACE_POINTS: beyond the last. */
size_t pace_point(double time);

/* Where a time >= 0 lies on the grid, to be found once for many values: between a point and the
 * next one. */
struct pace_place {
    double time;
    uint32_t point; /* PACE_POINTS - 1: at the last one, or beyond */
};
struct pace_place pace_place_of(double time);

/* Of values at the points, that at a place: linear in between, flat beyond the last. */
static inline double pace_at_place(const double values[PACE_POINTS], struct pace_place place)
{
    size_t point = place.point;
    double low;

    if (point == PACE_POINTS - 1 || !(place.time > 0))
        return values[point];
    low = pace_time(point);
    return values[point] +
           (values[point + 1] - values[point]) * (place.time - low) / (pace_time(point + 1) - low);
}

static inline double pace_at(const double values[PACE_POINTS], double time)
{
    return pace_at_place(values, pace_place_of(time));
}

/*
 * Integral of the survival of reuse times that fall into bins (profile/probes.h), counts[bin] of
 * them, with all times multiplied by `dilation`. Per probe of `all`. Adds to area.
 */
void pace_add_times(const double counts[PROBE_TIME_BINS], double all, double dilation,
                    double area[PACE_POINTS]);

#endif

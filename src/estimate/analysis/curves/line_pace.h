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

#include "profile/probes.h"

enum { PACE_PER_OCTAVE = 8, PACE_OCTAVES = 46, PACE_POINTS = PACE_PER_OCTAVE * PACE_OCTAVES + 2 };

/* The times of the grid: 0, then from 1 on, accesses. */
double pace_time(size_t point);

/* The first point that is not before the time; PACE_POINTS: beyond the last. */
size_t pace_point(double time);

/* Of values at the points, that at time >= 0: linear in between, flat beyond the last. */
double pace_at(const double values[PACE_POINTS], double time);

/*
 * Integral of the survival of reuse times that fall into bins (profile/probes.h), counts[bin] of
 * them, with all times multiplied by `dilation`. Per probe of `all`. Adds to area.
 */
void pace_add_times(const double counts[PROBE_TIME_BINS], double all, double dilation,
                    double area[PACE_POINTS]);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
#include "reuse/miss_ratio.h"

#include <math.h>

void eviction_times(const struct survival_curve *curve, const double *lines, size_t n,
                    double *times)
{
    double integral = 0;
    size_t i = 0;

    for (size_t k = 0; k < curve->count && i < n; k++) {
        const struct survival_point *point = &curve->points[k];
        double next = k + 1 < curve->count ? point[1].time : INFINITY;
        double part = point->survival > 0 ? point->survival * (next - point->time) : 0;
        /* A cache that is full exactly at the end of a step belongs to the next one: a line reused
         * at T is still there. The margin is for rounding of the running sum. */
        while (i < n && lines[i] < (integral + part) * (1 - 1e-12)) {
            double rest = lines[i] > integral ? lines[i] - integral : 0;
            times[i++] = point->time + rest / point->survival;
        }
        integral += part;
    }
    while (i < n)
        times[i++] = INFINITY;
}

double stack_distance_of(const struct survival_curve *curve, double time)
{
    double integral = 0;

    for (size_t k = 0; k < curve->count && curve->points[k].time < time; k++) {
        double next = k + 1 < curve->count ? curve->points[k + 1].time : INFINITY;
        integral +=
            curve->points[k].survival * ((next < time ? next : time) - curve->points[k].time);
    }
    return integral > 1 ? integral - 1 : 0;
}

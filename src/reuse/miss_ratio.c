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

static double in_run(double value, double area, double time, double run)
{
    return fmin(1, fmax(0, value * (1 - time / run) + area / run)); /* rounding */
}

struct miss_shares misses_in_run(const struct survival_curve *curve, double eviction_time,
                                 double run)
{
    double time = eviction_time < run ? eviction_time : run;
    const struct survival_point *point = survival_at(curve, time);
    double rest = time - point->time;

    return (struct miss_shares){
        in_run(point->survival, point->survival_area + rest * point->survival, time, run),
        in_run(point->invalidated, point->invalidated_area + rest * point->invalidated, time, run),
        in_run(point->unknown, point->unknown_area + rest * point->unknown, time, run),
        in_run(point->crossed, point->crossed_area + rest * point->crossed, time, run),
    };
}

double stack_distance_of(const struct survival_curve *curve, double time)
{
    double integral = survival_area_at(curve, time);

    return integral > 1 ? integral - 1 : 0;
}

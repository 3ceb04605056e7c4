/* SPDX-License-Identifier: BSD-3-Clause */
#include "analysis/curves/line_pace.h"

#include <math.h>

size_t pace_point(double time)
{
    if (time <= 1)
        return time > 0;
    if (time > pace_time(PACE_POINTS - 1))
        return PACE_POINTS;
    return 1 + (size_t)ceil(PACE_PER_OCTAVE * log2(time) - 1e-9);
}

struct pace_place pace_place_of(double time)
{
    double place = time < 1 ? time : 1 + PACE_PER_OCTAVE * log2(time);

    if (!(place > 0))
        return (struct pace_place){0, 0};
    if (place >= PACE_POINTS - 1)
        return (struct pace_place){time, PACE_POINTS - 1};
    return (struct pace_place){time, (uint32_t)place};
}

/* Integral up to `time` of what one probe, whose reuse time lies evenly between low and high, adds
 * to the survival. */
static double area_of_bin(double low, double high, double time)
{
    if (time <= low)
        return time;
    if (time >= high)
        return (low + high) / 2;
    return time - (time - low) * (time - low) / (2 * (high - low));
}

void pace_add_times(const double counts[PROBE_TIME_BINS], double all, double dilation,
                    double area[PACE_POINTS])
{
    double times[PACE_POINTS];

    for (size_t point = 0; point < PACE_POINTS; point++)
        times[point] = pace_time(point);
    for (unsigned bin = 1; bin < PROBE_TIME_BINS; bin++) {
        /* Times are whole numbers: their bins reach half of one further on both sides. */
        double low = (probe_time_low(bin) - 0.5) * dilation;
        double high = (probe_time_low(bin + 1) - 0.5) * dilation;

        if (!(counts[bin] > 0))
            continue;
        for (size_t point = 0; point < PACE_POINTS; point++)
            area[point] += counts[bin] / all * area_of_bin(low, high, times[point]);
    }
}

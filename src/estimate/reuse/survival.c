/* SPDX-License-Identifier: BSD-3-Clause */
#include "reuse/survival.h"

#include <stdlib.h>

static double between(double from, double to, double part)
{
    return from + part * (to - from);
}

struct survival_point survival_at(const struct survival_curve *curve, double time)
{
    size_t low = 0, high = curve->count; /* points[low].time <= time < points[high].time */

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (curve->points[middle].time <= time)
            low = middle;
        else
            high = middle;
    }
    struct survival_point at = curve->points[low];
    double passed = time - at.time;
    if (passed <= 0)
        return at;
    if (curve->linear && high < curve->count) {
        const struct survival_point *next = &curve->points[high];
        double part = passed / (next->time - at.time), first = at.survival;

        at.survival = between(first, next->survival, part);
        at.invalidated = between(at.invalidated, next->invalidated, part);
        at.unknown = between(at.unknown, next->unknown, part);
        at.area += passed * (first + at.survival) / 2;
    } else if (at.survival > 0) {
        at.area += passed * at.survival;
    }
    at.time = time;
    return at;
}

void survival_free(struct survival_curve *curve)
{
    free(curve->points);
    *curve = (struct survival_curve){0};
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* See counted.h. Signal-safe. */
#include "pmu/counted.h"

#include <stdbool.h>

#include "signal_safe.h"

/* The longest time that an event of a unit was on a counter. */
static uint64_t longest_running(const struct pmu_reading *readings, unsigned count, unsigned kind)
{
    uint64_t longest = 0;

    for (unsigned i = 0; i < count; i++)
        if (readings[i].core_kind == kind && readings[i].running_ns > longest)
            longest = readings[i].running_ns;
    return longest;
}

uint64_t pmu_counted_accesses(const struct pmu_reading *readings, unsigned count,
                              unsigned core_kinds)
{
    uint64_t accesses = 0;

    for (unsigned i = 0; i < count; i++) {
        const struct pmu_reading *reading = &readings[i];
        uint64_t wanted = core_kinds > 1 ? longest_running(readings, count, reading->core_kind)
                                         : reading->enabled_ns;
        uint64_t events = reading->count;

        if (reading->running_ns > 0 && reading->running_ns < wanted)
            events = (uint64_t)((double)events * (double)wanted / (double)reading->running_ns);
        accesses += events * reading->accesses;
    }
    return accesses;
}

uint64_t pmu_uncounted_ns(const struct pmu_reading *readings, unsigned count, uint64_t *enabled_ns)
{
    enum { SKEW_SHARE = 100 };
    uint64_t counted = 0, enabled = 0;

    for (unsigned i = 0; i < count; i++) {
        bool first = true;

        if (readings[i].enabled_ns > enabled)
            enabled = readings[i].enabled_ns;
        for (unsigned k = 0; k < i; k++)
            first &= readings[k].core_kind != readings[i].core_kind;
        if (first)
            counted += longest_running(readings, count, readings[i].core_kind);
    }
    *enabled_ns = enabled;
    return counted < enabled - enabled / SKEW_SHARE ? enabled - counted : 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/run_time.h"

uint64_t run_wall_ns(const struct profile *profile)
{
    uint64_t start = profile_run_number(profile, "start_monotonic_ns", 0), last = 0, wall = 0;

    if (profile->complete)
        return profile->end.wall_ns;
    for (size_t i = 0; i < profile->origins.count; i++)
        wall += profile->origins.items[i]->wall_ns;
    if (wall > 0)
        return wall;
    for (size_t i = 0; i < profile->totals.count; i++)
        if (profile->totals.items[i].monotonic_ns > last)
            last = profile->totals.items[i].monotonic_ns;
    if (profile->bursts.count > 0 &&
        profile->bursts.items[profile->bursts.count - 1]->monotonic_ns > last)
        last = profile->bursts.items[profile->bursts.count - 1]->monotonic_ns;
    return start != 0 && last > start ? last - start : 0;
}

double run_cpu_ns(const struct model *model)
{
    double sum = 0;

    for (size_t p = 0; p < model->profile_count; p++) {
        const struct profile *profile = model->profiles[p];

        if (profile_counts_accesses(profile))
            return 0;
        for (size_t i = 0; i < profile->totals.count; i++)
            if (model_looks_at(model, profile, profile->totals.items[i].thread_id))
                sum += (double)profile->totals.items[i].app_ns;
    }
    return sum;
}

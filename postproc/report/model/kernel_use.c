/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/kernel_use.h"

#include <math.h>

#include "analysis/rates/kernel_time.h"

static void add_process(struct kernel_use *use, const struct profile *profile, uint32_t origin)
{
    double page = profile_origin_number(profile, origin, "page_size");
    double peak = profile_origin_number(profile, origin, "peak_memory_bytes");
    double faults = profile_origin_number(profile, origin, "page_faults");

    use->peak_bytes = fmax(use->peak_bytes, peak);
    use->page_faults += faults;
    if (page > 0)
        use->kept_faults += fmin(faults, peak / page);
}

struct kernel_use kernel_use_of(const struct model *model)
{
    struct kernel_time sum = {0};
    struct kernel_use use = {.time = -1};

    for (size_t p = 0; p < model->profile_count; p++) {
        const struct profile *profile = model->profiles[p];
        const struct kernel_time time = kernel_time_of(profile);

        sum.own_ns += time.own_ns;
        sum.kernel_ns += time.kernel_ns;
        if (profile->origins.count == 0)
            add_process(&use, profile, 0);
        for (size_t i = 0; i < profile->origins.count; i++)
            add_process(&use, profile, profile->origins.items[i]->origin_id);
    }
    if (sum.own_ns > 0)
        use.time = sum.kernel_ns / (sum.own_ns + sum.kernel_ns);
    return use;
}

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
    use->calls += profile_origin_number(profile, origin, "read_calls") +
                  profile_origin_number(profile, origin, "write_calls");
    use->call_bytes += profile_origin_number(profile, origin, "read_bytes") +
                       profile_origin_number(profile, origin, "write_bytes");
}

/* What bursts tell of the time in the kernel. */
struct seen {
    double fault_ns, since_ns;     /* page faults between bursts, and that time */
    double all_calls, their_calls; /* system calls in the code of bursts, and those counted as
                                      reads or writes */
    double bursts;                 /* that made any */
};

static void add_progress(struct seen *seen, const struct record_progress *progress)
{
    double calls = 0;

    for (uint32_t i = 0; i < progress->count; i++) {
        const struct progress_variable *variable = &progress->variables[i];

        if (variable->kind == PROGRESS_FAULT_NS && progress->since_ns > 0)
            seen->fault_ns += variable->since;
        else if (variable->kind == PROGRESS_SYSTEM_CALLS)
            calls += variable->within;
        else if (variable->kind == PROGRESS_KERNEL_COUNT && variable->place < PROGRESS_CALL_COUNTS)
            seen->their_calls += variable->within;
    }
    seen->since_ns += (double)progress->since_ns;
    seen->all_calls += calls;
    seen->bursts += calls > 0;
}

/* rest: share of the CPU time in the kernel, but for page faults. Calls that none of n bursts saw
 * may still be a 3/n part. */
static struct estimate call_time(const struct seen *seen, double rest)
{
    double part, half;

    if (!(seen->all_calls > 0) || !(rest > 0))
        return (struct estimate){0};
    part = fmin(1, seen->their_calls / seen->all_calls);
    half = fmax(3 / seen->bursts, 1.96 * sqrt(part * (1 - part) / seen->bursts));
    return (struct estimate){rest * part, rest * fmax(0, part - half), rest * fmin(1, part + half)};
}

struct kernel_use kernel_use_of(const struct model *model)
{
    struct kernel_time sum = {0};
    struct seen seen = {0};
    struct kernel_use use = {.time = -1};

    for (size_t p = 0; p < model->profile_count; p++) {
        const struct profile *profile = model->profiles[p];
        const struct kernel_time time = kernel_time_of(profile);

        sum.own_ns += time.own_ns;
        sum.kernel_ns += time.kernel_ns;
        for (size_t i = 0; i < profile->progress.count; i++)
            add_progress(&seen, profile->progress.items[i]);
        if (profile->origins.count == 0)
            add_process(&use, profile, 0);
        for (size_t i = 0; i < profile->origins.count; i++)
            add_process(&use, profile, profile->origins.items[i]->origin_id);
    }
    if (sum.own_ns > 0)
        use.time = sum.kernel_ns / (sum.own_ns + sum.kernel_ns);
    if (seen.since_ns > 0)
        use.fault_time = fmin(fmax(0, use.time), seen.fault_ns / seen.since_ns);
    use.call_time = call_time(&seen, fmax(0, use.time - use.fault_time));
    return use;
}

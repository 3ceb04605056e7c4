/* SPDX-License-Identifier: BSD-3-Clause */
#include "analysis/curves/memory_bound.h"

#include <math.h>

/*
 * The kernel adds pages up by CPU and tells the sum of what was handed in, which a CPU does when it
 * has so many (Linux 6.2 and newer, lib/percpu_counter.c; before, 64 by thread). A fault brings 16
 * pages at most, or a huge one, which is handed in at once.
 */
static double pages_not_told(double cpus, double faults)
{
    return fmin(fmax(fmax(32, 2 * cpus) * cpus, 64), 16 * faults);
}

static double threads_of(const struct profile *profile, uint32_t origin)
{
    size_t threads = 0;

    for (size_t i = 0; i < profile->threads.count; i++)
        threads += profile->threads.items[i].origin_id == origin;
    return (double)threads;
}

/*
 * The peak of what was resident at once. What was freed and came back elsewhere, as other lines,
 * came by page faults: where these brought more, they bound it.
 */
static double bytes_of(const struct profile *profile, uint32_t origin)
{
    double peak = profile_origin_number(profile, origin, "peak_memory_bytes");
    double page = profile_origin_number(profile, origin, "page_size"),
           cpus = profile_origin_number(profile, origin, "cpus");
    double faults = profile_origin_number(profile, origin, "page_faults");

    if (!(peak > 0 && page > 0 && cpus > 0))
        return INFINITY;
    return fmax(peak + page * pages_not_told(cpus, faults), page * faults);
}

static void add_process(const struct analysis *analysis, const struct profile *profile,
                        uint32_t origin, struct memory_bound *sum)
{
    double lines = bytes_of(profile, origin) / analysis->line_size;

    /* Processes of a group share its cache. */
    sum->reach = analysis->options.groups ? sum->reach + lines : fmax(sum->reach, lines);
    sum->first_uses += lines * fmax(1, threads_of(profile, origin));
}

struct memory_bound memory_bound_of(const struct analysis *analysis)
{
    struct memory_bound sum = {0};

    for (size_t p = 0; p < analysis->profile_count; p++) {
        const struct profile *profile = analysis->profiles[p];

        if (profile->origins.count == 0)
            add_process(analysis, profile, 0, &sum);
        for (size_t i = 0; i < profile->origins.count; i++)
            add_process(analysis, profile, profile->origins.items[i]->origin_id, &sum);
    }
    return sum;
}

double memory_bound_farther(const struct memory_bound *bound, double from, double lines)
{
    if (isinf(bound->reach) || lines >= bound->reach)
        return 1;
    from = fmax(from, 1);
    return from < lines ? log(bound->reach / lines) / log(bound->reach / from) : 1;
}

void memory_bound_apply(const struct memory_bound *bound, double lines, double accesses,
                        struct miss_shares *shares)
{
    if (lines < bound->reach || !(accesses > 0))
        return;
    shares->missed = fmin(shares->missed, bound->first_uses / accesses);
    shares->unknown = fmin(shares->unknown, shares->missed);
    shares->spared = 0;
}

double analysis_farthest_reuse(const struct analysis *analysis)
{
    return analysis->exact ? INFINITY : analysis->memory.reach * analysis->line_size;
}

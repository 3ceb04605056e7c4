/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What accesses cost in time: the assumption behind every "worth at most N % of the CPU time".
 *
 * Latencies come from the machine's description where it has them, else common ones of each level
 * stand in, and the report says so. Pure.
 */
#ifndef REUSE_POSTPROC_ACCESS_COSTS_H
#define REUSE_POSTPROC_ACCESS_COSTS_H

#include <stdbool.h>

#include "analysis/analysis.h"
#include "machine/machine.h"

struct access_costs {
    size_t levels;
    double hit_ns;                             /* an access that misses nowhere, overlap included */
    double latency_ns[MACHINE_LEVELS_MAX + 1]; /* of a hit in each level; the last: memory */
    double in_order;    /* part of a latency that is left where lines follow each other */
    double transfer_ns; /* a line that comes from another core */
    bool described;     /* by the machine's description; else common values are assumed */
    bool measured;      /* on the run's host (machine/kept.h) */
    double timed; /* loads by which memory, and the third cache, were measured in the run; 0: not */
};

/* timed: of the run, on that machine. */
void access_costs_of(const struct machine *, struct timed_lines timed, struct access_costs *);

/* How code comes to the lines that are not in the innermost cache. */
struct line_reach {
    bool in_order; /* they follow each other */
    /* Part of the second cache's latency that is waited for, 0 to 1 (modelled_pace.h). */
    double waited;
    double from_memory; /* of its lines that are not in it at least this part comes from memory */
    double
        crowded; /* accesses that miss in the first cache for want of ways, per access, besides */
};

/* ns that misses add to an access, given misses per access of each level (ascending levels). */
double access_cost_of_misses(const struct access_costs *, const double *miss_ratios,
                             struct line_reach);

/* "L2 4, L3 14, memory 90, another core 100 ns (assumed)". The caller frees it. */
char *access_costs_text(const struct access_costs *, const struct machine *);

#endif

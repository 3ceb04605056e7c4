/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The access rate of every loop of the profiles. The loops with most time have each their own, by
 * what variables say of it (progress_rates.h) and how many accesses lie between system calls; the
 * others of a profile have one together.
 */
#ifndef REUSE_ANALYSIS_LOOP_RATES_H
#define REUSE_ANALYSIS_LOOP_RATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/rates/line_sources.h"
#include "estimate.h"
#include "profile/reader.h"

struct loop_rate {
    uint32_t profile; /* addresses mean something within a profile only */
    uint64_t loop;
    uint64_t low_ip, high_ip; /* hull of the instructions of its bursts, and its head */
    double time_ns;           /* CPU time that its bursts stand for */
    double own;               /* share of that in its own code, not in the kernel */
    /* Of that, in bursts with system calls; and the accesses from one to the next, times this. */
    double call_ns, accesses_to_call;
    uint32_t group; /* of the loops of its profile: those of one have one rate */
    struct estimate per_ns;
    double log_deviation;    /* standard error of ln(per_ns), the loop's own */
    double common_deviation; /* and the part that all loops have in common */
    bool measured;           /* it is known better than what loops of programs differ by */
};

struct loop_rates {
    struct loop_rate *loops; /* sorted by profile, loop */
    size_t count;
    double *refills;      /* of each profile, ns (refill.h) */
    double **burst_times; /* of each profile's bursts, ns (burst_times.h) */
    size_t profile_count;
    size_t bursts; /* in which a variable moved on, and that was used */
};

void loop_rates_create(const struct profile *const *profiles, size_t profile_count,
                       const struct program_line_sources *, struct loop_rates *out);
void loop_rates_free(struct loop_rates *);

/* Index of the loop of a burst or sample of the profiles given to loop_rates_create(). */
size_t loop_rates_find(const struct loop_rates *, size_t profile, uint64_t loop);

/* True when the instruction belongs to the loop, as far as samples tell. */
bool loop_rates_contains(const struct loop_rate *, uint64_t ip);

#endif

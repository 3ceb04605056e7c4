/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How often to sample so that profiling takes at most a given share of the target's CPU time.
 *
 * Every cost of the profiler in a thread is reported here as it arises (handlers, hidden kernel
 * entry included); the governor answers with the next sampling period. However slow a trap is, the
 * period stays at least as long as cost / budget, so there is never a storm. Pure; signal-safe;
 * one struct per thread, used by its thread alone.
 */
#ifndef REUSE_SAMPLING_GOVERNOR_H
#define REUSE_SAMPLING_GOVERNOR_H

#include <stdbool.h>
#include <stdint.h>

enum {
    GOVERNOR_PERIOD_MIN_NS = 500 * 1000,
    /* Spent in advance, so that a short run has samples to show. Repaid within a few seconds. */
    GOVERNOR_ADVANCE_NS = 4 * 1000 * 1000,
};

/* However dear a sample is, one is tried now and then. */
#define GOVERNOR_PERIOD_MAX_NS UINT64_C(100000000000)

struct governor {
    double budget;     /* share of application time to be spent in handlers */
    uint64_t fixed_ns; /* fixed period, or 0 */
    uint64_t cost_ns;  /* all costs so far */
    uint64_t samples;
    double cost_average; /* moving average of cost per sample, ns */
    uint64_t cost_at_sample;
    uint64_t rate_cost_ns; /* part spent on access-rate readings */
};

/* budget: share of application time that profiling may take, 0.04 for 4 %, wherever it is felt.
 * expected_cost_ns: first guess of what one sample costs. */
void governor_begin(struct governor *, double budget, uint64_t fixed_ns, uint64_t expected_cost_ns);

/* Adds cost; rate_reading: it was for measuring the access rate rather than for a sample. */
void governor_spend(struct governor *, uint64_t cost_ns, bool rate_reading);

/* Mean period (ns of thread CPU time) until the next sample, app_ns into the thread's life. */
uint64_t governor_next_period(struct governor *, uint64_t app_ns);

/* Whether a rate reading of the given expected cost is affordable now. */
bool governor_affords_rate(const struct governor *, uint64_t app_ns, uint64_t expected_cost_ns);

#endif

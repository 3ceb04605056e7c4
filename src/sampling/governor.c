/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/governor.h"

#include "signal_safe.h"

/* Share of the budget that is spent on what can be accounted for. The rest goes where no clock
 * looks: caches and predictors that our handlers have used for themselves, wrappers around
 * allocations. */
static const double accountable = 0.7;
/* Share of that which access-rate readings may take. */
static const double rate_share = 0.3;
/* Long runs have samples enough: from here on the budget shrinks with the square root of time. */
static const double generous_ns = 60e9;

void governor_begin(struct governor *governor, double budget, uint64_t fixed_ns,
                    uint64_t expected_cost_ns)
{
    *governor = (struct governor){.budget = accountable * budget,
                                  .fixed_ns = fixed_ns,
                                  .cost_average = (double)expected_cost_ns};
}

void governor_spend(struct governor *governor, uint64_t cost_ns, bool rate_reading)
{
    governor->cost_ns += cost_ns;
    if (rate_reading)
        governor->rate_cost_ns += cost_ns;
}

/* Costs allowed by now. */
static double allowance(const struct governor *governor, double app_ns)
{
    double generous = app_ns < generous_ns ? app_ns : generous_ns;
    double rest = app_ns - generous;
    /* Integral of budget * sqrt(generous / t) beyond the generous part. */
    double allowed = generous;

    if (rest > 0)
        allowed += 2 * generous_ns * (__builtin_sqrt(app_ns / generous_ns) - 1);
    return governor->budget * allowed + GOVERNOR_ADVANCE_NS;
}

uint64_t governor_next_period(struct governor *governor, uint64_t app_ns)
{
    uint64_t spent = governor->cost_ns - governor->rate_cost_ns;
    double share = governor->budget * (1 - rate_share);
    double now = (double)app_ns, period, debt, slack;

    if (governor->samples++ > 0) {
        double last = (double)(spent - governor->cost_at_sample);
        double gain = governor->samples < 16 ? 0.25 : 1.0 / 16;

        governor->cost_average += gain * (last - governor->cost_average);
    }
    governor->cost_at_sample = spent;
    if (governor->fixed_ns) {
        /* A fixed period is the user's word, but not a licence to livelock: half the time at most.
         */
        double floor = governor->cost_average;

        return governor->fixed_ns > floor ? governor->fixed_ns : (uint64_t)floor;
    }
    if (now > generous_ns)
        share *= __builtin_sqrt(generous_ns / now);
    period = governor->cost_average / share;
    /* What was overspent in all is repaid over the next second; what was saved is not hoarded. */
    debt = (double)governor->cost_ns - allowance(governor, now);
    if (debt > 0)
        period *= 1 + debt / (share * 1e9);
    /* At the start the advance allows a quicker pace. */
    slack = GOVERNOR_ADVANCE_NS - (double)governor->cost_ns;
    if (slack > 0)
        period /= 2;
    if (period < GOVERNOR_PERIOD_MIN_NS)
        period = GOVERNOR_PERIOD_MIN_NS;
    /* Never more than half of the time, however small a budget the minimum period grants. */
    if (period < 2 * governor->cost_average)
        period = 2 * governor->cost_average;
    if (period > (double)GOVERNOR_PERIOD_MAX_NS)
        period = (double)GOVERNOR_PERIOD_MAX_NS;
    return (uint64_t)period;
}

bool governor_affords_rate(const struct governor *governor, uint64_t app_ns,
                           uint64_t expected_cost_ns)
{
    double allowed = rate_share * allowance(governor, (double)app_ns);

    return (double)(governor->rate_cost_ns + expected_cost_ns) <= allowed;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/governor.h"

#include "signal_safe.h"

/* A debt is repaid, and a credit used up, within so much CPU time of all threads, and no sooner
 * than each of those that run has had that many bursts: they hear of it only then. */
static const double horizon_ns = 1e9, horizon_periods = 8;
/* Gains of the moving averages once they rest on many bursts, and how far a single burst can move
 * them: one that is many times dearer than others is a debt, not the price of the next. */
static const double thread_gain = 1.0 / 8, process_gain = 1.0 / 16, dearer_at_most = 4;
static const double periods_at_most = 100;

static uint64_t read(const _Atomic uint64_t *value)
{
    return atomic_load_explicit(value, memory_order_relaxed);
}

void governor_process_begin(struct governor_process *process, double budget, uint64_t fixed_ns,
                            uint64_t expected_cost_ns)
{
    process->budget = budget;
    process->fixed_ns = fixed_ns;
    atomic_store(&process->cost_ns, 0);
    atomic_store(&process->besides_ns, 0);
    atomic_store(&process->app_ns, 0);
    atomic_store(&process->allowed_ns, 0);
    atomic_store(&process->burst_ns, expected_cost_ns);
    atomic_store(&process->bursts, 0);
    atomic_store(&process->periods_256, 256);
    atomic_store(&process->threads, 0);
}

void governor_begin(struct governor *governor, struct governor_process *process)
{
    *governor = (struct governor){
        .process = process,
        .alive = true,
        .all_app_ns = read(&process->app_ns),
        .burst_ns = (double)read(&process->burst_ns),
        .periods = (double)atomic_load_explicit(&process->periods_256, memory_order_relaxed) / 256};
    atomic_fetch_add_explicit(&process->threads, 1, memory_order_relaxed);
}

/* Share of the budget that the size of the profile leaves. */
static double share_for(uint64_t bytes)
{
    double full = (double)bytes / GOVERNOR_BYTES_FREE;

    if (full <= 1)
        return 1;
    if (bytes >= GOVERNOR_BYTES_MAX)
        return 0;
    return (1 - (double)bytes / GOVERNOR_BYTES_MAX) /
           (1 - (double)GOVERNOR_BYTES_FREE / GOVERNOR_BYTES_MAX) / (full * full * full);
}

/* The thread's time up to app_ns is allowed its share. */
static void allow(struct governor *governor, uint64_t app_ns, double budget)
{
    struct governor_process *process = governor->process;

    if (app_ns <= governor->app_ns)
        return;
    atomic_fetch_add_explicit(&process->app_ns, app_ns - governor->app_ns, memory_order_relaxed);
    atomic_fetch_add_explicit(&process->allowed_ns,
                              (uint64_t)(budget * (double)(app_ns - governor->app_ns)),
                              memory_order_relaxed);
    governor->app_ns = app_ns;
}

/* Of the first bursts a plain mean, with what was expected as one of them: the expectation may be
 * off by ten times, and bursts that are too frequent until then are a debt of seconds. */
static double follow(double average, double value, double gain, uint64_t known)
{
    double first = 1 / (double)(known + 2);

    if (value > dearer_at_most * average)
        value = dearer_at_most * average;
    return average + (first > gain ? first : gain) * (value - average);
}

/* What has been charged since the last burst was its cost. */
static void learn(struct governor *governor)
{
    struct governor_process *process = governor->process;
    double cost = (double)governor->unpaid, mean = (double)read(&process->burst_ns);
    uint64_t known;

    governor->unpaid = 0;
    if (governor->bursts == 0)
        return;
    known = atomic_fetch_add_explicit(&process->bursts, 1, memory_order_relaxed);
    governor->burst_ns = follow(governor->burst_ns, cost, thread_gain, known);
    atomic_store_explicit(&process->burst_ns, (uint64_t)follow(mean, cost, process_gain, known),
                          memory_order_relaxed);
}

void governor_end(struct governor *governor, uint64_t app_ns)
{
    learn(governor);
    allow(governor, app_ns, governor->process->budget);
    if (governor->alive)
        atomic_fetch_sub_explicit(&governor->process->threads, 1, memory_order_relaxed);
    governor->alive = false;
}

void governor_spend(struct governor *governor, uint64_t cost_ns)
{
    struct governor_process *process = governor->process;

    governor->unpaid += cost_ns;
    atomic_fetch_add_explicit(&process->cost_ns, cost_ns, memory_order_relaxed);
}

void governor_spend_besides(struct governor *governor, uint64_t cost_ns)
{
    atomic_fetch_add_explicit(&governor->process->besides_ns, cost_ns, memory_order_relaxed);
}

/* How many periods it has taken from the last burst to this one. */
static void learn_periods(struct governor *governor, uint64_t app_ns)
{
    struct governor_process *process = governor->process;
    double passed = (double)(app_ns - governor->burst_app_ns), periods;

    if (app_ns <= governor->burst_app_ns || governor->period_ns == 0)
        return;
    periods = passed / (double)governor->period_ns;
    periods = periods < periods_at_most ? periods : periods_at_most;
    governor->periods += thread_gain * (periods - governor->periods);
    periods = (double)atomic_load_explicit(&process->periods_256, memory_order_relaxed) / 256;
    periods += process_gain * (governor->periods - periods);
    atomic_store_explicit(&process->periods_256, (uint32_t)(256 * periods), memory_order_relaxed);
    governor->burst_app_ns = app_ns;
}

void governor_burst(struct governor *governor, uint64_t app_ns)
{
    learn(governor);
    learn_periods(governor, app_ns);
    governor->bursts++;
}

/* What bursts and readings may have cost by now. */
static double allowance(const struct governor_process *process)
{
    double allowed = (double)read(&process->allowed_ns), app = (double)read(&process->app_ns);
    double besides = (double)read(&process->besides_ns);

    allowed -= besides < allowed / 2 ? besides : allowed / 2;
    if (app < (double)GOVERNOR_REPAY_NS)
        allowed += GOVERNOR_ADVANCE_NS * (1 - app / (double)GOVERNOR_REPAY_NS);
    return allowed;
}

uint64_t governor_least_period(const struct governor *governor)
{
    return (uint64_t)governor->burst_ns;
}

/* What the other costs leave of the budget, half of it at least. Those of the start are spread over
 * the first second. */
static double left_for_bursts(const struct governor_process *process, double budget)
{
    double app = (double)read(&process->app_ns) + horizon_ns;
    double besides = (double)read(&process->besides_ns) / app;

    return budget - (besides < budget / 2 ? besides : budget / 2);
}

/* How many threads share the CPU time, by this one's part of it so far: those that wait for work
 * are none of them. */
static double sharers(const struct governor *governor)
{
    const struct governor_process *process = governor->process;
    double threads = (double)atomic_load_explicit(&process->threads, memory_order_relaxed);
    double all = (double)(read(&process->app_ns) - governor->all_app_ns), share;

    if (governor->app_ns == 0)
        return threads;
    share = all / (double)governor->app_ns;
    share = share < threads ? share : threads;
    return share > 1 ? share : 1;
}

/* ns; budget: what is left of it at the profile's size. */
static double governed_period(const struct governor *governor, double budget)
{
    const struct governor_process *process = governor->process;
    double periods = governor->periods > 1 ? governor->periods : 1, cost = governor->burst_ns;
    double period, horizon, debt, factor;

    if (cost >= budget * (double)GOVERNOR_PERIOD_MAX_NS)
        return (double)GOVERNOR_PERIOD_MAX_NS;
    budget = left_for_bursts(process, budget);
    period = cost / (budget * periods);
    horizon = horizon_ns + horizon_periods * sharers(governor) * periods * period;
    debt = (double)read(&process->cost_ns) - allowance(process);
    factor = 1 + debt / (budget * horizon);
    period *= factor > 0.5 ? factor : 0.5;
    if (period < GOVERNOR_PERIOD_MIN_NS)
        period = GOVERNOR_PERIOD_MIN_NS;
    if (period < 2 * cost / periods)
        period = 2 * cost / periods;
    return period < (double)GOVERNOR_PERIOD_MAX_NS ? period : (double)GOVERNOR_PERIOD_MAX_NS;
}

uint64_t governor_next_period(struct governor *governor, uint64_t app_ns, uint64_t bytes)
{
    const struct governor_process *process = governor->process;
    double budget = process->budget * share_for(bytes);

    allow(governor, app_ns, budget);
    /* A fixed period is the user's word, but not a licence to livelock: half the time at most. */
    if (!process->fixed_ns)
        governor->period_ns = (uint64_t)governed_period(governor, budget);
    else if ((double)process->fixed_ns > governor->burst_ns)
        governor->period_ns = process->fixed_ns;
    else
        governor->period_ns = (uint64_t)governor->burst_ns;
    return governor->period_ns;
}

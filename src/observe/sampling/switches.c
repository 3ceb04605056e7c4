/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/switches.h"

#include "signal_safe.h"

/*
 * Measured by two threads that hand a byte to and fro on one processor (Linux 6.18, virtual
 * machine; an expiry costs 18 us, a trap 16): a switch takes 0.4 us more with a clock, 3.5 us more
 * with one that is due within a tick, 0.6 us more with two armed registers.
 */
static const double clock_to_trigger = 0.4 / 18, due_to_trigger = 3.5 / 18,
                    armed_to_trap = 0.6 / 16;
/* Between ticks of the kernel: 4 ms at the most common setting. */
static const double tick_ns = 4e6;
/* Of the budget, for armed registers. */
static const double armed_share = 0.2;
/* A thread that has registers keeps them for so many bursts, in the mean. */
enum { WATCHED_BURSTS = 8 };

void switches_begin(struct switches *switches)
{
    *switches = (struct switches){0};
}

struct switch_cost switches_count(struct switches *switches, uint64_t count, uint64_t app_ns,
                                  uint64_t period_ns, uint64_t trigger_ns, uint64_t trap_ns)
{
    double new = (double)(count - switches->count);
    /* Application time is what is left of CPU time, and may go back a little. */
    double passed = app_ns > switches->app_ns ? (double)(app_ns - switches->app_ns) : 0;
    double trigger = (double)trigger_ns, periods = 1;
    double due_ns, armed = switches->unwatched ? 0 : armed_to_trap * (double)trap_ns;
    struct switch_cost cost = {.besides_ns = (uint64_t)(new *(clock_to_trigger * trigger + armed))};

    if (passed > 0)
        switches->per_ns += 0.5 * (new / passed - switches->per_ns);
    switches->count = count;
    switches->app_ns = app_ns;
    /* The clock was due at the end of each period, though only the last one made a burst. */
    if (period_ns > 0 && passed > (double)period_ns)
        periods = passed / (double)period_ns;
    due_ns = periods * tick_ns < passed ? periods * tick_ns : passed;
    cost.burst_ns = (uint64_t)(switches->per_ns * due_ns * due_to_trigger * trigger);
    return cost;
}

double switches_watch_share(const struct switches *switches, double budget, uint64_t trap_ns)
{
    double whole = switches->per_ns * armed_to_trap * (double)trap_ns, may = armed_share * budget;

    return whole > may ? may / whole : 1;
}

/* A chain of two states that is in the one for `share` of the time: leaves it with 1 in
 * WATCHED_BURSTS, and the other one as often. */
bool switches_may_watch(struct switches *switches, struct random *random, double share)
{
    double change = 1.0 / WATCHED_BURSTS;

    if (share >= 1)
        switches->unwatched = false;
    else if (switches->unwatched)
        change *= share / (1 - share);
    if (share < 1 && (double)(random_next(random) >> 11) * 0x1p-53 < change)
        switches->unwatched = !switches->unwatched;
    return !switches->unwatched;
}

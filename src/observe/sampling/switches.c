/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/switches.h"

#include "signal_safe.h"

/*
 * Measured by two processes that hand a byte to and fro (Linux 6.18, virtual machine; an expiry
 * costs 18 us, a trap 16). On one processor a switch takes 0.4 us more with a clock, 0.7 to 1.3 us
 * more with two to four armed registers. On two, which idle meanwhile, 0.2 to 2 us and 8 to 10 us:
 * to set registers anew after the processor has idled leaves the virtual machine. The dearer of
 * each is charged, for which it will be is not known. On another virtual machine, where an expiry
 * costs 52 us, a clock took 0.7 to 1.1 us of a switch.
 */
static const double clock_to_trigger = 0.4 / 18, armed_to_trap = 9.0 / 16;
/* Between ticks of the kernel: 4 ms at the most common setting. */
static const double tick_ns = 4e6;
/* Of what a burst costs. */
static const double window_share = 0.5;
/* Per ns: 1000 a second, of which those within a tick are 4. */
static const double many = 1e-6;
/* A shorter window sees nothing that the burst has not seen, and costs an expiry. */
static const uint64_t window_least_ns = 100 * 1000;

void switches_begin(struct switches *switches)
{
    *switches = (struct switches){0};
}

/* How long registers have been armed since the last burst. */
static double armed_time(const struct switches *switches, uint64_t app_ns)
{
    uint64_t armed = switches->armed_ns;

    if (switches->armed && app_ns > switches->noted_ns)
        armed += app_ns - switches->noted_ns;
    return (double)armed;
}

/* How long the clock, which ends every expiry_ns, has been due within a tick; at the end of the
 * window it was, too. */
static double due_time(const struct switches *switches, double passed_ns, double expiry_ns)
{
    double expiries = expiry_ns > 0 && passed_ns > expiry_ns ? passed_ns / expiry_ns : 1;
    double due = expiries * tick_ns, window = (double)switches->window_ns;

    if (window > 0)
        due += window < tick_ns ? window : tick_ns;
    return due < passed_ns ? due : passed_ns;
}

uint64_t switches_open_cost(const struct switches *switches, uint64_t count,
                            const struct event_costs *costs)
{
    return (uint64_t)((double)(count - switches->count) * clock_to_trigger *
                      (double)costs->trigger_ns);
}

bool switches_are_many(const struct switches *switches)
{
    return switches->per_ns >= many;
}

struct switch_cost switches_count(struct switches *switches, uint64_t count, uint64_t app_ns,
                                  uint64_t expiry_ns, const struct event_costs *costs)
{
    double new = (double)(count - switches->count);
    /* Application time is what is left of CPU time, and may go back a little. */
    double passed = app_ns > switches->app_ns ? (double)(app_ns - switches->app_ns) : 0;
    struct switch_cost cost = {.besides_ns = switches_open_cost(switches, count, costs)};
    double armed;

    if (passed > 0)
        switches->per_ns += (switches->app_ns > 0 ? 0.5 : 1) * (new / passed - switches->per_ns);
    armed =
        switches->per_ns * armed_time(switches, app_ns) * armed_to_trap * (double)costs->trap_ns;
    cost.burst_ns = (uint64_t)(switches->per_ns * due_time(switches, passed, (double)expiry_ns) *
                               (double)costs->due_ns);
    if (switches->windows)
        cost.burst_ns += (uint64_t)armed;
    else
        cost.besides_ns += (uint64_t)armed;
    *switches = (struct switches){.per_ns = switches->per_ns,
                                  .count = count,
                                  .app_ns = app_ns,
                                  .armed = switches->armed,
                                  .noted_ns = app_ns};
    return cost;
}

uint64_t switches_expiry_cost(const struct switches *switches, const struct event_costs *costs)
{
    return (uint64_t)(switches->per_ns * tick_ns * (double)costs->due_ns);
}

/* What the window after a burst costs in the mean, if the shortest is so long. */
static double window_cost(const struct switches *switches, const struct window_terms *terms,
                          unsigned doublings)
{
    double shortest = (double)(terms->period_ns >> doublings), armed = shortest, due = 0;

    for (unsigned i = 0; i < doublings; i++) {
        double window = (double)(terms->period_ns >> (doublings - i)), chance = 0.5 / (1U << i);

        armed += chance * window;
        due += chance * (window < tick_ns ? window : tick_ns);
    }
    return switches->per_ns * (armed * armed_to_trap * (double)terms->costs.trap_ns +
                               due * (double)terms->costs.due_ns);
}

void switches_plan_window(struct switches *switches, struct random *random,
                          const struct window_terms *terms, uint64_t app_ns)
{
    double may = window_share * terms->burst_ns / (terms->periods > 1 ? terms->periods : 1);
    unsigned doublings = 0, drawn = 0;

    if (switches->planned)
        return;
    switches->planned = true;
    while (window_cost(switches, terms, doublings) > may &&
           terms->period_ns >> doublings >= 2 * window_least_ns)
        doublings++;
    switches->windows = doublings > 0;
    while (drawn < doublings && random_next(random) >> 63)
        drawn++;
    if (drawn < doublings)
        switches->window_ns = terms->period_ns >> (doublings - drawn);
    switches->end_ns = app_ns + switches->window_ns;
}

void switches_restart_window(struct switches *switches, uint64_t app_ns)
{
    switches->end_ns = app_ns + switches->window_ns;
}

uint64_t switches_window_left(const struct switches *switches, uint64_t app_ns)
{
    if (switches->window_ns == 0)
        return UINT64_MAX;
    return switches->end_ns > app_ns ? switches->end_ns - app_ns : 0;
}

void switches_note_armed(struct switches *switches, bool armed, uint64_t app_ns)
{
    if (armed == switches->armed)
        return;
    if (switches->armed && app_ns > switches->noted_ns)
        switches->armed_ns += app_ns - switches->noted_ns;
    switches->armed = armed;
    switches->noted_ns = app_ns;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "bursts/register_window.h"

#include "bursts/event_costs.h"
#include "bursts/thread.h"
#include "watches/marker.h"
#include "watches/watch.h"

#include "signal_safe.h"

enum {
    /* The clock counts handlers of ours, too: it may expire in one. What is then left of the window
     * is not less than a signal is worth. */
    LEFT_LEAST_NS = 20 * 1000
};

void register_window_plan(struct thread *thread, uint64_t period_ns, uint64_t app_now)
{
    struct window_terms terms = {.burst_ns = thread->governor.burst_ns,
                                 .periods = thread->governor.periods,
                                 .period_ns = period_ns,
                                 .costs = event_costs_now()};

    switches_plan_window(&thread->switches, &thread->random, &terms, app_now);
}

uint64_t register_window_clock(struct thread *thread, uint64_t period_ns, uint64_t app_now)
{
    uint64_t left = switches_window_left(&thread->switches, app_now);

    thread->window.rest_ns = 0;
    if (left > 0 && left < LEFT_LEAST_NS)
        left = LEFT_LEAST_NS;
    if (left == 0 || left >= period_ns || !watch_is_armed(thread))
        return period_ns;
    thread->window.rest_ns = period_ns - left;
    return left;
}

/* What the last burst put on registers is watched no longer. A register that tells where the burst
 * itself goes on stays. */
static void end(struct thread *thread, uint64_t app_now)
{
    marker_forget(thread);
    watch_end_lines(thread, WATCH_EVICTED, app_now);
    line_sharing_evict(thread);
}

bool register_window_expiry(struct thread *thread, uint64_t app_now)
{
    if (switches_window_left(&thread->switches, app_now) == 0 && watch_is_armed(thread))
        end(thread, app_now);
    return thread->window.rest_ns > 0;
}

uint64_t register_window_rest(const struct thread *thread, uint64_t app_now)
{
    uint64_t left = switches_window_left(&thread->switches, app_now);

    return thread->window.rest_ns + (left == UINT64_MAX ? 0 : left);
}

void register_window_note(struct thread *thread, uint64_t app_now)
{
    switches_note_armed(&thread->switches, watch_is_armed(thread), app_now);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "handler.h"
#include "look_ahead.h"
#include "rate_internal.h"
#include "watch.h"

#include "signal_safe.h"

/* Stretches should be longer than this, ns: the entry of a trap varies by half a microsecond. */
static const double stretch_wanted_ns = 20e3;

/* A time between two traps that is negative by more than their ends scatter by on a quiet machine.
 */
enum { TRAP_DOUBT_NS = 1000 };

bool rate_watches_start(struct thread *thread, const struct candidate candidates[2],
                        uint64_t app_now)
{
    struct rate_reading *rate = &thread->rate;

    if (watch_registers(thread) < 2)
        return false;
    for (unsigned i = 0; i < 2; i++) {
        rate->predicted_ip[i] = candidates[i].ip;
        rate->predicted_access[i] = candidates[i].index;
        if (!private_watch_take_for_timing(&thread->watches, i, candidates[i].address, app_now)) {
            private_watch_release_timing(&thread->watches, 0);
            return false;
        }
    }
    rate->phase = RATE_TIMING_TWO;
    rate->reached = 0;
    rate->events = thread->events;
    return true;
}

void rate_trap(struct thread *thread, unsigned slot, uint64_t ip, uint64_t app_now)
{
    struct rate_reading *rate = &thread->rate;
    bool as_predicted = rate->phase == RATE_TIMING_TWO && slot == rate->reached &&
                        ip - rate->predicted_ip[slot] - 1 < 15;
    int64_t elapsed;
    bool accepted;

    private_watch_release_timing(&thread->watches, slot);
    if (!as_predicted) {
        rate_cancel(thread);
        return;
    }
    rate->time[slot] = app_now;
    if (++rate->reached < 2)
        return;
    elapsed = (int64_t)(rate->time[1] - rate->time[0]);
    /* Only our own two entries lie between: else the stretch was disturbed. A short one is no
     * reason to reject it: code that runs fast makes its stretches short. */
    accepted = thread->events - rate->events <= 2;
    if (accepted && elapsed < -TRAP_DOUBT_NS)
        handler_trap_was_cheaper((uint64_t)-elapsed);
    accepted &= elapsed > 0;
    rate->phase = RATE_IDLE;
    rate_report(thread, RATE_WATCH_AHEAD, accepted, 0, rate->time[0],
                (double)(rate->predicted_access[1] - rate->predicted_access[0]), (uint64_t)elapsed);
    if ((double)elapsed < stretch_wanted_ns)
        rate_look_deeper(thread, rate_known_loop(thread, rate->loop));
}

void rate_watches_cancel(struct thread *thread)
{
    for (unsigned i = 0; i < 2; i++)
        private_watch_release_timing(&thread->watches, i);
}

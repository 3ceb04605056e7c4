/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "handler.h"
#include "look_ahead.h"
#include "rate_internal.h"
#include "sampling/stretches.h"
#include "watch.h"

#include "signal_safe.h"

/* Stretches should be longer than this, ns: the entry of a trap varies by half a microsecond. */
static const double stretch_wanted_ns = 20e3;

/* A time between two traps that is negative by more than their ends scatter by on a quiet machine.
 */
enum { TRAP_DOUBT_NS = 1000 };

bool rate_watches_start(struct thread *thread, const struct candidate candidates[RATE_PLACES],
                        uint64_t app_now)
{
    struct rate_reading *rate = &thread->rate;

    if (watch_registers(thread) < 2)
        return false;
    for (unsigned i = 0; i < RATE_PLACES; i++) {
        rate->predicted_ip[i] = candidates[i].ip;
        rate->predicted_access[i] = candidates[i].index;
    }
    rate->last_address = candidates[RATE_PLACES - 1].address;
    for (unsigned i = 0; i < 2; i++)
        if (!private_watch_take_for_timing(&thread->watches, i, candidates[i].address, app_now)) {
            private_watch_release_timing(&thread->watches, 0);
            return false;
        }
    rate->phase = RATE_AWAITING;
    rate->reached = 0;
    rate->events = thread->events;
    return true;
}

static struct stretch stretch_of(const struct rate_reading *rate, unsigned i)
{
    return (struct stretch){.visits =
                                (double)(rate->predicted_access[i + 1] - rate->predicted_access[i]),
                            .ns = (double)(int64_t)(rate->time[i + 1] - rate->time[i])};
}

/* All have trapped: what the long stretch has more than the short one. */
static void finish(struct thread *thread)
{
    struct rate_reading *rate = &thread->rate;
    struct stretch brief = stretch_of(rate, 0), lengthy = stretch_of(rate, 1);
    /* Only our own entries lie between: else the stretch was disturbed. A short one, even one that
     * seems to take less than nothing, is no reason to reject it: code that runs fast makes its
     * stretches short. */
    bool undisturbed = thread->events - rate->events <= RATE_PLACES;

    if (undisturbed && lengthy.ns < -TRAP_DOUBT_NS)
        handler_trap_was_cheaper((uint64_t)-lengthy.ns);
    rate->phase = RATE_IDLE;
    rate_report(thread, &(struct rate_result){.method = RATE_WATCH_AHEAD,
                                              .accepted = undisturbed,
                                              .start = rate->time[0],
                                              .accesses = lengthy.visits - brief.visits,
                                              .elapsed_ns = lengthy.ns - brief.ns,
                                              .loss_ns = stretch_loss(brief, lengthy)});
    if (lengthy.ns < stretch_wanted_ns)
        rate_look_deeper(thread, rate_known_loop(thread, rate->loop));
}

void rate_trap(struct thread *thread, unsigned slot, uint64_t ip, uint64_t app_now)
{
    struct rate_reading *rate = &thread->rate;
    bool as_predicted = rate->phase == RATE_AWAITING && slot == rate->reached % 2 &&
                        ip - rate->predicted_ip[rate->reached] - 1 < 15;

    private_watch_release_timing(&thread->watches, slot);
    if (!as_predicted) {
        rate_cancel(thread);
        return;
    }
    rate->time[rate->reached++] = app_now;
    if (rate->reached == RATE_PLACES)
        finish(thread);
    else if (rate->reached == 1 &&
             !private_watch_take_for_timing(&thread->watches, slot, rate->last_address, app_now))
        rate_cancel(thread);
}

void rate_watches_cancel(struct thread *thread)
{
    for (unsigned i = 0; i < 2; i++)
        private_watch_release_timing(&thread->watches, i);
}

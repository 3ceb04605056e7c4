/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "rate.h"

#include <string.h>

#include "first_touch.h"
#include "look_ahead.h"
#include "output.h"
#include "settings.h"
#include "timebase.h"
#include "watch.h"
#include "signal_safe.h"

enum {
    DEPTH_FIRST = 12 * 1000,
    DEPTH_MAX = 600 * 1000,
    /* A reading is tried after every sample whose number in a geometric series comes up; the
     * governor then decides whether it can be paid. */
    SAMPLES_BETWEEN = 6,
    ATTEMPTS_MAX = 4,
    /* An exploration that meets cache misses at every step must end some time. */
    EXPLORE_NS_MAX = 4 * 1000 * 1000,
    EXPLORE_BATCHES = 8, /* between looks at the clock */
};

/* Intervals that can be timed, in ns: the noise of a signal's entry is about half a microsecond. */
static const double probe_ns = 300e3, probe_min_ns = 60e3, probe_longest_ns = 5e6;
static const double two_watches_min_ns = 16e3, two_watches_ns = 40e3;
/* While nothing has been measured: a high rate, so that loops are thought to end early. */
static const double rate_unknown = 4.0;
/* Cost of one interpreted access, for budgeting; instructions without access included. */
static const double interpret_ns = 25;

static double rate_guess(const struct thread *thread)
{
    return thread->rate_per_ns > 0 ? thread->rate_per_ns : rate_unknown;
}

static void report(struct thread *thread, enum rate_method method, bool accepted, uint64_t head,
                   uint64_t start, double accesses, uint64_t elapsed)
{
    struct record_rate record = {
        .thread_id = thread->id,
        .method = (uint8_t)method,
        .accepted = accepted,
        .loop = thread->rate.loop,
        .head = head,
        .monotonic_ns = monotonic_ns(),
        .app_ns = start,
        .accesses = (uint64_t)(accesses + 0.5),
        .elapsed_ns = elapsed,
    };

    output_append(RECORD_RATE, &record, sizeof record, NULL, 0);
    if (accepted && elapsed > 0) {
        double rate = accesses / (double)elapsed;

        thread->rate_per_ns =
            thread->rate_per_ns > 0 ? 0.7 * thread->rate_per_ns + 0.3 * rate : rate;
    }
}

/* ---- odometer ---- */

/* The loop head that a look-ahead waits for. */
struct arrival {
    const struct odometer *odometer;
    struct interpreter *interpreter;
    bool arrived;
    uint64_t value;
    uint64_t accesses;
    uint64_t flags; /* at the branch that came round */
};

static void on_arrival(void *context, const struct interpreter *interpreter, uint64_t target,
                       uint64_t accesses)
{
    struct arrival *arrival = context;
    struct interpreter_registers registers;

    if (arrival->arrived || target != arrival->odometer->head)
        return;
    interpreter_get_registers(interpreter, &registers);
    if (registers.general[INTERPRETER_RSP] != arrival->odometer->stack_pointer)
        return;
    if (arrival->odometer->address) {
        if (!interpreter_peek(arrival->interpreter, arrival->odometer->address, 4, &arrival->value))
            return;
    } else {
        if (interpreter_poisoned_registers(interpreter) >> arrival->odometer->register_number & 1)
            return;
        arrival->value = registers.general[arrival->odometer->register_number];
    }
    arrival->arrived = true;
    arrival->flags = registers.flags;
    arrival->accesses = accesses;
}

/* Interprets until the head is reached or `limit` accesses have passed. */
static bool run_to_head(struct thread *thread, struct arrival *arrival, uint64_t limit)
{
    enum interpreter_stop why;
    uint64_t seen = 0;

    arrival->arrived = false;
    arrival->interpreter = thread->interpreter;
    look_ahead_hook(thread, on_arrival, arrival);
    do {
        seen += look_ahead_next(thread, THREAD_BATCH / 2, &why);
    } while (!arrival->arrived && seen < limit && why == INTERPRETER_FULL);
    look_ahead_hook(thread, NULL, NULL);
    return arrival->arrived;
}

/* Which side of its bound a loop's test is on: unsigned below, and signed less. */
static unsigned side_of_bound(uint64_t flags)
{
    enum { CARRY = 0, SIGN = 7, OVERFLOW = 11 };

    return (flags >> CARRY & 1) | ((flags >> SIGN ^ flags >> OVERFLOW) & 1) << 1;
}

/*
 * How many more visits the loop will see at least: moves every steady register ahead by 1, 2, 4 ...
 * steps on the copied state and tries whether the loop still comes round. A loop that tests for
 * equality with its bound would come round for ever beyond it, but its comparison then comes out
 * on the other side. 0: it cannot be told.
 */
static double visits_left(struct thread *thread, const struct loop_head *head,
                          const struct odometer *odometer, double enough)
{
    struct interpreter_registers registers;
    struct arrival arrival = {.odometer = odometer};
    uint64_t limit = (uint64_t)(2 * odometer->accesses_per_visit) + 256;
    double left = 0;
    unsigned side = 0;

    for (double ahead = 1; ahead < 2 * enough; ahead *= 2) {
        interpreter_get_registers(thread->interpreter, &registers);
        for (int r = 0; r < LOOP_REGISTERS; r++) {
            registers.general[r] = head->snapshot[r];
            if (head->steady >> r & 1)
                registers.general[r] += (uint64_t)((int64_t)ahead * head->step[r]);
        }
        registers.ip = head->ip;
        interpreter_begin(thread->interpreter, &registers, NULL);
        if (!run_to_head(thread, &arrival, limit))
            break;
        if (ahead == 1)
            side = side_of_bound(arrival.flags);
        if (side_of_bound(arrival.flags) != side)
            break;
        left = ahead;
    }
    return left;
}

/* Position of the odometer, in visits since its base value, at the start of a look-ahead. */
static double position(const struct odometer *odometer, uint64_t value, uint64_t accesses)
{
    return odometer_visits(odometer, odometer->base_value, value) -
           (double)accesses / odometer->accesses_per_visit;
}

/* Starts an odometer reading from the loops just seen; false: none that runs long enough. */
static bool start_odometer(struct thread *thread, uint64_t app_now, uint64_t explored)
{
    struct rate_reading *rate = &thread->rate;
    struct odometer odometer;
    const struct loop_head *head = loops_odometer(&thread->loops, &odometer);
    double per_visit_ns, left_ns, wanted_ns;

    if (!head)
        return false;
    per_visit_ns = odometer.accesses_per_visit / rate_guess(thread);
    wanted_ns = 2 * probe_ns + (double)explored / rate_guess(thread);
    /* A word of the frame cannot be moved ahead; such code is slow, and a loop that ends meanwhile
     * shows in the comparison of the two stretches. */
    left_ns = odometer.address
                  ? wanted_ns
                  : per_visit_ns *
                        visits_left(thread, head, &odometer, wanted_ns / per_visit_ns + 2);
    left_ns -= (double)explored / rate_guess(thread);
    if (left_ns < 2 * probe_min_ns)
        return false;
    rate->explored = explored;
    rate->attempts = 0;
    rate->odometer = odometer;
    rate->phase = RATE_PROBING;
    rate->probes = 1;
    rate->position[0] = position(&odometer, odometer.base_value, odometer.accesses);
    rate->time[0] = app_now;
    rate->step_ns[0] = probe_min_ns;
    rate->step_ns[1] = left_ns / 2 < probe_ns ? left_ns / 2 : probe_ns;
    return true;
}

/* What was found at this depth misled or was not enough: an outer loop may serve. */
static void look_deeper(struct thread *thread)
{
    thread->rate_depth *= 3;
    if (thread->rate_depth > DEPTH_MAX)
        thread->rate_depth = DEPTH_MAX;
}

static void finish_odometer(struct thread *thread)
{
    struct rate_reading *rate = &thread->rate;
    double visits[2], per_ns[2], accesses = 0;
    bool accepted = true;

    for (int i = 0; i < 2; i++) {
        visits[i] = rate->position[i + 1] - rate->position[i];
        per_ns[i] = visits[i] / (double)(rate->time[i + 1] - rate->time[i]);
        accepted &= visits[i] > 0;
    }
    /* A register that wrapped round, or another activation, moves unlike time does. The first
     * stretch runs on cold caches after our handler, hence the wide margin, and is not counted. */
    if (per_ns[0] < 0.6 * per_ns[1] || per_ns[0] > 1.4 * per_ns[1])
        accepted = false;
    if (!accepted)
        look_deeper(thread);
    if (visits[1] > 0)
        accesses = visits[1] * rate->odometer.accesses_per_visit;
    report(thread, RATE_ODOMETER, accepted, rate->odometer.head, rate->time[1], accesses,
           rate->time[2] - rate->time[1]);
    rate->phase = RATE_IDLE;
}

/*
 * Exploring has brought into the caches what the loop is about to use: what it does there tells
 * nothing of its pace. Puts the first probe off until it is through.
 */
static bool still_where_explored(struct rate_reading *rate)
{
    double visits = rate->position[1] - rate->position[0];
    double accesses = visits * rate->odometer.accesses_per_visit;
    double passed_ns = (double)(rate->time[1] - rate->time[0]);
    double left_ns;

    if (accesses >= (double)rate->explored || visits <= 0 || rate->attempts++ == ATTEMPTS_MAX)
        return false;
    left_ns = 1.1 * passed_ns * ((double)rate->explored / accesses - 1);
    rate->step_ns[0] = left_ns < probe_min_ns       ? probe_min_ns
                       : left_ns > probe_longest_ns ? probe_longest_ns
                                                    : left_ns;
    return true;
}

bool rate_probe(struct thread *thread, ucontext_t *context, uint64_t app_now)
{
    struct rate_reading *rate = &thread->rate;
    struct arrival arrival = {.odometer = &rate->odometer};
    uint64_t limit = (uint64_t)(2 * rate->odometer.accesses_per_visit) + 1024;
    bool arrived;

    if (rate->phase != RATE_PROBING)
        return false;
    if (!look_ahead_begin(thread, context)) {
        rate->phase = RATE_IDLE;
        return true;
    }
    arrived = run_to_head(thread, &arrival, limit);
    look_ahead_end(thread);
    if (!arrived) {
        rate->phase = RATE_IDLE;
        return true;
    }
    rate->position[rate->probes] = position(&rate->odometer, arrival.value, arrival.accesses);
    rate->time[rate->probes] = app_now;
    if (rate->probes == 1 && still_where_explored(rate))
        return true;
    if (++rate->probes == 3)
        finish_odometer(thread);
    return true;
}

bool rate_wants_clock(struct thread *thread, uint64_t *period)
{
    const struct rate_reading *rate = &thread->rate;

    if (rate->phase != RATE_PROBING)
        return false;
    *period = (uint64_t)rate->step_ns[rate->probes - 1];
    thread->rate.spent_ns += *period;
    return true;
}

/* ---- two predicted accesses ---- */

/* A candidate for timing: a word that has not been touched since the interruption. */
struct candidate {
    uint64_t address, ip, index;
};

static bool start_two_watches(struct thread *thread, const struct candidate candidates[2],
                              uint64_t app_now)
{
    struct rate_reading *rate = &thread->rate;

    if (watch_registers(thread) < 2)
        return false;
    for (unsigned i = 0; i < 2; i++) {
        rate->predicted_ip[i] = candidates[i].ip;
        rate->predicted_access[i] = candidates[i].index;
        if (!watch_take_for_timing(thread, i, candidates[i].address, app_now)) {
            watch_release_timing(thread, 0);
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

    watch_release_timing(thread, slot);
    if (!as_predicted) {
        rate_cancel(thread);
        return;
    }
    rate->time[slot] = app_now;
    if (++rate->reached < 2)
        return;
    uint64_t elapsed = rate->time[1] - rate->time[0];
    double accesses = (double)(rate->predicted_access[1] - rate->predicted_access[0]);
    /* Only our own two entries lie between: else the stretch was disturbed. */
    bool accepted = thread->events - rate->events <= 2 && (int64_t)elapsed > 0 &&
                    (double)elapsed >= two_watches_min_ns / 2;

    rate->phase = RATE_IDLE;
    report(thread, RATE_WATCH_AHEAD, accepted, 0, rate->time[0], accesses, elapsed);
    if ((int64_t)elapsed > 0 && (double)elapsed < two_watches_ns / 2 &&
        thread->rate_depth < DEPTH_MAX)
        thread->rate_depth *= 2;
}

void rate_cancel(struct thread *thread)
{
    struct rate_reading *rate = &thread->rate;

    if (rate->phase == RATE_TIMING_TWO)
        for (unsigned i = 0; i < 2; i++)
            watch_release_timing(thread, i);
    rate->phase = RATE_IDLE;
}

/* ---- when ---- */

/* Looks far ahead: loops for odometers, untouched words for timing. Returns the accesses seen. */
static uint64_t explore(struct thread *thread, uint64_t depth, bool track,
                        struct candidate candidates[2])
{
    enum interpreter_stop why;
    uint64_t seen = 0, started = thread_cpu_ns();

    unsigned batches = 0;
    double wanted = two_watches_ns * rate_guess(thread);

    candidates[0] = candidates[1] = (struct candidate){0};
    do {
        size_t n = look_ahead_next(thread, THREAD_BATCH, &why);

        for (size_t i = 0; track && i < n; i++) {
            const struct access *access = &thread->batch[i];

            if (!first_touch(access->address))
                continue;
            /* Far enough is enough: what lies further on only costs time. */
            if (candidates[0].address && candidates[1].address &&
                (double)(candidates[1].index - candidates[0].index) > wanted)
                continue;
            candidates[1] = (struct candidate){access->address, access->ip, seen + i};
            /* The stretch before the first of the two warms the caches up again. */
            if (!candidates[0].address && seen + i >= depth / 3)
                candidates[0] = candidates[1];
        }
        seen += n;
        if (++batches % EXPLORE_BATCHES == 0 && thread_cpu_ns() - started > EXPLORE_NS_MAX)
            break;
    } while (why == INTERPRETER_FULL && seen < depth);
    return seen;
}

void rate_consider(struct thread *thread, ucontext_t *context, uint64_t app_now, uint64_t loop)
{
    struct rate_reading *rate = &thread->rate;
    struct candidate candidates[2];
    uint64_t seen, started;
    bool track, busy;

    if (rate->phase != RATE_IDLE || thread->samples_to_rate-- > 0)
        return;
    thread->samples_to_rate = random_below(&thread->random, 2 * SAMPLES_BETWEEN);
    if (thread->rate_depth == 0)
        thread->rate_depth = DEPTH_FIRST;
    if (!governor_affords_rate(&thread->governor, app_now,
                               (uint64_t)(interpret_ns * thread->rate_depth)))
        return;
    started = thread_cpu_ns();
    if (!look_ahead_begin(thread, context))
        return;
    rate->loop = loop;
    track = first_touch_begin();
    seen = explore(thread, thread->rate_depth, track, candidates);
    if (track)
        first_touch_end();
    busy = start_odometer(thread, app_now, seen);
    look_ahead_end(thread);
    if (!busy && candidates[0].address &&
        (double)(candidates[1].index - candidates[0].index) >
            two_watches_min_ns * (thread->rate_per_ns > 0 ? thread->rate_per_ns : 0.5))
        busy = start_two_watches(thread, candidates, app_now);
    /* Nothing to hold on to at this depth: look further next time, for an outer loop. */
    if (!busy && seen >= thread->rate_depth)
        look_deeper(thread);
    thread->rate_cost_ns = thread_cpu_ns() - started;
}

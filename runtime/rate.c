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
    SAMPLES_BETWEEN = 4,
    FAILURES_MAX = 4,      /* of an odometer in a row before it is forgotten */
    EXPLORATIONS_MAX = 64, /* of one loop */
    ATTEMPTS_MAX = 4,
    /* An exploration that meets cache misses at every step must end some time. */
    EXPLORE_NS_MAX = 4 * 1000 * 1000,
    EXPLORE_BATCHES = 8, /* between looks at the clock */
};

/* Intervals that can be timed, in ns: the noise of a signal's entry is about half a microsecond. */
static const double probe_ns = 300e3, probe_min_ns = 40e3, probe_longest_ns = 5e6;
static const double two_watches_min_ns = 16e3, two_watches_ns = 40e3;
/* While nothing has been measured. */
static const double rate_unknown = 1.0;
/* Cost of one interpreted access, for budgeting; instructions without access included. */
static const double interpret_ns = 25;

static void odometer_judge(struct thread *thread, bool good);

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
    /* Even a reading too short to be reported tells the order of magnitude. */
    if ((accepted || thread->rate_per_ns == 0) && accesses > 0 && (int64_t)elapsed > 0) {
        double rate = accesses / (double)elapsed;

        thread->rate_per_ns =
            thread->rate_per_ns > 0 ? 0.7 * thread->rate_per_ns + 0.3 * rate : rate;
    }
}

/* ---- odometer ---- */

/* A look-ahead that waits for the visits of an odometer's loop head. */
struct chase {
    struct followed_odometer followed;
    struct interpreter *interpreter;
};

static void on_arrival(void *context, const struct interpreter *interpreter, uint64_t target,
                       uint64_t accesses)
{
    struct chase *chase = context;
    const struct odometer *odometer = chase->followed.odometer;
    struct interpreter_registers registers;
    uint64_t value;

    if (target != odometer->head)
        return;
    interpreter_get_registers(interpreter, &registers);
    if (registers.general[INTERPRETER_RSP] != odometer->stack_pointer)
        return;
    if (odometer->address) {
        if (!interpreter_peek(chase->interpreter, odometer->address, 4, &value))
            return;
    } else {
        if (interpreter_poisoned_registers(interpreter) >> odometer->register_number & 1)
            return;
        value = registers.general[odometer->register_number];
    }
    followed_arrival(&chase->followed, value, accesses);
}

static void on_condition(void *context, uint64_t ip, int64_t outcome)
{
    struct chase *chase = context;

    followed_condition(&chase->followed, ip, outcome);
}

/* Follows the odometer from the interruption on over so many arrivals; false if it went astray. */
static bool follow(struct thread *thread, const ucontext_t *context,
                   const struct odometer *odometer, unsigned arrivals, struct chase *chase)
{
    uint64_t limit = (uint64_t)((arrivals + 1) * odometer->accesses_per_visit) + 1024, seen = 0;
    enum interpreter_stop why;

    followed_begin(&chase->followed, odometer);
    if (!look_ahead_begin(thread, context))
        return false;
    chase->interpreter = thread->interpreter;
    look_ahead_hook(thread, on_arrival, on_condition, chase);
    do {
        seen += look_ahead_next(thread, THREAD_BATCH / 4, &why);
    } while (chase->followed.arrivals < arrivals && seen < limit && why == INTERPRETER_FULL);
    look_ahead_hook(thread, NULL, NULL, NULL);
    look_ahead_end(thread);
    return chase->followed.arrivals >= arrivals;
}

/* Where the odometer stood when the look-ahead began, in visits since its base value. */
static double position(const struct odometer *odometer, const struct followed_odometer *followed)
{
    return odometer_visits(odometer, odometer->base_value, followed->value[0]) -
           (double)followed->accesses[0] / odometer->accesses_per_visit;
}

/* Starts an odometer reading; false: the loop does not run long enough, or not as foreseen. */
static bool start_odometer(struct thread *thread, const ucontext_t *context,
                           const struct odometer *odometer, uint64_t app_now, uint64_t explored)
{
    struct rate_reading *rate = &thread->rate;
    double guess = rate_guess(thread), left_ns = 4 * probe_ns, left;
    struct chase chase;

    if (!follow(thread, context, odometer, FOLLOWED_ARRIVALS, &chase) ||
        !followed_is_steady(&chase.followed))
        return false;
    /* Where no end can be foreseen there is none of the kind that makes a register jump back; one
     * that comes all the same shows in the comparison of the two stretches. */
    left = followed_visits_left(&chase.followed);
    if (left > 0)
        left_ns = (left * followed_accesses_per_visit(&chase.followed) - (double)explored) / guess;
    if (left_ns < 2 * probe_min_ns)
        return false;
    rate->odometer = *odometer;
    rate->explored = explored;
    rate->attempts = 0;
    rate->phase = RATE_PROBING;
    rate->probes = 1;
    rate->position[0] = position(odometer, &chase.followed);
    rate->time[0] = app_now;
    rate->step_ns[0] = probe_min_ns;
    rate->step_ns[1] = left_ns / 2 < probe_ns ? left_ns / 2 : probe_ns;
    return true;
}

/* What was found at this depth misled or was not enough: an outer loop may serve. */
static void look_deeper(struct thread *thread)
{
    thread->rate_depth *= 2;
    if (thread->rate_depth > DEPTH_MAX)
        thread->rate_depth = DEPTH_MAX;
}

/* It was enough: the next loop may need less. */
static void look_nearer(struct thread *thread)
{
    thread->rate_depth -= thread->rate_depth / 4;
    if (thread->rate_depth < DEPTH_FIRST)
        thread->rate_depth = DEPTH_FIRST;
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
    if (per_ns[0] < 0.5 * per_ns[1] || per_ns[0] > 1.4 * per_ns[1])
        accepted = false;
    odometer_judge(thread, accepted);
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
    struct chase chase;

    if (rate->phase != RATE_PROBING)
        return false;
    if (!follow(thread, context, &rate->odometer, 1, &chase)) {
        odometer_judge(thread, false);
        rate->phase = RATE_IDLE;
        return true;
    }
    rate->position[rate->probes] = position(&rate->odometer, &chase.followed);
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

/* ---- odometers known from earlier ---- */

static struct known_odometer *find_known(struct thread *thread, uint64_t loop)
{
    for (unsigned i = 0; i < THREAD_ODOMETERS; i++)
        if (thread->odometers[i].loop == loop && thread->odometers[i].uses > 0)
            return &thread->odometers[i];
    return NULL;
}

/* Remembers an odometer that exploring has found, in place of the least used one. */
static void remember(struct thread *thread, uint64_t loop, const struct odometer *odometer)
{
    struct known_odometer *place = find_known(thread, loop);

    for (unsigned i = 0; !place && i < THREAD_ODOMETERS; i++)
        if (thread->odometers[i].uses == 0)
            place = &thread->odometers[i];
    if (!place) {
        place = &thread->odometers[0];
        for (unsigned i = 1; i < THREAD_ODOMETERS; i++)
            if (thread->odometers[i].uses < place->uses)
                place = &thread->odometers[i];
    }
    if (place->loop == loop && place->uses > 0 && place->odometer.head == odometer->head &&
        place->odometer.register_number == odometer->register_number) {
        /* Visits differ: the mean over all explorations is what they cost in the long run. */
        place->explorations++;
        place->odometer.accesses_per_visit +=
            (odometer->accesses_per_visit - place->odometer.accesses_per_visit) /
            place->explorations;
        place->odometer.stack_pointer = odometer->stack_pointer;
        place->odometer.address = odometer->address;
        return;
    }
    *place = (struct known_odometer){
        .loop = loop, .odometer = *odometer, .uses = 1, .explorations = 1};
}

/* A reading by a known odometer succeeded or failed; one that fails again and again is forgotten. */
static void odometer_judge(struct thread *thread, bool good)
{
    struct known_odometer *known = find_known(thread, thread->rate.loop);

    if (!known)
        return;
    if (good) {
        known->uses++;
        known->failures = 0;
    } else if (++known->failures >= FAILURES_MAX) {
        known->uses = 0;
        look_deeper(thread);
    }
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
                    (double)elapsed >= two_watches_min_ns;

    rate->phase = RATE_IDLE;
    report(thread, RATE_WATCH_AHEAD, accepted, 0, rate->time[0], accesses, elapsed);
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

/*
 * Looks far ahead: loops for odometers, untouched words for timing, both in thread->loops and
 * candidates. Returns the accesses seen.
 */
static uint64_t explore(struct thread *thread, uint64_t depth, bool track,
                        struct candidate candidates[2])
{
    enum interpreter_stop why;
    uint64_t seen = 0, started = thread_cpu_ns();
    double wanted = two_watches_ns * rate_guess(thread);
    unsigned batches = 0;

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

/* Explores, and starts whatever reading that allows. */
static void explore_and_start(struct thread *thread, ucontext_t *context, uint64_t app_now)
{
    struct rate_reading *rate = &thread->rate;
    struct candidate candidates[2];
    struct odometer odometer;
    uint64_t seen;
    bool track, found;

    if (!look_ahead_begin(thread, context))
        return;
    track = first_touch_begin();
    seen = explore(thread, thread->rate_depth, track, candidates);
    if (track)
        first_touch_end();
    look_ahead_end(thread);
    found = loops_odometer(&thread->loops, &odometer) != NULL;
    if (found && start_odometer(thread, context, &odometer, app_now, seen)) {
        remember(thread, rate->loop, &odometer);
        look_nearer(thread);
        return;
    }
    if (candidates[0].address) {
        double apart_ns =
            (double)(candidates[1].index - candidates[0].index) / rate_guess(thread);

        if (apart_ns > two_watches_min_ns / 2 && start_two_watches(thread, candidates, app_now) &&
            apart_ns > two_watches_min_ns)
            return;
    }
    /* Too little to hold on to at this depth: look further next time. */
    if (seen >= thread->rate_depth)
        look_deeper(thread);
}

void rate_consider(struct thread *thread, ucontext_t *context, uint64_t app_now, uint64_t loop)
{
    struct rate_reading *rate = &thread->rate;
    const struct known_odometer *known;
    uint64_t started, expected;

    if (rate->phase != RATE_IDLE || thread->samples_to_rate-- > 0)
        return;
    thread->samples_to_rate = random_below(&thread->random, 2 * SAMPLES_BETWEEN);
    if (thread->rate_depth == 0)
        thread->rate_depth = DEPTH_FIRST;
    known = find_known(thread, loop);
    /* Now and then a known loop is explored again, for the mean length of its visits. */
    if (known && known->explorations < EXPLORATIONS_MAX && random_below(&thread->random, 8) == 0)
        known = NULL;
    expected = (uint64_t)(interpret_ns *
                          (known ? (FOLLOWED_ARRIVALS + 3) * known->odometer.accesses_per_visit
                                 : thread->rate_depth)) +
               2 * settings.trigger_ns;
    if (!governor_affords_rate(&thread->governor, app_now, expected)) {
        /* A look that will never be paid for is no use: nearer ones may be. */
        if (!known)
            look_nearer(thread);
        return;
    }
    started = thread_cpu_ns();
    rate->loop = loop;
    if (!known) {
        explore_and_start(thread, context, app_now);
    } else {
        struct odometer odometer = known->odometer;

        if (!start_odometer(thread, context, &odometer, app_now,
                            (uint64_t)(FOLLOWED_ARRIVALS * odometer.accesses_per_visit)))
            odometer_judge(thread, false);
    }
    thread->rate_cost_ns += thread_cpu_ns() - started;
}

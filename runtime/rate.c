/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "rate.h"

#include <math.h>
#include <stddef.h>

#include "first_touch.h"
#include "look_ahead.h"
#include "output.h"
#include "rate_internal.h"
#include "sampling/turn.h"
#include "settings.h"
#include "timebase.h"

#include "signal_safe.h"

enum {
    SAMPLES_BETWEEN = 4,  /* mean number of samples from one try to the next, if it can be paid */
    REEXPLORE_ONE_IN = 8, /* a known loop is explored again now and then, and at most so often: */
    EXPLORATIONS_MAX = 64,
    /* An exploration that meets cache misses at every step must end some time. */
    EXPLORE_NS_MAX = 4 * 1000 * 1000,
    EXPLORE_BATCHES = 8, /* between looks at the clock */
    TOUCHES = 32,        /* places that a stretch to be timed can begin at or end */
    SHORT_ONE_IN = 8,    /* of what is timed, the short stretch, and at most: */
    SHORT_AT_MOST_ONE_IN = 4,
    DIFFERENCE_MIN = 500, /* accesses that are timed, at least: even slow code makes them soon */
    SPACING_FIRST = 64,
    EXPLORED_MIN = 1000, /* accesses from which their cost can be told */
    /* Of the clock that times stretches, to half the cost of its signal, at least: that cost
       varies. */
    PERIOD_TO_TRIGGER = 3,
};

/* How far apart predicted accesses should be, and must be to be worth it, ns. */
static const double apart_ns = 40e3, apart_min_ns = 12e3;
/* Cost of one explored access until the thread's own has been measured. */
static const double explore_ns_guess = 25;

double rate_guess(const struct known_loop *known)
{
    return known->rate_per_ns > 0 ? known->rate_per_ns : 1;
}

double rate_known(const struct thread *thread, uint64_t loop)
{
    for (unsigned i = 0; i < THREAD_KNOWN_LOOPS; i++) {
        const struct known_loop *known = &thread->known_loops[i];

        if (known->depth > 0 && known->loop == loop && known->rate_per_ns > 0)
            return known->rate_per_ns;
    }
    return HUGE_VAL;
}

struct known_loop *rate_known_loop(struct thread *thread, uint64_t loop)
{
    struct known_loop *oldest = &thread->known_loops[0];

    for (unsigned i = 0; i < THREAD_KNOWN_LOOPS; i++) {
        struct known_loop *known = &thread->known_loops[i];

        if (known->depth > 0 && known->loop == loop) {
            known->last_use = thread->totals.samples;
            return known;
        }
        if (known->last_use < oldest->last_use)
            oldest = known;
    }
    if (thread->first_depth == 0)
        thread->first_depth = DEPTH_FIRST;
    *oldest = (struct known_loop){
        .loop = loop, .depth = thread->first_depth, .last_use = thread->totals.samples};
    return oldest;
}

void rate_look_deeper(struct thread *thread, struct known_loop *known)
{
    known->depth = known->depth < DEPTH_MAX / 2 ? 2 * known->depth : DEPTH_MAX;
    /* Programs of many loops seldom come back to one: the next starts from what this one needed. */
    thread->first_depth = (thread->first_depth + known->depth) / 2;
}

void rate_report(struct thread *thread, const struct rate_result *result)
{
    struct known_loop *known = rate_known_loop(thread, thread->rate.loop);
    bool sane = result->accesses > 0 && result->elapsed_ns > 0;
    struct record_rate record = {
        .thread_id = thread->id,
        .method = (uint8_t)result->method,
        .accepted = result->accepted,
        .flags = result->unproven ? RATE_UNPROVEN : 0,
        .loop = thread->rate.loop,
        .head = result->head,
        .monotonic_ns = monotonic_ns(),
        .app_ns = result->start,
        .accesses = result->accesses > 0 ? (uint64_t)(result->accesses + 0.5) : 0,
        .elapsed_ns = result->elapsed_ns > 0 ? (uint64_t)result->elapsed_ns : 0,
        .loss_ns = (int64_t)result->loss_ns,
    };

    output_append(RECORD_RATE, &record, sizeof record, NULL, 0);
    /* Traps too close to count tell the order of magnitude all the same; an odometer that was set
     * back tells nothing. */
    if (sane &&
        (result->accepted || (known->rate_per_ns == 0 && result->method == RATE_WATCH_AHEAD))) {
        double rate = result->accesses / result->elapsed_ns;

        known->readings += result->accepted;
        known->rate_per_ns = known->rate_per_ns > 0 ? 0.7 * known->rate_per_ns + 0.3 * rate : rate;
    }
}

bool rate_probe(struct thread *thread, ucontext_t *context, uint64_t app_now)
{
    if (thread->rate.phase != RATE_PROBING)
        return false;
    rate_odometer_probe(thread, context, app_now);
    return true;
}

bool rate_wants_clock(struct thread *thread, uint64_t *period)
{
    struct rate_reading *rate = &thread->rate;

    if (rate->phase != RATE_PROBING)
        return false;
    /* The clock runs from here on, and half of what a signal costs comes before the program goes
     * on. One that expires before that gives no signal, and the next comes a whole period later. */
    *period = (uint64_t)rate->step_ns[rate->probes - 1] + settings.trigger_ns / 2;
    if (*period < PERIOD_TO_TRIGGER * settings.trigger_ns / 2)
        *period = PERIOD_TO_TRIGGER * settings.trigger_ns / 2;
    rate->spent_ns += *period;
    return true;
}

void rate_cancel(struct thread *thread)
{
    if (thread->rate.phase == RATE_AWAITING)
        rate_watches_cancel(thread);
    thread->rate.phase = RATE_IDLE;
}

/*
 * First touches seen while exploring, evenly spread over what has been seen so far: when they are
 * full every other one is dropped. How far one can look is known only at the end.
 */
struct touches {
    struct candidate items[TOUCHES];
    unsigned count;
    uint64_t spacing; /* accesses from one to the next, at least */
};

static void note_touch(struct touches *touches, struct candidate touch)
{
    if (touches->count && touch.index - touches->items[touches->count - 1].index < touches->spacing)
        return;
    if (touches->count == TOUCHES) {
        for (unsigned i = 1; 2 * i < TOUCHES; i++)
            touches->items[i] = touches->items[2 * i];
        touches->count = TOUCHES / 2;
        touches->spacing *= 2;
    }
    touches->items[touches->count++] = touch;
}

/*
 * The last touch, the latest before it that is `wanted` accesses away, and one soon after that, for
 * a short stretch beside the long one; the first third is left out, because it warms the caches up
 * again after our handler. False where too little is left for a difference of the two.
 */
static bool choose_places(const struct touches *touches, double wanted,
                          struct candidate chosen[RATE_PLACES])
{
    const struct candidate *items = touches->items;
    unsigned last = touches->count - 1, first = 0, middle;
    uint64_t whole, brief;

    if (touches->count < RATE_PLACES)
        return false;
    while (first + 2 < last && items[first].index < items[last].index / 3)
        first++;
    while (first + 2 < last && (double)(items[last].index - items[first + 1].index) >= wanted)
        first++;
    whole = items[last].index - items[first].index;
    middle = first + 1;
    while (middle + 1 < last && (items[middle].index - items[first].index) * SHORT_ONE_IN < whole)
        middle++;
    brief = items[middle].index - items[first].index;
    chosen[0] = items[first];
    chosen[1] = items[middle];
    chosen[2] = items[last];
    return whole >= DIFFERENCE_MIN && brief * SHORT_AT_MOST_ONE_IN <= whole;
}

/*
 * Looks far ahead: loops for odometers, untouched words for timing, in thread->loops and touches,
 * which end where the thread would wait for another one: how many accesses it makes there is not to
 * be foreseen. Returns the accesses seen.
 */
static uint64_t explore(struct thread *thread, const struct known_loop *known, bool track,
                        struct touches *touches)
{
    enum interpreter_stop why;
    uint64_t seen = 0, started = thread_cpu_ns();
    unsigned batches = 0;
    struct standstill standstill = {0};
    bool may_wait = thread_alive_count() > 1, waits = false;

    touches->count = 0;
    touches->spacing = SPACING_FIRST;
    do {
        size_t n = look_ahead_next(thread, THREAD_BATCH, &why);

        for (size_t i = 0; track && i < n && !waits; i++) {
            const struct access *access = &thread->batch[i];

            waits = may_wait && standstill_feed(&standstill, access);
            if (first_touch(access))
                note_touch(touches, (struct candidate){access->address, access->ip, seen + i});
        }
        seen += n;
        if (++batches % EXPLORE_BATCHES == 0 && thread_cpu_ns() - started > EXPLORE_NS_MAX)
            break;
    } while (why == INTERPRETER_FULL && seen < known->depth && !waits);
    if (seen >= EXPLORED_MIN) {
        double cost = (double)(thread_cpu_ns() - started) / (double)seen;
        double *known_cost = &thread->rate.explore_ns;

        *known_cost = *known_cost > 0 ? 0.5 * (*known_cost + cost) : cost;
    }
    return seen;
}

/* An odometer that exploring has found serves the loop from now on. */
static void remember(struct known_loop *known, const struct odometer *odometer)
{
    const struct odometer *old = &known->odometer;

    if (known->has_odometer && old->head == odometer->head &&
        old->register_number == odometer->register_number && !old->address == !odometer->address) {
        /* Visits differ: the mean over all explorations is what they cost in the long run. */
        double mean = old->accesses_per_visit, length = odometer->accesses_per_visit;

        mean += (length - mean) / ++known->explorations;
        known->squared_lengths += length * length;
        known->odometer = *odometer;
        known->odometer.accesses_per_visit = mean;
        /* Visits too uneven for their mean to be known, though each exploration found them even:
         * the long ones are those that no exploration can see three of. */
        known->uneven = !loops_length_is_known(mean, known->squared_lengths, known->explorations);
        return;
    }
    known->has_odometer = true;
    known->explorations = 1;
    known->visits = 0;
    known->visit_accesses = 0;
    known->squared_lengths = odometer->accesses_per_visit * odometer->accesses_per_visit;
    known->odometer = *odometer;
}

/*
 * What the first and the last should be apart at least, ns at the pace that is known or guessed.
 * What ended an exploration early (more stores than can be kept, a system call) will end the next
 * one, too: where nothing is known of the pace either, a guess at it must not prevent the only
 * readings that there can be. They will tell if they were too short.
 */
static double least_apart(const struct known_loop *known, uint64_t seen,
                          const struct candidate chosen[RATE_PLACES])
{
    bool only_chance = seen < known->depth && known->rate_per_ns <= 0 &&
                       chosen[2].index - chosen[0].index >= EXPLORED_MIN;

    return only_chance ? 0 : apart_min_ns / 4;
}

/* Explores, and starts whatever reading that allows. */
static void explore_and_start(struct thread *thread, ucontext_t *context, uint64_t app_now,
                              struct known_loop *known)
{
    struct touches touches;
    struct candidate chosen[RATE_PLACES];
    struct odometer odometer;
    uint64_t seen;
    double apart = 0;
    bool track;

    if (!look_ahead_begin(thread, context))
        return;
    track = first_touch_begin();
    seen = explore(thread, known, track, &touches);
    if (track)
        first_touch_end();
    look_ahead_end(thread);
    if (!known->uneven && loops_odometer(&thread->loops, seen, &odometer)) {
        uint64_t explored = seen > thread->window.seen ? seen : thread->window.seen;

        if (rate_odometer_start(thread, context, &odometer, true, app_now, explored)) {
            remember(known, &odometer);
            return;
        }
        known->test_step = 0;
    }
    if (choose_places(&touches, apart_ns * rate_guess(known), chosen))
        apart = (double)(chosen[2].index - chosen[0].index) / rate_guess(known);
    /* Where nothing is known of the pace, the reading itself will tell if it was too short. */
    if (apart > 0 && apart > least_apart(known, seen, chosen) &&
        rate_watches_start(thread, chosen, app_now) &&
        (apart > apart_min_ns || known->rate_per_ns == 0))
        return;
    /* Too little to hold on to at this depth: look further next time. */
    if (seen >= known->depth)
        rate_look_deeper(thread, known);
}

void rate_consider(struct thread *thread, ucontext_t *context, uint64_t app_now, uint64_t loop)
{
    struct rate_reading *rate = &thread->rate;
    struct known_loop *known;
    double explore_ns = rate->explore_ns > 0 ? rate->explore_ns : explore_ns_guess;
    uint64_t started, expected;
    bool by_odometer;

    if (rate->phase != RATE_IDLE || thread->samples_to_rate-- > 0)
        return;
    thread->samples_to_rate = random_below(&thread->random, 2 * SAMPLES_BETWEEN);
    known = rate_known_loop(thread, loop);
    by_odometer = known->has_odometer && !known->uneven &&
                  (known->explorations >= EXPLORATIONS_MAX ||
                   random_below(&thread->random, REEXPLORE_ONE_IN) != 0);
    expected = 2 * settings.trigger_ns +
               (uint64_t)(explore_ns *
                          (by_odometer ? 3 * known->odometer.accesses_per_visit : known->depth));
    if (!governor_affords_rate(&thread->governor, app_now, expected))
        return;
    started = thread_cpu_ns();
    rate->loop = loop;
    if (by_odometer) {
        struct odometer odometer = known->odometer;

        rate_odometer_start(thread, context, &odometer, false, app_now, thread->window.seen);
    } else {
        explore_and_start(thread, context, app_now, known);
    }
    thread->rate_cost_ns += thread_cpu_ns() - started;
}

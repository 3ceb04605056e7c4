/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "rate.h"

#include <stddef.h>

#include "first_touch.h"
#include "look_ahead.h"
#include "output.h"
#include "rate_internal.h"
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
};

/* How far apart two predicted accesses should be, and must be to be worth it, ns. */
static const double apart_ns = 40e3, apart_min_ns = 12e3;
/* Cost of one interpreted access until the thread's own has been measured. */
static const double interpret_ns = 25;

double rate_guess(const struct known_loop *known)
{
    return known->rate_per_ns > 0 ? known->rate_per_ns : 1;
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

void rate_report(struct thread *thread, enum rate_method method, bool accepted, uint64_t head,
                 uint64_t start, double accesses, uint64_t elapsed)
{
    struct known_loop *known = rate_known_loop(thread, thread->rate.loop);
    bool sane = accesses > 0 && (int64_t)elapsed > 0;
    struct record_rate record = {
        .thread_id = thread->id,
        .method = (uint8_t)method,
        .accepted = accepted,
        .loop = thread->rate.loop,
        .head = head,
        .monotonic_ns = monotonic_ns(),
        .app_ns = start,
        .accesses = (uint64_t)(accesses + 0.5),
        .elapsed_ns = (int64_t)elapsed > 0 ? elapsed : 0,
    };

    output_append(RECORD_RATE, &record, sizeof record, NULL, 0);
    /* Two traps too close to count tell the order of magnitude all the same; an odometer that was
     * set back tells nothing. */
    if (sane && (accepted || (known->rate_per_ns == 0 && method == RATE_WATCH_AHEAD))) {
        double rate = accesses / (double)elapsed;

        known->readings += accepted;
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
    *period = (uint64_t)rate->step_ns[rate->probes - 1];
    rate->spent_ns += *period;
    return true;
}

void rate_cancel(struct thread *thread)
{
    if (thread->rate.phase == RATE_TIMING_TWO)
        rate_watches_cancel(thread);
    thread->rate.phase = RATE_IDLE;
}

/*
 * Looks far ahead: loops for odometers, untouched words for timing, in thread->loops and
 * candidates. Returns the accesses seen.
 */
static uint64_t explore(struct thread *thread, const struct known_loop *known, bool track,
                        struct candidate candidates[2])
{
    enum interpreter_stop why;
    uint64_t seen = 0, started = thread_cpu_ns();
    double wanted = apart_ns * (known->rate_per_ns > 0 ? known->rate_per_ns : 2);
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
            if (!candidates[0].address && seen + i >= known->depth / 3)
                candidates[0] = candidates[1];
        }
        seen += n;
        if (++batches % EXPLORE_BATCHES == 0 && thread_cpu_ns() - started > EXPLORE_NS_MAX)
            break;
    } while (why == INTERPRETER_FULL && seen < known->depth);
    return seen;
}

/* An odometer that exploring has found serves the loop from now on. */
static void remember(struct known_loop *known, const struct odometer *odometer)
{
    const struct odometer *old = &known->odometer;

    if (known->has_odometer && old->head == odometer->head &&
        old->register_number == odometer->register_number && !old->address == !odometer->address) {
        /* Visits differ: the mean over all explorations is what they cost in the long run. */
        double mean = old->accesses_per_visit;

        mean += (odometer->accesses_per_visit - mean) / ++known->explorations;
        known->odometer = *odometer;
        known->odometer.accesses_per_visit = mean;
        return;
    }
    known->has_odometer = true;
    known->explorations = 1;
    known->odometer = *odometer;
}

/* Explores, and starts whatever reading that allows. */
static void explore_and_start(struct thread *thread, ucontext_t *context, uint64_t app_now,
                              struct known_loop *known)
{
    struct candidate candidates[2];
    struct odometer odometer;
    uint64_t seen;
    double apart;
    bool track;

    if (!look_ahead_begin(thread, context))
        return;
    track = first_touch_begin();
    seen = explore(thread, known, track, candidates);
    if (track)
        first_touch_end();
    look_ahead_end(thread);
    if (loops_odometer(&thread->loops, &odometer)) {
        uint64_t explored = seen > thread->window.seen ? seen : thread->window.seen;

        if (rate_odometer_start(thread, context, &odometer, true, app_now, explored)) {
            remember(known, &odometer);
            return;
        }
        known->test_step = 0;
    }
    apart = candidates[0].address
                ? (double)(candidates[1].index - candidates[0].index) / rate_guess(known)
                : 0;
    if (apart > apart_min_ns / 4 && rate_watches_start(thread, candidates, app_now) &&
        apart > apart_min_ns)
        return;
    /* Too little to hold on to at this depth: look further next time. */
    if (seen >= known->depth)
        rate_look_deeper(thread, known);
}

void rate_consider(struct thread *thread, ucontext_t *context, uint64_t app_now, uint64_t loop)
{
    struct rate_reading *rate = &thread->rate;
    struct known_loop *known;
    uint64_t started, expected;
    bool by_odometer;

    if (rate->phase != RATE_IDLE || thread->samples_to_rate-- > 0)
        return;
    thread->samples_to_rate = random_below(&thread->random, 2 * SAMPLES_BETWEEN);
    known = rate_known_loop(thread, loop);
    by_odometer = known->has_odometer && (known->explorations >= EXPLORATIONS_MAX ||
                                          random_below(&thread->random, REEXPLORE_ONE_IN) != 0);
    expected = 2 * settings.trigger_ns +
               (uint64_t)(interpret_ns *
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

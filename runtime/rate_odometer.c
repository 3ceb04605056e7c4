/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include <math.h>
#include <stddef.h>

#include "look_ahead.h"
#include "rate_internal.h"
#include "sampling/odometer.h"
#include "sampling/stretches.h"
#include "settings.h"

#include "signal_safe.h"

enum {
    ATTEMPTS_MAX = 4,   /* to get past what was explored */
    FAILURES_MAX = 4,   /* of an odometer in a row before it is forgotten */
    ARRIVALS_KNOWN = 2, /* enough where the test that ends the loop is known */
    ARRIVALS_PROOF = 3,
    PROOF_ACCESSES = 2000, /* visits shorter than this are proved again at every look */
    LOOKS = 4,             /* of which the first stretch does not count */
    LONG_TO_SHORT = 3,     /* of the two others, if that leaves the short one long enough */
    JUMPS_MAX = 2,         /* of a register that does not step after all */
    EXPLORED_VISITS = 3, /* that the length known from exploring counts as until others are seen */
    VISITS_REMEMBERED = 48,
};

/* Planned lengths, ns of app time: the noise of a signal's entry is about half a microsecond, the
 * first tens of microseconds after our handler run on cold caches. */
static const double accesses_per_ns_usual = 4;
static const double probe_ns = 1000e3, probe_min_ns = 60e3, probe_longest_ns = 5e6;
/* Where a loop ends sooner, a stretch may be as short as this; what two need to be worth it; and
 * what must be left at the start, so that there will be twice as much when they begin. */
static const double probe_least_ns = 10e3, pair_least_ns = 30e3, start_least_ns = 50e3;

/* Code that has to refill its caches after our handler may be this much slower than otherwise, over
 * the shortest stretch. */
#define COLD_PACE 0.3
/* What a stretch loses is not more than this share of what a signal costs, nor less than nothing by
 * more. */
#define LOSS_MAX_SHARE 0.5
/* Half of what a loop has left is timed at most, so this much longer is still within it. */
#define LATE 1.5

/* Few visits in a row may be longer or shorter than the mean by this, of ln, or by what visits are
 * known to scatter by. */
#define VISITS_DIFFER 0.22

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
    const uint64_t *general;
    uint64_t value;

    if (target != odometer->head)
        return;
    general = interpreter_general(interpreter);
    if (general[INTERPRETER_STACK_POINTER] != odometer->stack_pointer)
        return;
    if (odometer->address) {
        if (!interpreter_peek(chase->interpreter, odometer->address, 4, &value))
            return;
    } else {
        if (interpreter_poisoned_registers(interpreter) >> odometer->register_number & 1)
            return;
        value = general[odometer->register_number];
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
    uint64_t limit = rate_known_loop(thread, thread->rate.loop)->depth +
                     (uint64_t)((arrivals + 1) * odometer->accesses_per_visit);
    uint64_t seen = 0;
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

/*
 * Exploring finds odometers of which it sees three visits: where visits differ, those are short
 * ones. The visits that follow a look are not chosen by their lengths, whether these are as
 * expected or not. Lengths may change as a program goes on, so the latest count.
 */
static void learn_length(struct known_loop *known, const struct followed_odometer *followed)
{
    if (!followed_is_steady(followed))
        return;
    if (known->visits > VISITS_REMEMBERED) {
        known->visit_accesses *= VISITS_REMEMBERED / known->visits;
        known->visits = VISITS_REMEMBERED;
    }
    known->visits += followed->arrivals - 1;
    known->visit_accesses +=
        (double)(followed->accesses[followed->arrivals - 1] - followed->accesses[0]);
}

static double accesses_per_visit(const struct known_loop *known, const struct odometer *odometer)
{
    double explored = known->visits < EXPLORED_VISITS ? EXPLORED_VISITS - known->visits : 0;

    return (explored * odometer->accesses_per_visit + known->visit_accesses) /
           (explored + known->visits);
}

/* A reading by the loop's odometer succeeded or failed. */
static void judge(struct thread *thread, struct known_loop *known, bool good)
{
    if (good) {
        known->failures = 0;
    } else if (++known->failures >= FAILURES_MAX) {
        known->failures = 0;
        known->has_odometer = false;
        rate_look_deeper(thread, known);
    }
}

/* How fast the loop may run: a loop thought slower than it is would end in the middle of a reading.
 * A first stretch that turns out faster puts that right, if the loop lasts as long. */
static double pace_at_most(const struct known_loop *known)
{
    return known->readings > 0 ? 1.5 * known->rate_per_ns : accesses_per_ns_usual;
}

/*
 * For how long the loop may be timed: as long as wanted, or half of what it has left at the pace of
 * the first stretch, which is slow rather than fast. That one may also seem too short by what a
 * signal costs less than calibrated.
 */
static double timed_ns(const struct rate_reading *rate)
{
    double passed = (rate->position[1] - rate->position[0]) * rate->odometer.accesses_per_visit;
    double elapsed = (double)(int64_t)(rate->time[1] - rate->time[0]);
    double doubt = LOSS_MAX_SHARE * (double)settings.trigger_ns / 2, left_ns;

    if (rate->unproven || passed <= 0)
        return probe_ns;
    left_ns = 0.5 * (rate->accesses_left / passed - 1) * (fmax(elapsed, 0) + doubt);
    return left_ns < probe_ns ? left_ns : probe_ns;
}

/* Visits left by the comparison that is known to end the loop; 0: it was not met. */
static double visits_left_by_known_test(const struct followed_odometer *followed,
                                        const struct known_loop *known)
{
    for (unsigned i = 0; known->test_step && i < followed->test_count; i++)
        if (followed->tests[i].ip == known->test_ip)
            return -(double)followed->tests[i].outcome[0] / (double)known->test_step;
    return 0;
}

bool rate_odometer_start(struct thread *thread, const ucontext_t *context,
                         struct odometer *odometer, bool fresh, uint64_t app_now, uint64_t explored)
{
    struct rate_reading *rate = &thread->rate;
    struct known_loop *known = rate_known_loop(thread, rate->loop);
    bool short_cut = !fresh && known->test_step != 0;
    unsigned arrivals = short_cut ? ARRIVALS_KNOWN : FOLLOWED_ARRIVALS;
    double left_ns = 4 * probe_ns, left;
    struct chase chase;

    /* An activation of its own: the stack pointer is whatever it is in this one. */
    if (!follow(thread, context, odometer, arrivals, &chase) ||
        !followed_is_steady(&chase.followed)) {
        judge(thread, known, false);
        return false;
    }
    if (!fresh)
        learn_length(known, &chase.followed);
    if (explored < chase.followed.accesses[arrivals - 1])
        explored = chase.followed.accesses[arrivals - 1];
    left = short_cut ? visits_left_by_known_test(&chase.followed, known)
                     : followed_visits_left(&chase.followed, &known->test_ip, &known->test_step);
    /* Where no end can be foreseen there is none of the kind that makes a register jump back. But
     * then nothing says either that the register counts visits: a pointer to what was allocated
     * last steps as evenly for a while. Such an odometer must prove itself at each probe. */
    rate->unproven = left <= 0;
    if (left > 0)
        left_ns = (left * odometer->accesses_per_visit - (double)explored) / pace_at_most(known);
    if (left_ns < start_least_ns)
        return false;
    rate->accesses_left = left * odometer->accesses_per_visit;
    rate->odometer = *odometer;
    rate->explored = explored;
    rate->attempts = 0;
    rate->phase = RATE_PROBING;
    rate->probes = 1;
    rate->position[0] = position(odometer, &chase.followed);
    rate->time[0] = app_now;
    rate->step_ns[0] = left_ns < 4 * probe_min_ns ? left_ns / 4 : probe_min_ns;
    return true;
}

/*
 * The stretches to be timed; false: the loop ends too soon. That should be rare: it is the fast
 * ones that would be given up, and the mean of the others would be low.
 */
static bool plan(struct rate_reading *rate)
{
    double left_ns = timed_ns(rate), brief_ns = left_ns / (1 + LONG_TO_SHORT);

    if (left_ns < pair_least_ns)
        return false;
    rate->step_ns[1] = fmin(fmax(brief_ns, probe_least_ns), probe_min_ns);
    rate->step_ns[2] = left_ns - rate->step_ns[1];
    return true;
}

static struct stretch stretch_of(const struct rate_reading *rate, unsigned i)
{
    return (struct stretch){.visits = rate->position[i + 1] - rate->position[i],
                            .ns = (double)(int64_t)(rate->time[i + 1] - rate->time[i])};
}

/* A register that jumped back, or another activation, moves unlike time does. The first stretch
 * goes through what was explored. */
static bool as_fast_at_first(const struct rate_reading *rate, double ns_per_visit)
{
    struct stretch first = stretch_of(rate, 0);
    bool warmed = !rate->unproven &&
                  first.visits * rate->odometer.accesses_per_visit < 4 * (double)rate->explored;

    return stretch_is_plausible(first, ns_per_visit, 1 / COLD_PACE, warmed ? 20 : 1.4,
                                LOSS_MAX_SHARE * (double)settings.trigger_ns);
}

/* What a long stretch has more than a short one. */
static bool timed(const struct rate_reading *rate, struct stretch *out, double *lost)
{
    struct stretch brief = stretch_of(rate, 1), lengthy = stretch_of(rate, 2);
    double ns_per_visit = stretches_ns_per_visit(brief, lengthy);

    *out = (struct stretch){lengthy.visits - brief.visits, lengthy.ns - brief.ns};
    *lost = stretch_loss(brief, lengthy);
    /* Clocks that came late may have made the short stretch as long as the long one. */
    return ns_per_visit > 0 && out->ns >= (rate->step_ns[2] - rate->step_ns[1]) / 2 &&
           as_fast_at_first(rate, ns_per_visit) &&
           stretch_is_plausible(brief, ns_per_visit, 1 / COLD_PACE, 1.4,
                                LOSS_MAX_SHARE * (double)settings.trigger_ns);
}

static void finish(struct thread *thread)
{
    struct rate_reading *rate = &thread->rate;
    struct known_loop *known = rate_known_loop(thread, rate->loop);
    struct stretch difference;
    double lost;
    bool accepted = timed(rate, &difference, &lost);

    judge(thread, known, accepted);
    rate->phase = RATE_IDLE;
    rate_report(thread,
                &(struct rate_result){.method = RATE_ODOMETER,
                                      .unproven = rate->unproven,
                                      .accepted = accepted,
                                      .head = rate->odometer.head,
                                      .start = rate->time[1],
                                      .accesses = difference.visits *
                                                  accesses_per_visit(known, &rate->odometer),
                                      .elapsed_ns = difference.ns,
                                      .loss_ns = lost});
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

/*
 * Visits that a look follows. One is enough where visits are long and the loop's end is known;
 * short ones cost little to see whether the register really steps with them: a few in a row may
 * have been chance.
 */
static unsigned arrivals_of(const struct rate_reading *rate)
{
    if (rate->unproven)
        return ARRIVALS_PROOF;
    return rate->odometer.accesses_per_visit <= PROOF_ACCESSES ? ARRIVALS_KNOWN : 1;
}

/* It steps as before; and where nothing is known of its loop's end, visits are as long as before.
 */
static bool proves_itself(struct thread *thread, const struct followed_odometer *followed)
{
    const struct rate_reading *rate = &thread->rate;
    struct known_loop *known = rate_known_loop(thread, rate->loop);
    unsigned arrivals = arrivals_of(rate);
    double off, allowed;

    learn_length(known, followed);
    if (arrivals < 2)
        return true;
    if (!followed_is_steady(followed)) {
        known->uneven = ++known->jumps >= JUMPS_MAX;
        return false;
    }
    off = fabs(log(followed_accesses_per_visit(followed) / rate->odometer.accesses_per_visit));
    allowed = 2 * rate->odometer.deviation / sqrt(arrivals - 1);
    return !rate->unproven || off < fmax(VISITS_DIFFER, allowed);
}

void rate_odometer_probe(struct thread *thread, const ucontext_t *context, uint64_t app_now)
{
    struct rate_reading *rate = &thread->rate;
    struct chase chase;

    if (!follow(thread, context, &rate->odometer, arrivals_of(rate), &chase) ||
        !proves_itself(thread, &chase.followed)) {
        judge(thread, rate_known_loop(thread, rate->loop), false);
        rate->phase = RATE_IDLE;
        return;
    }
    rate->position[rate->probes] = position(&rate->odometer, &chase.followed);
    rate->time[rate->probes] = app_now;
    if (rate->probes == 1) {
        if (still_where_explored(rate))
            return;
        if (!plan(rate)) {
            rate->phase = RATE_IDLE;
            return;
        }
    }
    /* A clock that came much too late may have come after the loop's end, whatever its pace. */
    if (!rate->unproven && rate->probes > 1 &&
        (double)(app_now - rate->time[rate->probes - 1]) >
            LATE * rate->step_ns[rate->probes - 1] + probe_least_ns) {
        rate->phase = RATE_IDLE;
        return;
    }
    if (++rate->probes == LOOKS)
        finish(thread);
}

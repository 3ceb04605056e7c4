/* SPDX-License-Identifier: BSD-3-Clause */
/* Rates of loops that have few readings of their own, or none. */
#include <math.h>
#include <stdlib.h>

#include "analysis/loop_rates.h"
#include "analysis/open_cost.h"
#include "reuse/sort_keys.h"

/* Loops whose heads are this close are likely of one function. */
enum { NEIGHBOUR_BYTES = 4096 };
/* Spread of ln(rate) between loops of a program that leave as many lines open, and between
 * neighbours, before anything is known. */
#define BETWEEN_LOOPS 0.8
#define BETWEEN_NEIGHBOURS 0.6
/* Code that waits in the kernel is of another kind than what computes. */
#define BETWEEN_KINDS 1.2
/* What is known of a program before any reading, within a factor of ten: two instructions a cycle
 * at 3 GHz, one in three of which accesses memory. */
#define PRIOR_RATE 2.0
#define PRIOR_FACTOR 10.0
/* What moves on for long is more often found where the program does the same for long. Of ln(rate),
 * if no burst of a loop had a reading. */
#define UNREAD_DEVIATION 0.8
/* A system call, with the way in and out, takes from 0.1 us (the cheapest) to many (one that wakes
 * a thread, in a virtual machine): within a factor of ten. */
#define CALL_NS 1000.0
#define CALL_FACTOR 10.0

/* What is known of ln(rate), from independent pieces of evidence. */
struct rate_belief {
    double precision, sum; /* sum of precision * ln(rate) */
};

static void believe(struct rate_belief *belief, double per_ns, double deviation)
{
    double precision = 1 / (deviation * deviation);

    belief->precision += precision;
    belief->sum += precision * log(per_ns);
}

/* Averages over application time; loops that only readings name count as little time. */
struct average {
    double time, product;
    double squared_time; /* sum of squares: how many loops the average rests on */
    double common;       /* time times common deviation */
};

static void average_add(struct average *average, double time, const struct loop_rate *loop)
{
    average->time += time;
    average->product += time * loop->base;
    average->squared_time += time * time;
    average->common += time * loop->common_deviation;
}

static double average_of(const struct average *average)
{
    return average->product / average->time;
}

/* What is known of the rate of the program: its measured loops are some of many. */
static struct rate_belief program_belief(const struct average *all)
{
    struct rate_belief belief = {0};

    believe(&belief, PRIOR_RATE, log(PRIOR_FACTOR) / 1.96);
    if (all->time > 0)
        believe(&belief, average_of(all), BETWEEN_LOOPS * sqrt(all->squared_time) / all->time);
    return belief;
}

static void set_interval(struct loop_rate *loop, double value)
{
    double factor = exp(1.96 * hypot(loop->log_deviation, loop->common_deviation));

    loop->per_ns = (struct estimate){value, value / factor, value * factor};
}

/* The rate of a loop without readings of its own: that of its threads, as far as that is known. */
static void borrow(struct loop_rate *loop, const struct average *near, const struct average *far,
                   const struct average *all)
{
    struct rate_belief program = program_belief(all), belief = {0};
    double centre = program.sum / program.precision, common = sqrt(1 / program.precision);
    double shift = 0;
    bool calls = loop->call_ns > loop->time_ns / 2;
    double between = calls ? BETWEEN_KINDS : BETWEEN_LOOPS;

    /* The loop's threads may be faster or slower than all. */
    if (far->time > 0 && all->time > 0)
        shift = log(average_of(far) / average_of(all));
    believe(&belief, exp(centre + shift), between);
    if (calls)
        believe(&belief, loop->cost * loop->accesses_to_call / loop->call_ns / CALL_NS,
                log(CALL_FACTOR) / 1.96);
    if (near->time > 0)
        believe(&belief, average_of(near), BETWEEN_NEIGHBOURS);
    double rest = 1 / (between * between) / belief.precision;
    loop->log_deviation = sqrt(1 / belief.precision);
    loop->common_deviation = hypot(rest * common, all->time > 0 ? all->common / all->time : 0);
    set_interval(loop, exp(belief.sum / belief.precision) / loop->cost);
}

/* By how much bursts of a loop that have no reading may be in code unlike the rest; of ln(rate). */
static double unread(const struct loop_rate *loop)
{
    return loop->bursts > loop->readings
               ? UNREAD_DEVIATION * (1 - (double)loop->readings / (double)loop->bursts)
               : 0;
}

/* Loops with few readings lean on all others: empirical Bayes on ln(rate), where the weight of the
 * own readings follows from their error and from how much loops differ. */
static void lean(struct loop_rate *loop, const struct average *far)
{
    double own =
        loop->log_deviation * loop->log_deviation + loop->common_deviation * loop->common_deviation;
    double weight = BETWEEN_LOOPS * BETWEEN_LOOPS / (BETWEEN_LOOPS * BETWEEN_LOOPS + own);
    double shift = exp((1 - weight) * log(average_of(far) / loop->base));

    loop->per_ns.value *= shift;
    loop->log_deviation *= sqrt(weight);
    loop->common_deviation = hypot(loop->common_deviation * sqrt(weight), unread(loop));
    double factor = exp(1.96 * hypot(loop->log_deviation, loop->common_deviation));
    loop->per_ns.lo = fmin(loop->per_ns.lo, loop->per_ns.value / factor);
    loop->per_ns.hi = fmax(loop->per_ns.hi, loop->per_ns.value * factor);
}

static void neighbours(const struct loop_rates *rates, size_t index, struct average *average)
{
    const struct loop_rate *loop = &rates->loops[index];

    if (loop->loop == 0)
        return;
    for (int direction = -1; direction <= 1; direction += 2) {
        for (size_t i = index + (size_t)direction; i < rates->count; i += (size_t)direction) {
            const struct loop_rate *near = &rates->loops[i];
            uint64_t distance =
                near->loop > loop->loop ? near->loop - loop->loop : loop->loop - near->loop;
            if (near->profile != loop->profile || near->loop == 0 || distance > NEIGHBOUR_BYTES)
                break;
            if (near->measured)
                average_add(average, near->time_ns + 1, near);
        }
    }
}

/*
 * For every loop without readings: the mean of its threads' averages, by its time in each. Loops
 * that are measured make a thread's average. keys: of the bursts, by thread; loops: by burst.
 */
static void average_by_thread(const struct profile *profile, const struct sort_key *keys,
                              const uint32_t *loops, const struct loop_rates *rates,
                              struct average *of_loop)
{
    size_t n = profile->bursts.count;

    for (size_t i = 0, end; i < n; i = end) {
        struct average thread = {0};

        for (end = i; end < n && keys[end].key == keys[i].key; end++) {
            const struct loop_rate *loop = &rates->loops[loops[keys[end].index]];
            double time = (double)profile->bursts.items[keys[end].index]->weight_ns;

            if (loop->measured)
                average_add(&thread, time, loop);
        }
        for (size_t k = i; k < end && thread.time > 0; k++) {
            uint32_t loop = loops[keys[k].index];
            double time = (double)profile->bursts.items[keys[k].index]->weight_ns;

            if (rates->loops[loop].measured)
                continue;
            of_loop[loop].time += time;
            of_loop[loop].product += time * thread.product / thread.time;
        }
    }
}

static int averages_of_threads(const struct profile *profile, size_t p,
                               const struct loop_rates *rates, struct average *of_loop)
{
    size_t n = profile->bursts.count;
    struct sort_key *keys = malloc((2 * n + 1) * sizeof *keys);
    uint32_t *loops = malloc((n + 1) * sizeof *loops);
    int result = keys && loops ? 0 : -1;

    for (size_t i = 0; i < n && result == 0; i++) {
        const struct record_burst *burst = profile->bursts.items[i];

        keys[i] = (struct sort_key){burst->thread_id, (uint32_t)i};
        loops[i] = (uint32_t)loop_rates_find(rates, p, burst->loop);
    }
    if (result == 0)
        average_by_thread(profile, sort_keys(keys, keys + n, n), loops, rates, of_loop);
    free(keys);
    free(loops);
    return result;
}

/* What loops would make if they left no lines open: in these terms they are compared. */
static void set_bases(struct loop_rates *rates)
{
    struct open_cost_fit fit = {0};
    double exponent;

    for (size_t i = 0; i < rates->count; i++) {
        const struct loop_rate *loop = &rates->loops[i];

        if (loop->measured)
            open_cost_add(&fit, log(loop->per_ns.value), loop_rates_log_open(loop),
                          hypot(loop->log_deviation, BETWEEN_LOOPS));
    }
    exponent = open_cost_exponent(&fit, log(PRIOR_RATE), log(PRIOR_FACTOR) / 1.96);
    for (size_t i = 0; i < rates->count; i++) {
        struct loop_rate *loop = &rates->loops[i];

        loop->cost = exp(exponent * loop_rates_log_open(loop));
        loop->base = loop->per_ns.value * loop->cost;
    }
}

int loop_rates_fill_gaps(const struct profile *const *profiles, size_t profile_count,
                         struct loop_rates *rates)
{
    struct average all = {0};
    struct average *of_threads = calloc(rates->count + 1, sizeof *of_threads);

    if (!of_threads)
        return -1;
    set_bases(rates);
    for (size_t p = 0; p < profile_count; p++) {
        if (averages_of_threads(profiles[p], p, rates, of_threads)) {
            free(of_threads);
            return -1;
        }
    }
    for (size_t i = 0; i < rates->count; i++) {
        if (rates->loops[i].measured)
            average_add(&all, rates->loops[i].time_ns + 1, &rates->loops[i]);
    }
    /* Lean only after every average has been taken from the readings as they are. */
    struct average *near = calloc(rates->count + 1, sizeof *near);
    if (!near) {
        free(of_threads);
        return -1;
    }
    for (size_t i = 0; i < rates->count; i++)
        neighbours(rates, i, &near[i]);
    for (size_t i = 0; i < rates->count; i++) {
        const struct average *far = of_threads[i].time > 0 ? &of_threads[i] : &all;
        if (rates->loops[i].measured)
            lean(&rates->loops[i], &all);
        else
            borrow(&rates->loops[i], &near[i], far, &all);
    }
    free(near);
    free(of_threads);
    return 0;
}

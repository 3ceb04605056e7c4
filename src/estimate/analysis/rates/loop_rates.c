/* SPDX-License-Identifier: BSD-3-Clause */
#include "analysis/rates/loop_rates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rates/progress_rates.h"
#include "analysis/rates/rate_estimate.h"
#include "interpreter_stop.h"
#include "profile/probes.h"
#include "reuse/sort_keys.h"

/* Loops whose heads are this close are likely of one function. */
enum { NEIGHBOUR_BYTES = 4096, INSTRUCTION_BYTES_MAX = 15 };
/* Spread of ln(rate) between loops of a program, and between neighbours, before anything is known:
 * loops of real programs differ by factors of 100 (streams to pointer chases). */
#define BETWEEN_LOOPS 1.2
#define BETWEEN_NEIGHBOURS 0.6
/* Error of ln(rate) of readings that failed their own checks. Watches fail when they were short or
 * disturbed; odometers when they did not move evenly, and may then be off by any factor. */
#define REJECTED_WATCHES 0.5
#define REJECTED_ODOMETERS 1.0
/* What is known of a program before any reading, within a factor of ten: two instructions a cycle
 * at 3 GHz, one in three of which accesses memory. */
#define PRIOR_RATE 2.0
#define PRIOR_FACTOR 10.0
/* A system call, with the way in and out, takes from 0.1 us (the cheapest) to many (one that wakes
 * a thread, in a virtual machine): within a factor of ten. */
#define CALL_NS 1000.0
#define CALL_FACTOR 10.0
/* Noise of a reading's ends: the middle one of three counts twice, and each has 0.7 us. A time
 * that seems to be shorter, or nothing, may well be as long as that. */
#define ENDS_DEVIATION_NS 1700.0
enum { ACCESSES_LEAST = 200 };

static int compare_loops(const void *a, const void *b)
{
    const struct loop_rate *x = a, *y = b;

    if (x->profile != y->profile)
        return x->profile < y->profile ? -1 : 1;
    if (x->loop != y->loop)
        return x->loop < y->loop ? -1 : 1;
    return 0;
}

/* So few accesses take no longer than ends are uncertain by, whatever the code. */
static bool usable(const struct record_rate *reading)
{
    return reading->accesses >= ACCESSES_LEAST;
}

static void join(struct loop_rate *loop, const struct loop_rate *other)
{
    loop->time_ns += other->time_ns;
    loop->call_ns += other->call_ns;
    loop->accesses_to_call += other->accesses_to_call;
    if (other->low_ip < loop->low_ip)
        loop->low_ip = other->low_ip;
    if (other->high_ip > loop->high_ip)
        loop->high_ip = other->high_ip;
}

/* Loops are few and bursts many: most find the entry of their loop, and the list stays short. */
struct recent_loops {
    struct loop_rate *list;
    size_t count;
    size_t at[1024]; /* place in the list, by a hash of the loop */
};

static void add(struct recent_loops *loops, const struct loop_rate *loop)
{
    size_t *at = &loops->at[(loop->loop * UINT64_C(0x9e3779b97f4a7c15) >> 54)];

    if (*at < loops->count && compare_loops(&loops->list[*at], loop) == 0) {
        join(&loops->list[*at], loop);
        return;
    }
    *at = loops->count;
    loops->list[loops->count++] = *loop;
}

static struct loop_rate loop_of_burst(uint32_t profile, const struct record_burst *burst)
{
    struct loop_rate loop = {.profile = profile,
                             .loop = burst->loop,
                             .low_ip = UINT64_MAX,
                             .time_ns = (double)burst->weight_ns};
    struct probe_count counts[PROBE_COUNTS_MAX];
    size_t sizes[PROBE_LINE_SIZES];
    struct probe_decoder decoder;
    struct probe_group group;
    unsigned calls = burst->stops + (burst->stop == INTERPRETER_SYSTEM_CALL);

    probe_decoder_begin(&decoder, burst);
    while (probe_decode(&decoder, &group, counts, PROBE_COUNTS_MAX, sizes)) {
        loop.low_ip = group.ip < loop.low_ip ? group.ip : loop.low_ip;
        loop.high_ip = group.ip > loop.high_ip ? group.ip : loop.high_ip;
    }
    if (calls > 0) {
        loop.call_ns = loop.time_ns;
        loop.accesses_to_call = loop.time_ns * burst->accesses / calls;
    }
    return loop;
}

/* One entry per burst and per reading, sorted, then folded into one entry per loop. */
static int list_loops(const struct profile *const *profiles, size_t profile_count,
                      struct loop_rates *out)
{
    struct recent_loops listed = {0};
    size_t capacity = 1;

    for (size_t p = 0; p < profile_count; p++)
        capacity += profiles[p]->bursts.count + profiles[p]->samples.count +
                    profiles[p]->rates.count + profiles[p]->progress.count;
    struct loop_rate *loops = calloc(capacity, sizeof *loops);
    if (!loops)
        return -1;
    listed.list = loops;
    for (size_t p = 0; p < profile_count; p++) {
        for (size_t i = 0; i < profiles[p]->bursts.count; i++) {
            struct loop_rate loop = loop_of_burst((uint32_t)p, profiles[p]->bursts.items[i]);
            add(&listed, &loop);
        }
        /* Those of turns need not be a burst's. */
        for (size_t i = 0; i < profiles[p]->samples.count; i++)
            add(&listed, &(struct loop_rate){.profile = (uint32_t)p,
                                             .loop = profiles[p]->samples.items[i].loop,
                                             .low_ip = UINT64_MAX});
        for (size_t i = 0; i < profiles[p]->rates.count; i++) {
            const struct record_rate *reading = &profiles[p]->rates.items[i];
            if (usable(reading))
                add(&listed, &(struct loop_rate){.profile = (uint32_t)p,
                                                 .loop = reading->loop,
                                                 .low_ip = UINT64_MAX});
        }
        for (size_t i = 0; i < profiles[p]->progress.count; i++)
            add(&listed, &(struct loop_rate){.profile = (uint32_t)p,
                                             .loop = profiles[p]->progress.items[i].loop,
                                             .low_ip = UINT64_MAX});
    }
    size_t n = listed.count;
    qsort(loops, n, sizeof *loops, compare_loops);
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        if (count && compare_loops(&loops[count - 1], &loops[i]) == 0)
            join(&loops[count - 1], &loops[i]);
        else
            loops[count++] = loops[i];
    }
    struct loop_rate *fitted = realloc(loops, (count ? count : 1) * sizeof *loops);
    out->loops = fitted ? fitted : loops;
    out->count = count;
    return 0;
}

struct located_reading {
    size_t loop;
    bool accepted;
    struct rate_reading reading;
};

static int compare_located(const void *a, const void *b)
{
    const struct located_reading *x = a, *y = b;

    if (x->loop != y->loop)
        return x->loop < y->loop ? -1 : 1;
    if (x->accepted != y->accepted)
        return (int)y->accepted - (int)x->accepted;
    /* The methods of accepted readings are compared, those of rejected ones kept apart. */
    return x->accepted ? 0 : (int)x->reading.odometer - (int)y->reading.odometer;
}

static struct rate_reading judged_reading(const struct record_rate *record)
{
    double accesses = (double)record->accesses;
    bool odometer = record->method == RATE_ODOMETER;

    return (struct rate_reading){
        .per_ns =
            fmin(FASTEST_RATE, accesses / hypot((double)record->elapsed_ns, ENDS_DEVIATION_NS)),
        .odometer = odometer,
        .can_wrap = odometer && record->flags & RATE_UNPROVEN,
        .noise = ENDS_DEVIATION_NS / accesses,
    };
}

static struct rate_reading reading_by_progress(const struct progress_reading *progress)
{
    return (struct rate_reading){
        .per_ns = progress->per_ns,
        .odometer = true,
        .noise = ENDS_DEVIATION_NS / (progress->per_ns * progress->elapsed_ns),
        .deviation = progress->deviation,
    };
}

/* Those of one profile, added to n others. Returns all; -1: out of memory. */
static long locate_progress(const struct profile *profile, size_t p, const struct loop_rates *rates,
                            struct located_reading *located, long n)
{
    struct progress_reading *progress;
    long count = progress_rates(profile, &progress);

    for (long i = 0; i < count; i++)
        located[n++] = (struct located_reading){.loop = loop_rates_find(rates, p, progress[i].loop),
                                                .accepted = true,
                                                .reading = reading_by_progress(&progress[i])};
    free(progress);
    return count < 0 ? -1 : n;
}

static long locate_readings(const struct profile *const *profiles, size_t profile_count,
                            const struct loop_rates *rates, struct located_reading *located)
{
    long n = 0;

    for (size_t p = 0; p < profile_count; p++) {
        for (size_t i = 0; i < profiles[p]->rates.count; i++) {
            const struct record_rate *record = &profiles[p]->rates.items[i];
            if (!usable(record))
                continue;
            located[n].loop = loop_rates_find(rates, p, record->loop);
            located[n].accepted = record->accepted;
            located[n++].reading = judged_reading(record);
        }
        n = locate_progress(profiles[p], p, rates, located, n);
        if (n < 0)
            return -1;
    }
    qsort(located, (size_t)n, sizeof *located, compare_located);
    return n;
}

static void believe(struct rate_belief *belief, double per_ns, double deviation)
{
    double precision = 1 / (deviation * deviation);

    belief->precision += precision;
    belief->sum += precision * log(per_ns);
}

/* Accepted readings measure a loop; rejected ones are noted where there are no others. */
static int measure(const struct profile *const *profiles, size_t profile_count,
                   struct loop_rates *rates)
{
    size_t capacity = 1;

    for (size_t p = 0; p < profile_count; p++)
        capacity += profiles[p]->rates.count + profiles[p]->progress.count;
    struct located_reading *located = malloc(capacity * sizeof *located);
    struct rate_reading *readings = malloc(capacity * sizeof *readings);
    long located_count =
        located && readings ? locate_readings(profiles, profile_count, rates, located) : -1;
    if (located_count < 0) {
        free(located);
        free(readings);
        return -1;
    }
    size_t n = (size_t)located_count;
    for (size_t i = 0, end; i < n; i = end) {
        struct loop_rate *loop = &rates->loops[located[i].loop];
        for (end = i; end < n && compare_located(&located[end], &located[i]) == 0; end++)
            readings[end - i] = located[end].reading;
        struct rate_estimate estimate = rate_combine(readings, end - i);
        if (located[i].accepted) {
            loop->per_ns = estimate.per_ns;
            loop->log_deviation = estimate.log_deviation;
            loop->common_deviation = fmin(1, estimate.common_deviation);
            loop->readings = estimate.readings;
            loop->agreeing = estimate.agreeing;
            loop->measured = true;
            rates->any = true;
        } else {
            believe(&loop->rejected, estimate.per_ns.value,
                    hypot(estimate.log_deviation,
                          located[i].reading.odometer ? REJECTED_ODOMETERS : REJECTED_WATCHES));
        }
    }
    free(located);
    free(readings);
    return 0;
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
    average->product += time * loop->per_ns.value;
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
    struct rate_belief program = program_belief(all), belief = loop->rejected;
    double centre = program.sum / program.precision, common = sqrt(1 / program.precision);
    double shift = 0;

    /* The loop's threads may be faster or slower than all. */
    if (far->time > 0 && all->time > 0)
        shift = log(average_of(far) / average_of(all));
    believe(&belief, exp(centre + shift), BETWEEN_LOOPS);
    if (loop->call_ns > loop->time_ns / 2)
        believe(&belief, loop->accesses_to_call / loop->call_ns / CALL_NS, log(CALL_FACTOR) / 1.96);
    if (near->time > 0)
        believe(&belief, average_of(near), BETWEEN_NEIGHBOURS);
    double rest = 1 / (BETWEEN_LOOPS * BETWEEN_LOOPS) / belief.precision;
    loop->log_deviation = sqrt(1 / belief.precision);
    loop->common_deviation = hypot(rest * common, all->time > 0 ? all->common / all->time : 0);
    set_interval(loop, exp(belief.sum / belief.precision));
}

/* Loops with few readings lean on all others: empirical Bayes on ln(rate), where the weight of the
 * own readings follows from their error and from how much loops differ. */
static void lean(struct loop_rate *loop, const struct average *far)
{
    double own = loop->log_deviation * loop->log_deviation;
    double weight = BETWEEN_LOOPS * BETWEEN_LOOPS / (BETWEEN_LOOPS * BETWEEN_LOOPS + own);
    double shift = exp((1 - weight) * log(average_of(far) / loop->per_ns.value));

    loop->per_ns.value *= shift;
    loop->per_ns.lo = fmin(loop->per_ns.lo, loop->per_ns.value);
    loop->per_ns.hi = fmax(loop->per_ns.hi, loop->per_ns.value);
    loop->log_deviation *= sqrt(weight);
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

static int fill_gaps(const struct profile *const *profiles, size_t profile_count,
                     struct loop_rates *rates)
{
    struct average all = {0};
    struct average *of_threads = calloc(rates->count + 1, sizeof *of_threads);

    if (!of_threads)
        return -1;
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

/* Where time counts accesses there is one per unit of it. */
static void count_instead(const struct profile *const *profiles, struct loop_rates *rates)
{
    for (size_t i = 0; i < rates->count; i++) {
        struct loop_rate *loop = &rates->loops[i];

        if (!profile_counts_accesses(profiles[loop->profile]))
            continue;
        loop->per_ns = (struct estimate){1, 1, 1};
        loop->log_deviation = loop->common_deviation = 0;
        loop->measured = true;
    }
}

int loop_rates_create(const struct profile *const *profiles, size_t profile_count,
                      struct loop_rates *out)
{
    memset(out, 0, sizeof *out);
    out->refills = calloc(profile_count, sizeof *out->refills);
    if (!out->refills)
        return -1;
    for (size_t p = 0; p < profile_count; p++)
        out->refills[p] = refill_estimate(profiles[p]);
    if (list_loops(profiles, profile_count, out) || measure(profiles, profile_count, out) ||
        fill_gaps(profiles, profile_count, out)) {
        loop_rates_free(out);
        return -1;
    }
    count_instead(profiles, out);
    return 0;
}

void loop_rates_free(struct loop_rates *rates)
{
    free(rates->loops);
    free(rates->refills);
    memset(rates, 0, sizeof *rates);
}

size_t loop_rates_find(const struct loop_rates *rates, size_t profile, uint64_t loop)
{
    struct loop_rate key = {.profile = (uint32_t)profile, .loop = loop};
    const struct loop_rate *found =
        bsearch(&key, rates->loops, rates->count, sizeof key, compare_loops);

    return (size_t)(found - rates->loops);
}

bool loop_rates_contains(const struct loop_rate *loop, uint64_t ip)
{
    return ip >= loop->low_ip && ip <= loop->high_ip + INSTRUCTION_BYTES_MAX;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "analysis/loop_rates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/open_cost.h"
#include "analysis/progress_rates.h"
#include "analysis/rate_estimate.h"
#include "analysis/refill.h"
#include "isa/interpreter.h"
#include "profile/probes.h"

enum { INSTRUCTION_BYTES_MAX = 15 };
/* Noise of a reading's ends: the middle one of three counts twice, and each has 0.7 us. A time
 * that seems to be shorter, or nothing, may well be as long as that. */
#define ENDS_DEVIATION_NS 1700.0

static int compare_loops(const void *a, const void *b)
{
    const struct loop_rate *x = a, *y = b;

    if (x->profile != y->profile)
        return x->profile < y->profile ? -1 : 1;
    if (x->loop != y->loop)
        return x->loop < y->loop ? -1 : 1;
    return 0;
}

static void join(struct loop_rate *loop, const struct loop_rate *other)
{
    loop->time_ns += other->time_ns;
    loop->call_ns += other->call_ns;
    loop->accesses_to_call += other->accesses_to_call;
    loop->log_open += other->log_open;
    loop->bursts += other->bursts;
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
                             .time_ns = (double)burst->weight_ns,
                             .bursts = 1,
                             .log_open = (double)burst->weight_ns * open_cost_log(burst)};
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
        capacity +=
            profiles[p]->bursts.count + profiles[p]->samples.count + profiles[p]->progress.count;
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
    struct rate_reading reading;
};

static int compare_located(const void *a, const void *b)
{
    const struct located_reading *x = a, *y = b;

    return (x->loop > y->loop) - (x->loop < y->loop);
}

/* Those of one profile, added to n others. Returns all; -1: out of memory. */
static long locate_readings(const struct profile *profile, size_t p, const struct loop_rates *rates,
                            struct located_reading *located, long n)
{
    struct progress_reading *progress;
    long count = progress_rates(profile, &progress);

    for (long i = 0; i < count; i++)
        located[n++] = (struct located_reading){
            .loop = loop_rates_find(rates, p, progress[i].loop),
            .reading = {.per_ns = progress[i].per_ns,
                        .noise = ENDS_DEVIATION_NS / (progress[i].per_ns * progress[i].elapsed_ns),
                        .deviation = progress[i].deviation}};
    free(progress);
    return count < 0 ? -1 : n;
}

static void measure_loop(struct loop_rate *loop, struct rate_reading *readings, size_t n)
{
    struct rate_estimate estimate = rate_combine(readings, n);

    loop->per_ns = estimate.per_ns;
    loop->log_deviation = estimate.log_deviation;
    loop->common_deviation = fmin(1, estimate.common_deviation);
    loop->readings = estimate.readings;
    loop->agreeing = estimate.agreeing;
    loop->measured = true;
}

static int measure(const struct profile *const *profiles, size_t profile_count,
                   struct loop_rates *rates)
{
    size_t capacity = 1;
    long n = 0;

    for (size_t p = 0; p < profile_count; p++)
        capacity += profiles[p]->progress.count;
    struct located_reading *located = malloc(capacity * sizeof *located);
    struct rate_reading *readings = malloc(capacity * sizeof *readings);
    if (!located || !readings)
        n = -1;
    for (size_t p = 0; p < profile_count && n >= 0; p++)
        n = locate_readings(profiles[p], p, rates, located, n);
    if (n > 0)
        qsort(located, (size_t)n, sizeof *located, compare_located);
    for (long i = 0, end; i < n; i = end) {
        for (end = i; end < n && located[end].loop == located[i].loop; end++)
            readings[end - i] = located[end].reading;
        measure_loop(&rates->loops[located[i].loop], readings, (size_t)(end - i));
        rates->any = true;
    }
    free(located);
    free(readings);
    return n < 0 ? -1 : 0;
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
        out->refills[p] = refill_of(profiles[p]);
    if (list_loops(profiles, profile_count, out) || measure(profiles, profile_count, out) ||
        loop_rates_fill_gaps(profiles, profile_count, out)) {
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

/* SPDX-License-Identifier: BSD-3-Clause */
#include "analysis/rates/loop_rates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/rates/burst_code.h"
#include "analysis/rates/burst_times.h"
#include "analysis/rates/expected_rates.h"
#include "analysis/rates/kernel_time.h"
#include "analysis/rates/progress_rates.h"
#include "analysis/rates/rate_fit.h"
#include "analysis/rates/refill.h"
#include "interpreter_stop.h"
#include "support/memory.h"

enum { INSTRUCTION_BYTES_MAX = 15 };
/* A system call, with the way in and out, takes from 0.1 us (the cheapest) to many (one that wakes
 * a thread, in a virtual machine): within a factor of ten. */
#define CALL_NS 1000.0
#define CALL_DEVIATION (log(10) / 1.96)
/* If page faults of its accesses take all of a loop's time, what it is expected to do is known to
 * this, ln: after a fault caches and the tables of pages are cold. It is slower then, not faster:
 * the mean is what it would be without. From 1 to 2 matters little. */
#define FAULTS_DEVIATION 1.5
/* Standard error of ln(rate) from which on a loop is not called measured: the model of a processor
 * by itself leaves 0.30. */
#define MEASURED_DEVIATION 0.25
/* What the method is off by in all loops alike: of 22 runs of 11 programs of known accesses the
 * median is 0.98 and the middle half from 0.94 to 1.05, a little more than their own errors make.
 */
#define METHOD_DEVIATION 0.06

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

static struct loop_rate loop_of_burst(uint32_t profile, const struct record_burst *burst,
                                      struct code_span span, double time_ns)
{
    struct loop_rate loop = {.profile = profile,
                             .loop = burst->loop,
                             .low_ip = span.first,
                             .high_ip = span.last,
                             .time_ns = time_ns};
    unsigned calls = burst->stops + (burst->stop == INTERPRETER_SYSTEM_CALL);

    if (calls > 0) {
        loop.call_ns = loop.time_ns;
        loop.accesses_to_call = loop.time_ns * burst->accesses / calls;
    }
    return loop;
}

/* One entry per burst, sorted, then folded into one entry per loop. */
static void list_loops(const struct profile *const *profiles, size_t profile_count,
                       const struct burst_code *code, struct loop_rates *out)
{
    struct recent_loops listed = {0};
    size_t capacity = 1;

    for (size_t p = 0; p < profile_count; p++)
        capacity +=
            profiles[p]->bursts.count + profiles[p]->samples.count + profiles[p]->progress.count;
    struct loop_rate *loops = allocate_zeroed(capacity, sizeof *loops);
    listed.list = loops;
    for (size_t p = 0; p < profile_count; p++) {
        for (size_t i = 0; i < profiles[p]->bursts.count; i++) {
            struct loop_rate loop = loop_of_burst((uint32_t)p, profiles[p]->bursts.items[i],
                                                  code[p].spans[i], out->burst_times[p][i]);
            add(&listed, &loop);
        }
        /* Those of turns need not be a burst's. */
        for (size_t i = 0; i < profiles[p]->samples.count; i++)
            add(&listed, &(struct loop_rate){.profile = (uint32_t)p,
                                             .loop = profiles[p]->samples.items[i].loop,
                                             .low_ip = UINT64_MAX});
        for (size_t i = 0; i < profiles[p]->progress.count; i++)
            add(&listed, &(struct loop_rate){.profile = (uint32_t)p,
                                             .loop = profiles[p]->progress.items[i]->loop,
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
    out->loops = reallocate(loops, count, sizeof *loops);
    out->count = count;
}

/* ---- the loops of one profile ---- */

struct span {
    struct loop_rate *loops;
    size_t count;
};

static int by_time(const void *a, const void *b)
{
    const struct loop_rate *const *x = a, *const *y = b;

    if ((*x)->time_ns != (*y)->time_ns)
        return (*x)->time_ns > (*y)->time_ns ? -1 : 1;
    return compare_loops(*x, *y);
}

/* The loops with most time have a group each, the others have the last one together. Returns the
 * number of groups. */
static uint32_t make_groups(struct span span)
{
    struct loop_rate **order = allocate(span.count, sizeof *order);

    for (size_t i = 0; i < span.count; i++)
        order[i] = &span.loops[i];
    qsort(order, span.count, sizeof *order, by_time);
    for (size_t i = 0; i < span.count; i++)
        order[i]->group = (uint32_t)(i < RATE_GROUPS_MAX ? i : RATE_GROUPS_MAX - 1);
    free(order);
    return (uint32_t)(span.count < RATE_GROUPS_MAX ? span.count : RATE_GROUPS_MAX);
}

static void share_time(struct span span, struct rate_evidence *evidence)
{
    double all = 0;

    for (size_t i = 0; i < span.count; i++)
        all += span.loops[i].time_ns;
    for (size_t i = 0; i < span.count; i++)
        evidence->share[span.loops[i].group] +=
            all > 0 ? span.loops[i].time_ns / all : 1 / (double)span.count;
}

/* Most time of a group is in bursts with system calls: they tell about how long it takes. */
static void add_calls(struct span span, struct rate_evidence *evidence)
{
    double call_ns[RATE_GROUPS_MAX] = {0}, accesses[RATE_GROUPS_MAX] = {0};
    double time_ns[RATE_GROUPS_MAX] = {0};

    for (size_t i = 0; i < span.count; i++) {
        call_ns[span.loops[i].group] += span.loops[i].call_ns;
        accesses[span.loops[i].group] += span.loops[i].accesses_to_call;
        time_ns[span.loops[i].group] += span.loops[i].time_ns;
    }
    for (uint32_t group = 0; group < evidence->groups; group++)
        if (call_ns[group] > time_ns[group] / 2 && accesses[group] > 0)
            evidence->readings[evidence->reading_count++] = (struct rate_reading){
                .group = group,
                .log_rate = log(accesses[group] / call_ns[group] / CALL_NS),
                .variance = CALL_DEVIATION * CALL_DEVIATION,
            };
}

static void set_rate(struct loop_rate *loop, const struct rate_fit *fit)
{
    double all = fit->deviation[loop->group], common = fit->total_deviation;
    double own = all > common ? all * all - common * common : 0;
    /* Sums over loops need means: ln(rate) is about normal. What all loops are off by in common
     * moves the sum as a whole, of which this is the median. */
    double factor, value = exp(fit->log_rate[loop->group] + own / 2);

    loop->log_deviation = sqrt(own);
    loop->common_deviation = hypot(fmin(all, common), METHOD_DEVIATION);
    loop->measured = all < MEASURED_DEVIATION;
    factor = exp(1.96 * hypot(loop->log_deviation, loop->common_deviation));
    loop->per_ns = (struct estimate){value, value / factor, value * factor};
}

/* Of n: all, where a word tells of the whole time. */
static size_t bursts_that_tell(const struct rate_evidence *evidence, size_t n)
{
    size_t bursts = 0;

    if (evidence->equation_count > 0)
        return n;
    for (size_t i = 0; i < evidence->reading_count; i++)
        bursts += evidence->readings[i].bursts;
    return bursts;
}

/*
 * Rates are those of all CPU time, and bursts stand for it, not for the time of the code alone that
 * the clock can end in. The weights of one process add up to its time: chance has no say in that.
 * Of several processes that began few bursts each, some had none, and others stand for them.
 */
static void add_kernel_time(const struct profile *profile, size_t p, const uint32_t *burst_groups,
                            const struct kernel_time *time, const struct kernel_demand *demand,
                            struct span span, struct loop_rates *rates,
                            struct rate_evidence *evidence)
{
    struct kernel_parts parts[RATE_GROUPS_MAX];
    double weights = 0, whole = 1;

    kernel_time_divide(time, evidence->groups, evidence->share, evidence->expected, demand, parts);
    for (uint32_t i = 0; i < evidence->groups; i++) {
        double off = FAULTS_DEVIATION * parts[i].access_faults;

        evidence->expected[i] += log(parts[i].own * parts[i].code) - off * off / 2;
        evidence->own_variance[i] += off * off;
    }
    for (size_t i = 0; i < span.count; i++)
        span.loops[i].own = time->own_ns > 0 ? parts[span.loops[i].group].own : 1;
    if (time->own_ns <= 0)
        return;
    for (size_t i = 0; i < profile->bursts.count; i++)
        weights +=
            rates->burst_times[p][i] * burst_expiries(profile, profile->bursts.items[i]->thread_id);
    if (rates->profile_count == 1 && weights > 0)
        whole = time->own_ns / weights;
    for (size_t i = 0; i < profile->bursts.count; i++)
        rates->burst_times[p][i] *= whole / parts[burst_groups[i]].own;
    for (size_t i = 0; i < span.count; i++)
        span.loops[i].time_ns *= whole / span.loops[i].own;
    memset(evidence->share, 0, sizeof evidence->share);
    share_time(span, evidence);
}

static void fit_profile(const struct profile *profile, size_t p,
                        const struct program_line_sources *sources, struct span span,
                        struct loop_rates *rates)
{
    struct rate_evidence evidence = {.groups = make_groups(span)};
    const struct kernel_time time = kernel_time_of(profile);
    struct kernel_demand demand[RATE_GROUPS_MAX];
    size_t n = profile->progress.count;
    uint32_t *groups = allocate(n, sizeof *groups);
    uint32_t *burst_groups = allocate(profile->bursts.count, sizeof *burst_groups);
    struct rate_fit fit;

    for (size_t i = 0; i < n; i++)
        groups[i] = rates->loops[loop_rates_find(rates, p, profile->progress.items[i]->loop)].group;
    for (size_t i = 0; i < profile->bursts.count; i++)
        burst_groups[i] =
            rates->loops[loop_rates_find(rates, p, profile->bursts.items[i]->loop)].group;
    progress_rates(profile, groups, &evidence);
    rates->bursts += bursts_that_tell(&evidence, n);
    share_time(span, &evidence);
    expected_rates(profile, (uint32_t)p, sources, burst_groups, groups, &evidence, demand);
    if (time.own_ns <= 0)
        add_calls(span, &evidence);
    add_kernel_time(profile, p, burst_groups, &time, demand, span, rates, &evidence);
    rate_fit(&evidence, &fit);
    for (size_t i = 0; i < span.count; i++)
        set_rate(&span.loops[i], &fit);
    free(groups);
    free(burst_groups);
    free(evidence.readings);
    free(evidence.equations);
    free(evidence.terms);
}

static void fit_profiles(const struct profile *const *profiles,
                         const struct program_line_sources *sources, struct loop_rates *rates)
{
    for (size_t i = 0, end; i < rates->count; i = end) {
        size_t p = rates->loops[i].profile;

        for (end = i + 1; end < rates->count && rates->loops[end].profile == p;)
            end++;
        fit_profile(profiles[p], p, sources, (struct span){&rates->loops[i], end - i}, rates);
    }
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

void loop_rates_create(const struct profile *const *profiles, size_t profile_count,
                       const struct program_line_sources *sources, struct loop_rates *out)
{
    struct burst_code *code = allocate(profile_count, sizeof *code);

    *out = (struct loop_rates){
        .refills = allocate(profile_count, sizeof *out->refills),
        .burst_times = allocate(profile_count, sizeof *out->burst_times),
        .profile_count = profile_count,
    };
    for (size_t p = 0; p < profile_count; p++) {
        out->refills[p] = refill_estimate(profiles[p]);
        out->burst_times[p] = allocate(profiles[p]->bursts.count, sizeof *out->burst_times[p]);
        burst_code_create(profiles[p], &code[p]);
        burst_times(profiles[p], &code[p], out->burst_times[p]);
    }
    list_loops(profiles, profile_count, code, out);
    for (size_t p = 0; p < profile_count; p++)
        burst_code_free(&code[p]);
    free(code);
    fit_profiles(profiles, sources, out);
    count_instead(profiles, out);
}

void loop_rates_free(struct loop_rates *rates)
{
    free(rates->loops);
    free(rates->refills);
    for (size_t p = 0; p < rates->profile_count; p++)
        free(rates->burst_times[p]);
    free(rates->burst_times);
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

/* SPDX-License-Identifier: BSD-3-Clause */
/* Access rates from readings, and the clock that they drive. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/analysis.h"
#include "analysis/rates/access_clock.h"
#include "analysis/rates/loop_rates.h"
#include "analysis/rates/rate_estimate.h"
#include "isa/interpreter.h"
#include "sampling/random.h"
#include "support/profile_builder.h"

static double uniform(struct random *random)
{
    return ((double)(random_next(random) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(struct random *random)
{
    return sqrt(-2 * log(uniform(random))) * cos(2 * M_PI * uniform(random));
}

static void equal_readings(void **state)
{
    (void)state;
    struct rate_reading readings[5];
    for (int i = 0; i < 5; i++)
        readings[i] =
            (struct rate_reading){.per_ns = 2, .odometer = i % 2 == 0, .can_wrap = i % 2 == 0};
    struct rate_estimate estimate = rate_combine(readings, 5);
    assert_float_equal(estimate.per_ns.value, 2, 1e-9);
    assert_true(estimate.per_ns.lo < 2 && estimate.per_ns.lo > 1.5);
    assert_true(estimate.per_ns.hi > 2 && estimate.per_ns.hi < 2.7);
    assert_int_equal(estimate.agreeing, 5);
}

static void one_reading_is_uncertain(void **state)
{
    (void)state;
    struct rate_reading reading = {.per_ns = 3, .odometer = true, .can_wrap = true};
    struct rate_estimate estimate = rate_combine(&reading, 1);
    assert_float_equal(estimate.per_ns.value, 3, 1e-9);
    assert_true(estimate.per_ns.lo < 2.2 && estimate.per_ns.hi > 4);
}

/* Wrapped odometers spread below the truth and may be the majority. */
static void wrapped_odometers_are_recognised(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct random random;
        struct rate_reading readings[30];
        random_seed(&random, seed);
        for (int i = 0; i < 30; i++) {
            double right = 2 * exp(0.02 * normal(&random));
            readings[i] =
                (struct rate_reading){.per_ns = i % 5 < 3 ? right * uniform(&random) : right,
                                      .odometer = true,
                                      .can_wrap = true};
        }
        struct rate_estimate estimate = rate_combine(readings, 30);
        if (fabs(estimate.per_ns.value - 2) > 0.15)
            fail_msg("seed %llu: %.3f", (unsigned long long)seed, estimate.per_ns.value);
    }
}

/* A program that gets faster as it runs: its slow readings are no wrapped registers. */
static void slow_beginnings_count(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct random random;
        struct rate_reading readings[60];
        double sum = 0;

        random_seed(&random, seed);
        for (int i = 0; i < 60; i++) {
            double right = (i < 30 ? 1.0 + 2.5 * i / 30 : 3.5) * exp(0.05 * normal(&random));
            readings[i] =
                (struct rate_reading){.per_ns = right, .odometer = true, .can_wrap = true};
            sum += right;
        }
        struct rate_estimate estimate = rate_combine(readings, 60);
        if (fabs(estimate.per_ns.value / (sum / 60) - 1) > 0.01)
            fail_msg("seed %llu: %.3f", (unsigned long long)seed, estimate.per_ns.value);
    }
}

/* Two tight groups of odometers: wrapping explains the lower one. */
static void the_higher_group_wins(void **state)
{
    (void)state;
    struct rate_reading readings[20];
    for (int i = 0; i < 20; i++)
        readings[i] = (struct rate_reading){
            .per_ns = (i < 12 ? 0.5 : 2) * (1 + 0.002 * i), .odometer = true, .can_wrap = true};
    assert_float_equal(rate_combine(readings, 20).per_ns.value, 2, 0.1);
}

/* A watch ahead cannot wrap: its low readings are the program's own slow times. */
static void slow_times_of_watches_count(void **state)
{
    (void)state;
    struct rate_reading readings[20];
    for (int i = 0; i < 20; i++)
        readings[i] =
            (struct rate_reading){.per_ns = i < 10 ? 0.5 : 2, .odometer = false, .can_wrap = false};
    struct rate_estimate estimate = rate_combine(readings, 20);
    assert_float_equal(estimate.per_ns.value, 1.25, 0.01);
}

/* Varied code: the arithmetic mean over random times is the time average. */
static void varied_code_is_averaged_over_time(void **state)
{
    (void)state;
    int held = 0;
    double sum = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct random random;
        struct rate_reading readings[24];
        random_seed(&random, seed);
        for (int i = 0; i < 24; i++)
            readings[i] = (struct rate_reading){
                .per_ns = exp(0.4 * normal(&random)), .odometer = i % 2, .can_wrap = i % 2};
        struct rate_estimate estimate = rate_combine(readings, 24);
        double truth = exp(0.4 * 0.4 / 2);
        sum += estimate.per_ns.value / truth / 100;
        held += estimate.per_ns.lo <= truth && estimate.per_ns.hi >= truth;
    }
    print_message("mean of estimate / truth %.3f, %d of 100 intervals hold the truth\n", sum, held);
    assert_float_equal(sum, 1, 0.06);
    assert_true(held >= 90);
}

static void conflict_takes_the_higher_and_says_so(void **state)
{
    (void)state;
    struct rate_reading readings[20];
    for (int i = 0; i < 20; i++)
        readings[i] = (struct rate_reading){.per_ns = (i < 10 ? 1 : 2) * (1 + 0.005 * (i % 10)),
                                            .odometer = i < 10,
                                            .can_wrap = i < 10};
    /* Watches that read more than many odometers were timed on warm caches. */
    struct rate_estimate estimate = rate_combine(readings, 20);
    assert_float_equal(estimate.per_ns.value, 1, 0.1);
    assert_true(estimate.per_ns.hi > 1.9);
    struct rate_reading swapped[20];
    for (int i = 0; i < 20; i++)
        swapped[i] = (struct rate_reading){.per_ns = (i < 10 ? 2 : 1) * (1 + 0.005 * (i % 10)),
                                           .odometer = i < 10,
                                           .can_wrap = i < 10};
    estimate = rate_combine(swapped, 20);
    assert_float_equal(estimate.per_ns.value, 2, 0.1);
    assert_true(estimate.per_ns.lo < 1.1);
}

/* Code that runs at 8 half of the time and at 2 otherwise, timed over equal numbers of accesses:
 * the fast half's times are short, but their noise must not make them count for less. */
static void fast_readings_count_in_full(void **state)
{
    (void)state;
    struct rate_reading readings[40];
    for (int i = 0; i < 40; i++)
        readings[i] = (struct rate_reading){.per_ns = i % 2 ? 8 : 2, .noise = 700 / 8000.0};
    assert_float_equal(rate_combine(readings, 40).per_ns.value, 5, 0.05);
}

/* Odometers of loops whose end is known are not set back: a machine that runs at half of its
 * speed part of the time is averaged over. */
static void slow_times_of_odometers_count(void **state)
{
    (void)state;
    struct rate_reading readings[20];
    for (int i = 0; i < 20; i++)
        readings[i] = (struct rate_reading){.per_ns = i < 4 ? 1 : 2, .odometer = true};
    assert_float_equal(rate_combine(readings, 20).per_ns.value, 1.8, 0.01);
}

/* Of a long and a short reading of the same loop the long one decides; what all have in common does
 * not average out. */
static void short_readings_weigh_less(void **state)
{
    (void)state;
    struct rate_reading readings[2] = {{.per_ns = 4, .noise = 700 / 200000.0},
                                       {.per_ns = 2, .noise = 700 / 2000.0}};
    assert_true(rate_combine(readings, 2).per_ns.value > 3.6);
    struct rate_reading many[100];
    for (int i = 0; i < 100; i++)
        many[i] = (struct rate_reading){.per_ns = 2, .noise = 0.01};
    struct rate_estimate estimate = rate_combine(many, 100);
    assert_true(estimate.log_deviation < 0.05);
    assert_true(estimate.common_deviation > 0.2 && estimate.common_deviation < 0.3);
    assert_true(estimate.per_ns.lo < 2 / exp(1.96 * 0.2));
}

static void no_agreement_is_a_wide_interval(void **state)
{
    (void)state;
    struct rate_reading readings[12];
    for (int i = 0; i < 12; i++)
        readings[i] =
            (struct rate_reading){.per_ns = 0.01 * pow(2, i), .odometer = true, .can_wrap = true};
    struct rate_estimate estimate = rate_combine(readings, 12);
    assert_true(estimate.agreeing < 4);
    assert_true(estimate.per_ns.hi / estimate.per_ns.lo > 5);
}

static void clock_runs_at_the_samples_rates(void **state)
{
    (void)state;
    /* 10 samples of 1 ms at 2 accesses per ns, then 10 at 0.5; in between 100 ms in the kernel. */
    struct clock_sample samples[20];
    struct access_clock clock;
    for (int i = 0; i < 20; i++) {
        double rate = i < 10 ? 2 : 0.5;
        uint64_t time = 500000 + (uint64_t)i * 1000000 + (i < 10 ? 0 : 100000000);
        samples[19 - i] = (struct clock_sample){time, rate * 1e6, rate};
    }
    assert_int_equal(access_clock_create(samples, 20, false, &clock), 0);
    assert_float_equal(access_clock_between(&clock, 500000, 9500000), 18e6, 1);
    assert_float_equal(access_clock_between(&clock, 500000, 1000000), 1e6, 1);
    assert_float_equal(access_clock_between(&clock, 110500000, 119500000), 4.5e6, 1);
    /* Across the kernel: half a sample of each. */
    assert_float_equal(access_clock_between(&clock, 9500000, 110500000), 1.25e6, 1);
    assert_float_equal(access_clock_between(&clock, 0, 500000), 1e6, 1);
    /* Beyond the last sample no further than its own part. */
    assert_true(access_clock_between(&clock, 119500000, 900000000) <= 0.5e6 + 1);
    assert_float_equal(access_clock_between(&clock, 5, 5), 0, 0);
    assert_float_equal(access_clock_between(&clock, 9, 5), 0, 0);
    assert_int_equal(access_clock_gap(&clock, 500000), 1000000);
    assert_true(access_clock_gap(&clock, 119500000) == UINT64_MAX);
    access_clock_free(&clock);
    assert_int_equal(access_clock_create(NULL, 0, false, &clock), 0);
    assert_float_equal(access_clock_between(&clock, 1, 100), 0, 0);
    access_clock_free(&clock);
}

/* Bursts of one access in a loop, or of more with stops at system calls. */
static void add_bursts(struct profile_builder *builder, uint32_t thread, uint64_t loop, int count,
                       uint32_t accesses, uint16_t stops, uint64_t *app_ns)
{
    const struct probe_count probe = {probe_code(true, 0, 0), 1};
    const struct builder_group group = {.probe = {.ip = loop + 16}, .counts = &probe, .sizes = {1}};

    for (int i = 0; i < count; i++) {
        struct record_burst burst = profile_builder_default_burst(thread, 0);
        burst.loop = loop;
        burst.app_ns = *app_ns += 1000000;
        burst.accesses = accesses;
        burst.probes = 1;
        burst.stops = stops;
        profile_builder_burst(builder, &burst, &group, 1);
    }
}

static void add_loop(struct profile_builder *builder, uint32_t thread, uint64_t loop, int count,
                     uint64_t *app_ns)
{
    add_bursts(builder, thread, loop, count, 1, 0, app_ns);
}

/* `path` is a template of mkstemp(). */
static void begin_profile(struct profile_builder *builder, char *path)
{
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    profile_builder_begin(builder, path);
    profile_builder_defaults(builder);
}

static void loops_borrow(void **state)
{
    (void)state;
    char path[] = "/tmp/reuse-rates-XXXXXX";
    struct profile_builder builder;
    begin_profile(&builder, path);
    uint32_t one = profile_builder_thread(&builder, 1, "one");
    uint32_t two = profile_builder_thread(&builder, 2, "two");
    uint64_t time_one = 0, time_two = 0;
    add_loop(&builder, one, 0x10000, 30, &time_one);
    add_loop(&builder, one, 0x50000, 10, &time_one);
    add_loop(&builder, one, 0x10400, 5, &time_one);  /* near the first loop */
    add_loop(&builder, one, 0x900000, 5, &time_one); /* near none */
    add_loop(&builder, two, 0x70000, 20, &time_two);
    add_loop(&builder, two, 0xa00000, 5, &time_two);
    add_loop(&builder, two, 0xb00000, 5, &time_two);
    for (int i = 0; i < 10; i++) {
        profile_builder_rate(&builder, one, 0x10000, 1, 200000, 100000);
        profile_builder_rate(&builder, one, 0x50000, 1, 400000, 100000);
        profile_builder_rate(&builder, two, 0x70000, 1, 10000, 100000);
    }
    struct record_rate rejected = {.thread_id = two,
                                   .method = RATE_ODOMETER,
                                   .loop = 0xb00000,
                                   .accesses = 1000000,
                                   .elapsed_ns = 100000};
    profile_builder_record(&builder, RECORD_RATE, &rejected, sizeof rejected);
    profile_builder_finish(&builder);
    struct profile *profile = profile_builder_load(path);
    unlink(path);
    struct loop_rates rates;
    const struct profile *profiles[] = {profile};
    assert_int_equal(loop_rates_create(profiles, 1, &rates), 0);
    assert_true(rates.any);
    struct loop_rate *first = &rates.loops[loop_rates_find(&rates, 0, 0x10000)];
    struct loop_rate *near = &rates.loops[loop_rates_find(&rates, 0, 0x10400)];
    struct loop_rate *alone = &rates.loops[loop_rates_find(&rates, 0, 0x900000)];
    struct loop_rate *other = &rates.loops[loop_rates_find(&rates, 0, 0xa00000)];
    assert_float_equal(first->per_ns.value, 2, 0.05);
    /* Neighbours at 2 outweigh the thread's average of 2.5. */
    assert_float_equal(near->per_ns.value, 2, 0.4);
    /* The thread's average; the prior of 2 hardly counts against three measured loops. */
    assert_float_equal(alone->per_ns.value, 2.5, 0.3);
    assert_true(other->per_ns.value > 0.1 && other->per_ns.value < 1);
    /* A rejected odometer at 10 against an average of 0.1: between, and uncertain. */
    struct loop_rate *doubtful = &rates.loops[loop_rates_find(&rates, 0, 0xb00000)];
    assert_true(!doubtful->measured && doubtful->readings == 0);
    assert_true(doubtful->per_ns.value > 0.5 && doubtful->per_ns.value < 5);
    assert_true(doubtful->per_ns.hi / doubtful->per_ns.lo > 10);
    assert_true(first->measured && !near->measured && !alone->measured);
    /* What is not known of the program is an error of all that borrow; few readings err alone. */
    assert_true(alone->common_deviation > 0.3 && first->common_deviation < 0.2);
    assert_true(alone->per_ns.lo < alone->per_ns.value / 4);
    double borrowed = 5 * (near->per_ns.value + alone->per_ns.value + other->per_ns.value +
                           doubtful->per_ns.value);
    assert_true(loop_rates_contains(first, 0x10010) && !loop_rates_contains(first, 0x10400));
    loop_rates_free(&rates);

    char message[200];
    struct analysis *analysis = analysis_create(profiles, 1, NULL, message, sizeof message);
    assert_non_null(analysis);
    struct access_rate_summary summary = analysis_access_rate(analysis);
    assert_int_equal(summary.readings, 30);
    assert_float_equal(summary.agreement, 1, 1e-9);
    assert_float_equal(summary.covered, 60.0 / 80, 1e-9);
    assert_float_equal(summary.per_ns.value, (30 * 2 + 10 * 4 + 20 * 0.1 + borrowed) / 80, 0.05);
    assert_true(summary.size_axis_low < 1 && summary.size_axis_high > 1);
    analysis_free(analysis);
    profile_free(profile);
}

/* A thread that computes in one place and waits in the kernel in another, with four accesses on the
 * way. */
static void system_calls_leave_little_time_for_accesses(void **state)
{
    (void)state;
    char path[] = "/tmp/reuse-rates-XXXXXX";
    struct profile_builder builder;
    begin_profile(&builder, path);
    uint32_t one = profile_builder_thread(&builder, 1, "one");
    uint64_t time = 0;
    add_loop(&builder, one, 0x10000, 30, &time);
    add_loop(&builder, one, 0x900000, 10, &time);
    add_bursts(&builder, one, 0xa00000, 10, BURST_ACCESSES, BURST_ACCESSES / 4, &time);
    add_bursts(&builder, one, 0xb00000, 10, BURST_ACCESSES, 1, &time);
    for (int i = 0; i < 10; i++)
        profile_builder_rate(&builder, one, 0x10000, 1, 200000, 100000);
    profile_builder_finish(&builder);
    struct profile *profile = profile_builder_load(path);
    unlink(path);
    struct loop_rates rates;
    const struct profile *profiles[] = {profile};
    assert_int_equal(loop_rates_create(profiles, 1, &rates), 0);
    struct loop_rate *alone = &rates.loops[loop_rates_find(&rates, 0, 0x900000)];
    struct loop_rate *waits = &rates.loops[loop_rates_find(&rates, 0, 0xa00000)];
    struct loop_rate *works = &rates.loops[loop_rates_find(&rates, 0, 0xb00000)];
    assert_float_equal(alone->per_ns.value, 2, 0.2);
    /* Evidence as uncertain as what it is held against: 4 accesses in 1 us against 2 in 1 ns. */
    assert_float_equal(waits->per_ns.value, sqrt(0.004 * 2), 0.02);
    assert_true(waits->per_ns.lo < 0.02 && waits->per_ns.hi > 0.4);
    /* Calls far apart speak against nothing. */
    assert_float_equal(works->per_ns.value, 2.8, 0.3);
    loop_rates_free(&rates);
    profile_free(profile);
}

static void without_readings_the_range_is_wide(void **state)
{
    (void)state;
    char path[] = "/tmp/reuse-rates-XXXXXX", message[200];
    struct profile_builder builder;
    uint64_t time = 0;
    begin_profile(&builder, path);
    add_loop(&builder, profile_builder_thread(&builder, 1, "one"), 0x10000, 30, &time);
    profile_builder_finish(&builder);
    struct profile *profile = profile_builder_load(path);
    unlink(path);
    const struct profile *profiles[] = {profile};
    struct analysis *analysis = analysis_create(profiles, 1, NULL, message, sizeof message);
    assert_non_null(analysis);
    struct access_rate_summary summary = analysis_access_rate(analysis);
    assert_int_equal(summary.readings, 0);
    assert_true(summary.covered == 0 && summary.agreement == 0);
    assert_true(summary.size_axis_low <= 0.11 && summary.size_axis_high >= 9);
    analysis_free(analysis);
    profile_free(profile);
}

/* What all readings lose is found, and what they gain where traps have become cheaper; and one in
 * ten that another program made longer does not matter. */
static void refill_is_found(void **state)
{
    (void)state;
    char path[] = "/tmp/reuse-refill-XXXXXX";
    close(mkstemp(path));
    for (int lost = -4000; lost <= 4000; lost += 500) {
        struct profile_builder builder;
        struct random random;

        random_seed(&random, (uint64_t)(lost + 5001));
        profile_builder_begin(&builder, path);
        profile_builder_defaults(&builder);
        profile_builder_run_number(&builder, "trap_cost_ns", 12000);
        uint32_t thread = profile_builder_thread(&builder, 1, "one");
        for (int i = 0; i < 120; i++) {
            double loss = lost + 1000 * normal(&random);

            if (i % 10 == 9)
                loss += 30000 * uniform(&random);
            struct record_rate record = {.thread_id = thread,
                                         .method = RATE_WATCH_AHEAD,
                                         .accepted = true,
                                         .loop = 0x10000 + 0x10000 * (uint64_t)(i % 3),
                                         .accesses = 20000,
                                         .elapsed_ns = 10000,
                                         .loss_ns = (int64_t)loss};

            profile_builder_record(&builder, RECORD_RATE, &record, sizeof record);
        }
        profile_builder_finish(&builder);
        struct profile *profile = profile_builder_load(path);
        struct refill refill = refill_estimate(profile);

        if (fabs(refill.ns - lost) > 400 || refill.deviation > 200)
            fail_msg("lost %d: %.0f, deviation %.0f", lost, refill.ns, refill.deviation);
        profile_free(profile);
    }
    unlink(path);
}

/* Odometers and rejected readings say nothing of traps; a few readings leave the prior its part. */
static void refill_of_few_readings(void **state)
{
    (void)state;
    char path[] = "/tmp/reuse-refill-XXXXXX";
    struct profile_builder builder;

    close(mkstemp(path));
    profile_builder_begin(&builder, path);
    profile_builder_defaults(&builder);
    profile_builder_run_number(&builder, "trap_cost_ns", 12000);
    uint32_t thread = profile_builder_thread(&builder, 1, "one");
    struct record_rate record = {.thread_id = thread,
                                 .method = RATE_ODOMETER,
                                 .accepted = true,
                                 .accesses = 20000,
                                 .elapsed_ns = 10000,
                                 .loss_ns = 5000};
    profile_builder_record(&builder, RECORD_RATE, &record, sizeof record);
    record.method = RATE_WATCH_AHEAD;
    record.accepted = false;
    profile_builder_record(&builder, RECORD_RATE, &record, sizeof record);
    profile_builder_finish(&builder);
    struct profile *profile = profile_builder_load(path);
    struct refill refill = refill_estimate(profile);

    unlink(path);
    assert_float_equal(refill.ns, 1000, 1e-6);
    assert_float_equal(refill.deviation, 2000, 1e-6);
    profile_free(profile);
}

/* Where hardware counts accesses, a watch ran for as many as were counted: what traps cost the
 * program is time, and takes none of them away. */
static void counted_accesses_are_not_set_off(void **state)
{
    (void)state;
    enum { TRAP_NS = 12000, REUSE = 1500, SAMPLES = 40 };
    char path[] = "/tmp/reuse-counted-XXXXXX", message[256];
    close(mkstemp(path));
    for (int counted = 0; counted <= 1; counted++) {
        struct profile_builder builder;
        struct histogram_share *bins;
        double part = 0;

        profile_builder_begin(&builder, path);
        profile_builder_defaults(&builder);
        profile_builder_run_number(&builder, "trap_cost_ns", TRAP_NS);
        if (counted)
            profile_builder_run(&builder, "clock", "accesses");
        uint32_t thread = profile_builder_thread(&builder, 1, "one");
        for (int i = 0; i < 20; i++)
            profile_builder_rate(&builder, thread, 0, 1, 1000000, 1000000);
        for (int i = 0; i < SAMPLES; i++) {
            struct record_sample sample = profile_builder_default_sample(thread, 0);

            sample.app_ns = 1000000 * (uint64_t)(i + 1);
            sample.accesses_ahead = 200;
            sample.watch_mode = WATCH_ACCESSED;
            sample.words_accessed = 8; /* the whole line: it has no other words */
            sample.watch_length = 8;
            profile_builder_lone_burst(&builder, &sample);
            profile_builder_sample(&builder, &sample);
            profile_builder_watch_end(&builder, &sample, WATCH_REUSED, REUSE);
        }
        profile_builder_finish(&builder);
        struct profile *profile = profile_builder_load(path);
        const struct profile *profiles[] = {profile};
        struct analysis *analysis = analysis_create(profiles, 1, NULL, message, sizeof message);
        assert_non_null(analysis);
        size_t n = analysis_reuse_time_histogram(analysis, (struct subset){0}, &bins);
        for (size_t i = 0; i < n; i++)
            part += bins[i].lo == 1024 ? bins[i].share.value : 0;
        /* Of 1500 ns of CPU time half is set off at the most, which leaves them below 1024. */
        assert_true(counted ? part > 0.99 : part < 0.01);
        free(bins);
        analysis_free(analysis);
        profile_free(profile);
    }
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_readings),
        cmocka_unit_test(one_reading_is_uncertain),
        cmocka_unit_test(wrapped_odometers_are_recognised),
        cmocka_unit_test(slow_beginnings_count),
        cmocka_unit_test(the_higher_group_wins),
        cmocka_unit_test(slow_times_of_watches_count),
        cmocka_unit_test(slow_times_of_odometers_count),
        cmocka_unit_test(varied_code_is_averaged_over_time),
        cmocka_unit_test(conflict_takes_the_higher_and_says_so),
        cmocka_unit_test(fast_readings_count_in_full),
        cmocka_unit_test(short_readings_weigh_less),
        cmocka_unit_test(no_agreement_is_a_wide_interval),
        cmocka_unit_test(clock_runs_at_the_samples_rates),
        cmocka_unit_test(loops_borrow),
        cmocka_unit_test(system_calls_leave_little_time_for_accesses),
        cmocka_unit_test(without_readings_the_range_is_wide),
        cmocka_unit_test(refill_is_found),
        cmocka_unit_test(refill_of_few_readings),
        cmocka_unit_test(counted_accesses_are_not_set_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From simulated hardware to curves: streams whose locality is counted exactly beside, sampled with
 * scarce registers, so that most watches are censored. Estimates must be unbiased and lie within
 * their intervals all the same.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/analysis.h"
#include "analysis/comparison.h"
#include "profile/histogram_bin.h"
#include "reuse/exact_stack.h"
#include "simulate/processor.h"
#include "support/instrumented.h"
#include "support/profile_builder.h"

enum { ACCESSES = 1 << 21, SEEDS = SEEDS_OF(12), BASE = 0x10000000 };

static struct stream_access stream[ACCESSES];

static void put(size_t i, uint64_t address, unsigned width, uint32_t instruction)
{
    stream[i] = (struct stream_access){
        .bits = (BASE + address) | (uint64_t)(width - 1) << 48 | (uint64_t)ACCESS_LOAD << 54,
        .instruction = instruction,
    };
}

/* Words of 20 000 lines, popular ones far more often. */
static void popular_lines(struct random *random)
{
    for (size_t i = 0; i < ACCESSES; i++) {
        double u = (double)random_below(random, 1 << 30) * 0x1p-30;
        uint64_t line = (uint64_t)(20000 * u * u * u);

        put(i, 64 * line + 8 * (uint64_t)random_below(random, 8), 8, 1);
    }
}

/* Three arrays, swept at different paces by different instructions. */
static void sweeps(struct random *random)
{
    uint64_t at[3] = {0, 0, 0};
    static const uint64_t words[3] = {4096, 40000, 200000};

    for (size_t i = 0; i < ACCESSES; i++) {
        unsigned array = random_below(random, 3);

        put(i, ((uint64_t)array << 24) + 8 * (at[array]++ % words[array]), 8, 10 + array);
    }
}

/* A small table for a while, then a large one, in turns. */
static void phases(struct random *random)
{
    for (size_t i = 0; i < ACCESSES; i++) {
        bool small = (i >> 18) % 2 == 0;

        put(i, 64 * (uint64_t)random_below(random, small ? 500 : 12000) + (small ? 0 : 1 << 22), 8,
            small ? 20 : 21);
    }
}

/* Unaligned operands of 32 bytes: half of them touch two lines. */
static void straddling(struct random *random)
{
    for (size_t i = 0; i < ACCESSES; i++)
        put(i, random_below(random, 1 << 18), 32, 30);
}

/* ---- the run ---- */

static struct profile_builder builder;

static uint64_t ip_of(void *user, uint32_t instruction)
{
    (void)user;
    return 0x401000 + 16 * (uint64_t)instruction;
}

static unsigned length_of(void *user, uint32_t instruction)
{
    (void)user;
    (void)instruction;
    return 4;
}

static void identify(void *user, uint64_t address, struct burst_object *object)
{
    (void)user;
    (void)address;
    *object = (struct burst_object){.high = UINT64_MAX};
}

static void append(void *user, enum record_type type, const void *record, size_t size)
{
    (void)user;
    profile_builder_record(&builder, type, record, size);
}

static uint64_t monotonic_ns(void *user)
{
    (void)user;
    return builder.now_ns += 1000;
}

static const struct processor_host host = {
    .ip_of = ip_of,
    .length_of = length_of,
    .identify = identify,
    .append = append,
    .monotonic_ns = monotonic_ns,
};

/* Counts of the stream, by exact stack distance and reuse time. */
static void write_truth(void)
{
    static uint64_t counts[2][HISTOGRAM_BIN_COUNT];
    static struct histogram_bin bins[HISTOGRAM_BIN_COUNT];
    struct record_histogram record = {
        .scope = SCOPE_PROCESS, .line_size = 64, .rate_denominator = 1};
    struct exact_stack stack;

    memset(counts, 0, sizeof counts);
    assert_true(exact_stack_create(&stack));
    for (size_t i = 0; i < ACCESSES; i++) {
        uint64_t address = stream_address(&stream[i]);
        uint64_t last = (address + stream_width(&stream[i]) - 1) / 64;

        for (uint64_t line = address / 64; line <= last; line++) {
            struct exact_reuse reuse = exact_stack_use(&stack, line);

            record.accesses++;
            if (reuse.time == EXACT_STACK_COLD) {
                record.cold++;
                continue;
            }
            counts[0][histogram_bin_of(reuse.distance)]++;
            counts[1][histogram_bin_of(reuse.time)]++;
        }
    }
    exact_stack_destroy(&stack);
    for (unsigned k = 0; k < 2; k++) {
        record.measure = k == 0 ? MEASURE_STACK_DISTANCE : MEASURE_REUSE_TIME;
        record.bin_count = 0;
        for (uint32_t bin = 0; bin < HISTOGRAM_BIN_COUNT; bin++)
            if (counts[k][bin] > 0)
                bins[record.bin_count++] = (struct histogram_bin){bin, 0, counts[k][bin]};
        profile_builder_histogram(&builder, &record, bins);
    }
}

static struct profile *record(const struct processor_options *options, uint64_t seed)
{
    static struct processor processor;
    char path[] = "/tmp/simulate_estimates_XXXXXX", message[512];
    int descriptor = mkstemp(path);
    struct profile *profile;
    uint32_t thread;

    assert_true(descriptor >= 0);
    close(descriptor);
    profile_builder_begin(&builder, path);
    profile_builder_run(&builder, "engine", "simulate");
    profile_builder_run(&builder, "clock", "accesses");
    profile_builder_run_number(&builder, "line_size", 64);
    thread = profile_builder_thread(&builder, 1000, "main");
    assert_true(processor_begin(&processor, options, &host, NULL, thread, seed));
    processor_run(&processor, stream, ACCESSES);
    processor_end(&processor, WATCH_PROCESS_ENDED);
    processor_append_totals(&processor);
    processor_free(&processor);
    write_truth();
    profile_builder_finish(&builder);
    profile = profile_load(path, message, sizeof message);
    unlink(path);
    assert_non_null(profile);
    return profile;
}

/* Over the seeds: mean error and coverage of the curve, and its bias at the sizes. */
struct outcome {
    double error, covered, stack_distance_accuracy, reuse_time_accuracy;
    double bias; /* largest of the sizes' mean errors, signed ones added up */
    size_t sizes, evicted, armed;
};

static struct outcome repeat(void (*make)(struct random *), const struct processor_options *options)
{
    struct outcome out = {0};
    double bytes[ANALYSIS_CURVE_SIZES], sum[ANALYSIS_CURVE_SIZES] = {0};

    analysis_curve_sizes(bytes);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct random random;
        char message[512];
        struct comparison comparison;

        random_seed(&random, seed);
        make(&random);
        struct profile *profile = record(options, seed);
        const struct profile *profiles[] = {profile};
        struct analysis *estimate = analysis_create(
            profiles, 1, &(struct analysis_options){.source = SOURCE_SAMPLES, .seed = seed},
            message, sizeof message);
        struct analysis *truth =
            analysis_create(profiles, 1, &(struct analysis_options){.source = SOURCE_COUNTS},
                            message, sizeof message);
        struct curve_point a[ANALYSIS_CURVE_SIZES], b[ANALYSIS_CURVE_SIZES];

        assert_non_null(estimate);
        assert_non_null(truth);
        assert_true(analysis_is_exact(truth));
        assert_false(analysis_is_exact(estimate));
        analysis_compare(estimate, truth, &comparison);
        out.error += comparison.error / SEEDS;
        out.covered += comparison.covered / SEEDS;
        out.stack_distance_accuracy += comparison.stack_distance_accuracy / SEEDS;
        out.reuse_time_accuracy += comparison.reuse_time_accuracy / SEEDS;
        out.sizes += comparison.sizes;
        analysis_miss_ratio_curve(estimate, (struct subset){0}, bytes, ANALYSIS_CURVE_SIZES, a);
        analysis_miss_ratio_curve(truth, (struct subset){0}, bytes, ANALYSIS_CURVE_SIZES, b);
        for (size_t i = 0; i < ANALYSIS_CURVE_SIZES; i++)
            sum[i] += (a[i].miss_ratio.value - b[i].miss_ratio.value) / SEEDS;
        out.armed += profile->totals.items[0].armed;
        out.evicted += profile->totals.items[0].evicted;
        analysis_free(truth);
        analysis_free(estimate);
        profile_free(profile);
    }
    for (size_t i = 0; i < ANALYSIS_CURVE_SIZES; i++)
        out.bias = fmax(out.bias, fabs(sum[i]));
    print_message("error %.2f pp, bias %.2f pp, covered %.0f %%, accuracy %.3f %.3f, evicted "
                  "%zu of %zu\n",
                  100 * out.error, 100 * out.bias, 100 * out.covered, out.stack_distance_accuracy,
                  out.reuse_time_accuracy, out.evicted, out.armed);
    return out;
}

static struct processor_options options_of(unsigned registers, uint32_t register_size)
{
    return (struct processor_options){
        .pmu = {.period = 20000},
        .register_size = register_size,
        .registers = registers,
        .line_size = 64,
    };
}

static void censoring_does_not_bias_random_uses(void **state)
{
    struct processor_options options = options_of(4, 64);
    struct outcome outcome;

    (void)state;
    options.pmu.period = 6000; /* registers are wanted again soon */
    outcome = repeat(popular_lines, &options);
    assert_true(outcome.evicted > outcome.armed / 4);
    assert_on_average(outcome.error < 0.015);
    /* The largest of 48 means of twelve; near a knee each run scatters by some 4 points. */
    assert_on_average(outcome.bias < 0.05);
    assert_on_average(outcome.covered >= 0.9);
    assert_on_average(outcome.reuse_time_accuracy > 0.92);
    assert_on_average(outcome.stack_distance_accuracy > 0.92);
}

static void censoring_does_not_bias_sweeps(void **state)
{
    struct processor_options options = options_of(3, 8);
    struct outcome outcome = repeat(sweeps, &options);

    (void)state;
    assert_true(outcome.evicted > outcome.armed / 4);
    assert_on_average(outcome.error < 0.01);
    assert_on_average(outcome.covered >= 0.9);
    assert_on_average(outcome.reuse_time_accuracy > 0.92);
}

static void phases_are_told_apart(void **state)
{
    struct processor_options options = options_of(4, 64);
    struct outcome outcome = repeat(phases, &options);

    (void)state;
    assert_on_average(outcome.error < 0.015);
    assert_on_average(outcome.covered >= 0.85);
    assert_on_average(outcome.reuse_time_accuracy > 0.92);
}

static void straddling_accesses_count_for_both_lines(void **state)
{
    struct processor_options options = options_of(4, 64);
    struct outcome outcome = repeat(straddling, &options);

    (void)state;
    assert_on_average(outcome.error < 0.015);
    assert_on_average(outcome.covered >= 0.9);
}

static void an_analysis_answers_from_what_is_asked_for(void **state)
{
    struct processor_options options = options_of(4, 8);
    struct analysis_options source = {0};
    struct random random;
    char message[512];

    (void)state;
    random_seed(&random, 1);
    sweeps(&random);
    struct profile *profile = record(&options, 1);
    const struct profile *profiles[] = {profile};
    struct analysis *analysis = analysis_create(profiles, 1, &source, message, sizeof message);

    assert_non_null(analysis);
    assert_false(analysis_is_exact(analysis));
    /* The clock counted: all samples together are all accesses. */
    assert_float_equal(analysis_accesses(analysis).value, ACCESSES, 1);
    assert_float_equal(analysis_access_rate(analysis).size_axis_low, 1, 1e-9);
    assert_float_equal(analysis_access_rate(analysis).size_axis_high, 1, 1e-9);
    analysis_free(analysis);
    assert_true(analysis_has_source(profiles, 1, SOURCE_COUNTS));
    assert_true(analysis_has_source(profiles, 1, SOURCE_SAMPLES));
    profile->histograms.count = 0;
    source.source = SOURCE_COUNTS;
    assert_null(analysis_create(profiles, 1, &source, message, sizeof message));
    assert_non_null(strstr(message, "no counts"));
    profile->bursts.count = 0;
    source.source = SOURCE_SAMPLES;
    assert_null(analysis_create(profiles, 1, &source, message, sizeof message));
    assert_non_null(strstr(message, "no bursts"));
    profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(censoring_does_not_bias_random_uses),
        cmocka_unit_test(censoring_does_not_bias_sweeps),
        cmocka_unit_test(phases_are_told_apart),
        cmocka_unit_test(straddling_accesses_count_for_both_lines),
        cmocka_unit_test(an_analysis_answers_from_what_is_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

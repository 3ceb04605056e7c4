/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Miss-ratio curves from the simulated sampling engine against the exact truth of the same trace:
 * error, bias, coverage of the intervals, monotony, and no claims beyond what was watched.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/analysis.h"
#include "sampling/random.h"
#include "support/instrumented.h"
#include "support/trace_generators.h"

enum { SEEDS = SEEDS_OF(10) };

struct quality {
    double errors[SEEDS]; /* mean absolute error over the curve, ascending */
    double bias;          /* mean over sizes and seeds */
    double covered;       /* share of known points whose interval holds the truth */
    double known;         /* share of points that are not beyond */
};

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static struct analysis *analyse(const struct profile *profile, uint32_t line_size, uint64_t seed)
{
    char message[256];
    struct analysis_options options = {.line_size = line_size, .seed = seed};
    struct analysis *analysis = analysis_create(&profile, 1, &options, message, sizeof message);

    if (!analysis)
        fail_msg("%s", message);
    return analysis;
}

static void check_shape(const struct curve_point *points)
{
    for (int i = 0; i < ANALYSIS_CURVE_SIZES; i++) {
        const struct estimate *ratio = &points[i].miss_ratio;
        assert_true(ratio->lo >= 0 && ratio->lo <= ratio->value);
        assert_true(ratio->hi <= 1 && ratio->hi >= ratio->value);
        /* What misses in a cache misses in each smaller one. */
        assert_true(i == 0 || ratio->value <= points[i - 1].miss_ratio.value);
        assert_true(i == 0 || ratio->lo <= points[i - 1].miss_ratio.lo);
        assert_true(i == 0 || ratio->hi <= points[i - 1].miss_ratio.hi);
    }
}

static void measure(const struct trace *trace, const struct sampling *options, uint32_t line_size,
                    struct quality *out)
{
    double bytes[ANALYSIS_CURVE_SIZES], known = 0, covered = 0;
    struct truth truth;

    *out = (struct quality){0};
    truth_create(trace, NULL, line_size, &truth);
    analysis_curve_sizes(bytes);
    for (int seed = 0; seed < SEEDS; seed++) {
        struct curve_point points[ANALYSIS_CURVE_SIZES];
        struct sampling sampling = *options;
        sampling.seed = 1 + (uint64_t)seed;
        struct profile *profile = simulate(&trace, 1, &sampling);
        struct analysis *analysis = analyse(profile, line_size, sampling.seed);
        analysis_miss_ratio_curve(analysis, (struct subset){0}, bytes, ANALYSIS_CURVE_SIZES,
                                  points);
        check_shape(points);
        for (int i = 0; i < ANALYSIS_CURVE_SIZES; i++) {
            double expected = truth_miss_ratio(&truth, bytes[i] / line_size);
            double error = points[i].miss_ratio.value - expected;
            out->errors[seed] += fabs(error) / ANALYSIS_CURVE_SIZES;
            out->bias += error / ANALYSIS_CURVE_SIZES / SEEDS;
            if (!points[i].beyond) {
                known++;
                covered += expected >= points[i].miss_ratio.lo - 1e-3 &&
                           expected <= points[i].miss_ratio.hi + 1e-3;
            }
        }
        analysis_free(analysis);
        profile_free(profile);
    }
    qsort(out->errors, SEEDS, sizeof *out->errors, ascending);
    out->covered = covered / known;
    out->known = known / SEEDS / ANALYSIS_CURVE_SIZES;
    truth_free(&truth);
}

static void report(const char *name, const struct quality *quality)
{
    print_message("%-24s error median %.2f pp, worst %.2f; bias %+.2f; covered %.1f %%, known %.0f "
                  "%% (seeds 1..%d)\n",
                  name, 100 * quality->errors[SEEDS / 2], 100 * quality->errors[SEEDS - 1],
                  100 * quality->bias, 100 * quality->covered, 100 * quality->known, SEEDS);
}

static struct sampling default_sampling(const struct trace *trace)
{
    return (struct sampling){.period_ns = trace->now_ns / 200, .slots = 3, .readings = 8};
}

struct expectation {
    const char *name;
    trace_generator generator;
    double median, bias, covered;
};

static void make(trace_generator generator, struct trace *trace)
{
    struct random random;

    random_seed(&random, 99);
    *trace = (struct trace){0};
    generator(trace, &random);
}

static void check(const struct expectation *expected, const struct sampling *change,
                  uint32_t line_size)
{
    struct trace trace;
    struct quality quality;

    make(expected->generator, &trace);
    struct sampling sampling = default_sampling(&trace);
    if (change) {
        sampling.reading_noise = change->reading_noise;
        sampling.wrapped = change->wrapped;
        sampling.blind = change->blind;
        sampling.blind_accessed = change->blind_accessed;
        if (change->period_late_ns > 0)
            sampling.period_late_ns = sampling.period_ns * change->period_late_ns;
    }
    measure(&trace, &sampling, line_size, &quality);
    report(expected->name, &quality);
    assert_on_average(quality.errors[SEEDS / 2] <= expected->median);
    assert_on_average(fabs(quality.bias) <= expected->bias);
    assert_on_average(quality.covered >= expected->covered);
    trace_free(&trace);
}

/* About 200 bursts each, the access rate known. */
static void curves_follow_the_truth(void **state)
{
    (void)state;
    static const struct expectation cases[] = {
        {"sweep", trace_sweep, 0.010, 0.004, 0.92},
        {"zipf, words independent", trace_zipf_words, 0.013, 0.006, 0.90},
        {"zipf, whole lines", trace_zipf_lines, 0.010, 0.005, 0.92},
        {"zipf, mixture", trace_zipf_mixture, 0.020, 0.012, 0.88},
        {"uniform words", trace_uniform_words, 0.013, 0.006, 0.92},
        {"pairs of words", trace_pairs, 0.016, 0.008, 0.90},
        {"hot and cold", trace_hot_and_cold, 0.012, 0.006, 0.88},
        {"stencil", trace_stencil, 0.012, 0.006, 0.88},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(&cases[i], NULL, 64);
}

/* A line of 256 bytes from watches within 64: assumption and wider interval. */
static void larger_lines_stay_within_their_intervals(void **state)
{
    (void)state;
    static const struct expectation cases[] = {
        {"sweep, 256", trace_sweep, 0.010, 0.005, 0.92},
        {"zipf words, 256", trace_zipf_words, 0.015, 0.010, 0.90},
        {"zipf lines, 256", trace_zipf_lines, 0.020, 0.015, 0.85},
        {"uniform, 256", trace_uniform_words, 0.015, 0.010, 0.92},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(&cases[i], NULL, 256);
    /* No watch ever sees that the other half is used in between. */
    check(&(struct expectation){"halves, 128", trace_halves, 0.15, 0.15, 0.92}, NULL, 128);
    check(&(struct expectation){"halves, 256", trace_halves, 0.15, 0.15, 0.92}, NULL, 256);
}

/* Phases with rates that differ by 32: shares would be 97 : 3 instead of 27 : 73 by time. */
static void phases_are_weighted_by_their_rates(void **state)
{
    (void)state;
    check(&(struct expectation){"phases", trace_phases, 0.04, 0.02, 0.88}, NULL, 64);
}

static void a_changing_period_does_not_bias(void **state)
{
    (void)state;
    struct sampling change = {.period_late_ns = 4};
    check(&(struct expectation){"sweep, period x 4", trace_sweep, 0.012, 0.006, 0.92}, &change, 64);
    check(&(struct expectation){"phases, period x 4", trace_phases, 0.06, 0.03, 0.85}, &change, 64);
}

static void noisy_and_wrapped_readings_are_survived(void **state)
{
    (void)state;
    struct sampling change = {.reading_noise = 0.05, .wrapped = 0.4};
    check(&(struct expectation){"sweep, 40 % wrapped", trace_sweep, 0.015, 0.010, 0.90}, &change,
          64);
    check(&(struct expectation){"stencil, 40 % wrapped", trace_stencil, 0.015, 0.010, 0.88},
          &change, 64);
}

/* Without looks ahead at traps, words are taken as independent: right only where they are. */
static void blind_traps_fall_back_to_independent_words(void **state)
{
    (void)state;
    struct sampling change = {.blind = true};
    check(&(struct expectation){"uniform, blind", trace_uniform_words, 0.013, 0.006, 0.92}, &change,
          64);
}

/* Looks ahead only at traps on other words: visits that touch the accessed word first and end in
 * another count twice, so orders that are at random are off; regular ones are not. */
static void looks_at_other_words_only(void **state)
{
    (void)state;
    struct sampling change = {.blind_accessed = true};
    check(&(struct expectation){"sweep, half blind", trace_sweep, 0.010, 0.005, 0.92}, &change, 64);
    check(&(struct expectation){"uniform, half blind", trace_uniform_words, 0.013, 0.006, 0.92},
          &change, 64);
    check(&(struct expectation){"stencil, half blind", trace_stencil, 0.02, 0.012, 0.80}, &change,
          64);
    check(&(struct expectation){"mixture, half blind", trace_zipf_mixture, 0.03, 0.03, 0.60},
          &change, 64);
}

static void nothing_is_extrapolated(void **state)
{
    (void)state;
    /* Two rounds over 4 MiB: the reuse takes half of the run, and registers are few. */
    struct trace trace = {0};
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 524288; i++)
            trace_add(&trace, i, 1, 0, false, 1);
    }
    struct sampling sampling = default_sampling(&trace);
    sampling.seed = 3;
    sampling.slots = 1; /* always replaced: no watch lives long */
    const struct trace *traces[] = {&trace};
    struct profile *profile = simulate(traces, 1, &sampling);
    struct analysis *analysis = analyse(profile, 64, 1);
    double bytes[2] = {4096, 16 << 20};
    struct curve_point points[2];
    analysis_miss_ratio_curve(analysis, (struct subset){0}, bytes, 2, points);
    assert_false(points[0].beyond);
    assert_float_equal(points[0].miss_ratio.value, 0.125, 0.03);
    assert_true(points[1].beyond);
    assert_true(points[1].miss_ratio.lo < 0.03);
    assert_true(points[1].miss_ratio.hi > 0.06);
    analysis_free(analysis);
    profile_free(profile);
    trace_free(&trace);
}

enum { CACHE_LINES = 512, PLACES = 17 };

/* Misses of each place in an LRU cache of CACHE_LINES: a list of lines, the last used one first. */
static void count_misses(const struct trace *trace, double misses[PLACES])
{
    enum { LINES = 1 << 15 };
    static uint32_t before[LINES + 1], after[LINES + 1]; /* LINES: both ends */
    static bool cached[LINES];
    size_t count = 0;

    memset(cached, 0, sizeof cached);
    before[LINES] = after[LINES] = LINES;
    for (size_t i = 0; i < trace->count; i++) {
        uint32_t line = trace->accesses[i].word / 8, last;

        assert_true(line < LINES);
        if (cached[line]) {
            after[before[line]] = after[line];
            before[after[line]] = before[line];
        } else {
            misses[trace->accesses[i].place]++;
            cached[line] = true;
            if (++count > CACHE_LINES) {
                last = before[LINES];
                cached[last] = false;
                before[LINES] = before[last];
                after[before[last]] = LINES;
            }
        }
        before[line] = LINES;
        after[line] = after[LINES];
        before[after[LINES]] = line;
        after[LINES] = line;
    }
}

/* Of phases that bursts are in by chance, each phase's share of the misses has that chance in its
 * interval; of everything it is one. */
static void shares_of_misses_know_what_chance_does(void **state)
{
    enum { BURSTS = 40 };
    double bytes = CACHE_LINES * 64, misses[PLACES] = {0}, expected, wide = 0;
    int covered = 0;
    struct trace trace;
    const struct trace *whole = &trace;

    (void)state;
    make(trace_phases, &trace);
    count_misses(&trace, misses);
    expected = misses[0] / (misses[0] + misses[16]);
    for (int seed = 0; seed < SEEDS; seed++) {
        struct sampling sampling = default_sampling(&trace);
        struct estimate of_sweeps, of_all;
        struct miss_totals *totals;
        uint32_t *labels;

        sampling.period_ns = trace.now_ns / BURSTS;
        sampling.seed = 1 + (uint64_t)seed;
        struct profile *profile = simulate(&whole, 1, &sampling);
        struct analysis *analysis = analyse(profile, 64, sampling.seed);

        labels = calloc(analysis_probe_count(analysis) + 1, sizeof *labels);
        for (size_t i = 0; i < analysis_probe_count(analysis); i++)
            labels[i] = analysis_probe(analysis, i, NULL)->ip == place_ip(0) ? 0 : 1;
        totals = analysis_miss_totals(analysis, (struct subset){0}, &bytes, 1);
        analysis_shares_of_misses(analysis, totals, (struct subset){.groups = labels}, &of_sweeps);
        analysis_shares_of_misses(analysis, totals, (struct subset){0}, &of_all);
        assert_true(of_all.value == 1 && of_all.lo > 0.99);
        assert_true(of_sweeps.lo <= of_sweeps.value && of_sweeps.value <= of_sweeps.hi);
        covered += of_sweeps.lo <= expected && expected <= of_sweeps.hi;
        wide += (of_sweeps.hi - of_sweeps.lo) / SEEDS;
        miss_totals_free(totals);
        free(labels);
        analysis_free(analysis);
        profile_free(profile);
    }
    print_message("sweeps' share of the misses: true %.2f, covered %d of %d, %.2f wide\n", expected,
                  covered, SEEDS, wide);
    assert_true(covered >= SEEDS * 8 / 10);
    assert_true(wide > 0.05 && wide < 0.9);
    trace_free(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(curves_follow_the_truth),
        cmocka_unit_test(larger_lines_stay_within_their_intervals),
        cmocka_unit_test(phases_are_weighted_by_their_rates),
        cmocka_unit_test(a_changing_period_does_not_bias),
        cmocka_unit_test(noisy_and_wrapped_readings_are_survived),
        cmocka_unit_test(blind_traps_fall_back_to_independent_words),
        cmocka_unit_test(looks_at_other_words_only),
        cmocka_unit_test(nothing_is_extrapolated),
        cmocka_unit_test(shares_of_misses_know_what_chance_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pitfalls of bursts: the burst is the unit of chance, not the access; no size is biased over many
 * short runs; lines that are never used again do not take the registers away; a run that is over
 * before its first burst is; a thread of several.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analysis/analysis.h"
#include "sampling/random.h"
#include "support/instrumented.h"
#include "support/locality_simulator.h"

static struct analysis *analyse(const struct profile *const *profiles, size_t n, uint32_t thread_id)
{
    char message[256];
    struct analysis_options options = {.seed = 3, .thread_id = thread_id, .bootstrap = 60};
    struct analysis *analysis = analysis_create(profiles, n, &options, message, sizeof message);

    if (!analysis)
        fail_msg("%s", message);
    return analysis;
}

static struct estimate ratio_at(const struct analysis *analysis, double bytes)
{
    struct curve_point point;

    analysis_miss_ratio_curve(analysis, (struct subset){0}, &bytes, 1, &point);
    return point.miss_ratio;
}

/* Phases of random length: each runs far longer than a burst, over a small or a large set. */
static void make_phases(struct trace *trace, struct random *random)
{
    *trace = (struct trace){0};
    while (trace->count < 1200000) {
        bool large = random_below(random, 2);
        size_t end = trace->count + 6000 + random_below(random, 20000);

        while (trace->count < end)
            trace_add(trace, 8 * random_below(random, large ? 600 : 20) + (large ? 8000 : 0), 1,
                      large, false, 1);
    }
}

/* The interval of a share that phases decide holds the truth; one as if each access had been drawn
 * by itself would be too narrow by the root of the design effect. */
static void the_burst_is_the_unit_of_chance(void **state)
{
    (void)state;
    enum { SEEDS = SEEDS_OF(60) };
    double bytes = 64 * 64, effect = 0;
    struct random random;
    struct trace trace;
    struct truth truth;
    int held = 0;

    random_seed(&random, 11);
    make_phases(&trace, &random);
    truth_create(&trace, NULL, 64, &truth);
    double want = truth_miss_ratio(&truth, 64);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const struct trace *traces[] = {&trace};
        struct sampling sampling = {
            .seed = seed, .period_ns = trace.now_ns / 40, .slots = 2, .readings = 8};
        struct profile *profile = simulate(traces, 1, &sampling);
        const struct profile *profiles[] = {profile};
        struct analysis *analysis = analyse(profiles, 1, 0);
        struct estimate got = ratio_at(analysis, bytes);

        held += got.lo <= want && want <= got.hi;
        effect += analysis_design_effect(analysis, bytes) / SEEDS;
        analysis_free(analysis);
        profile_free(profile);
    }
    print_message("# %d of %d intervals hold the truth; design effect %.0f\n", held, SEEDS, effect);
    assert_on_average(held >= SEEDS * 85 / 100);
    assert_on_average(effect > 100);
    truth_free(&truth);
    trace_free(&trace);
}

enum { SIZES = 6 };

/* One short run: at each size, what the estimate is off. */
static void estimate_short_run(uint64_t seed, const double bytes[SIZES], double errors[SIZES])
{
    struct random random;
    struct trace trace = {0};
    struct truth truth;

    random_seed(&random, seed);
    for (int i = 0; i < 100000; i++)
        trace_add(&trace, 8 * random_below(&random, 4) * random_below(&random, 60), 1,
                  (uint16_t)(i % 3), false, 1);
    truth_create(&trace, NULL, 64, &truth);
    const struct trace *traces[] = {&trace};
    struct sampling sampling = {
        .seed = seed, .period_ns = trace.now_ns / 10, .slots = 2, .readings = 8};
    struct profile *profile = simulate(traces, 1, &sampling);
    const struct profile *profiles[] = {profile};
    struct analysis *analysis = analyse(profiles, 1, 0);
    analysis_miss_ratios(analysis, (struct subset){0}, bytes, SIZES, errors);
    for (int k = 0; k < SIZES; k++)
        errors[k] -= truth_miss_ratio(&truth, bytes[k] / 64);
    analysis_free(analysis);
    profile_free(profile);
    truth_free(&truth);
    trace_free(&trace);
}

/* Uses within bursts, where distances are known: the mean over short runs is the truth. */
static void short_runs_are_right_on_average(void **state)
{
    (void)state;
    enum { SEEDS = SEEDS_OF(100) };
    double bytes[SIZES], sum[SIZES] = {0}, squares[SIZES] = {0}, errors[SIZES];

    for (int k = 0; k < SIZES; k++)
        bytes[k] = 64 << (k + 1);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        estimate_short_run(seed, bytes, errors);
        for (int k = 0; k < SIZES; k++) {
            sum[k] += errors[k] / SEEDS;
            squares[k] += errors[k] * errors[k] / SEEDS;
        }
    }
    for (int k = 0; k < SIZES; k++) {
        double deviation = sqrt((squares[k] - sum[k] * sum[k]) / SEEDS);

        print_message("# %4.0f lines: bias %+.3f pp, +- %.3f\n", bytes[k] / 64, 100 * sum[k],
                      100 * deviation);
        assert_on_average(fabs(sum[k]) < 3 * deviation + 5e-4);
    }
}

/* One line in fifty is never used again: as many watches begin late in the run as early. */
static void registers_do_not_starve(void **state)
{
    (void)state;
    struct random random;
    struct trace trace = {0};
    size_t early = 0, late = 0;
    uint32_t fresh = 1 << 20;

    random_seed(&random, 8);
    for (int i = 0; i < 1500000; i++)
        trace_add(&trace,
                  random_below(&random, 50) ? 8 * random_below(&random, 20000) : 8 * fresh++, 1, 0,
                  false, 1);
    const struct trace *traces[] = {&trace};
    struct sampling sampling = {
        .seed = 1, .period_ns = trace.now_ns / 200, .slots = 2, .readings = 8};
    struct profile *profile = simulate(traces, 1, &sampling);
    const struct profile *profiles[] = {profile};
    struct analysis *analysis = analyse(profiles, 1, 0);
    for (size_t i = 0; i < analysis_watch_count(analysis); i++) {
        bool second = (double)analysis_watch(analysis, i, NULL)->app_ns > trace.now_ns / 2;
        early += !second;
        late += second;
    }
    print_message("# %zu watches in the first half, %zu in the second\n", early, late);
    assert_true(early > 50 && late > early * 3 / 4);
    analysis_free(analysis);
    profile_free(profile);
    trace_free(&trace);
}

/* Two threads apart and as one, and two profiles: weights add up. */
static void threads_and_profiles_add_up(void **state)
{
    (void)state;
    struct trace small = {0}, large = {0};

    for (uint32_t i = 0; i < 600000; i++) {
        trace_add(&small, i % 2048, 1, 0, false, 1);
        trace_add(&large, 100000 + i % 65536, 1, 16, false, 1);
    }
    const struct trace *traces[] = {&small, &large};
    struct sampling sampling = {
        .seed = 1, .period_ns = small.now_ns / 100, .slots = 2, .readings = 8};
    struct profile *a = simulate(traces, 2, &sampling);
    sampling.seed = 2;
    struct profile *b = simulate(traces, 2, &sampling);
    const struct profile *both[] = {a, b};
    for (size_t n = 1; n <= 2; n++) {
        struct analysis *whole = analyse(both, n, 0), *one = analyse(both, n, 1),
                        *two = analyse(both, n, 2);

        assert_float_equal(analysis_accesses(whole).value, n * 1.2e6, n * 5e4);
        assert_float_equal(analysis_accesses(one).value, n * 6e5, n * 3e4);
        assert_float_equal(ratio_at(whole, 32 << 10).value, 1 / 16., 0.01);
        assert_float_equal(ratio_at(one, 32 << 10).value, 0, 0.005);
        assert_float_equal(ratio_at(two, 32 << 10).value, 1 / 8., 0.01);
        analysis_free(whole);
        analysis_free(one);
        analysis_free(two);
    }
    profile_free(a);
    profile_free(b);
    trace_free(&small);
    trace_free(&large);
}

/* Very many bursts: a random part of them tells what all do, and little threads are not lost. */
static void a_part_stands_for_very_many(void **state)
{
    enum { RUNS = 12 };
    struct analysis_options options = {.seed = 3, .bootstrap = 20};
    const struct profile *profiles[RUNS];
    struct trace large = {0}, little = {0};
    size_t bursts[2];
    double ratio[2], accesses[2], of_little[2];
    struct random random;
    char message[256];

    (void)state;
    random_seed(&random, 8);
    for (uint32_t i = 0; i < 300000; i++)
        trace_add(&large, 8 * random_below(&random, i % 3 ? 3000 : 200), 1, 0, false, 1);
    for (uint32_t i = 0; i < 2000; i++)
        trace_add(&little, 100000 + 8 * i, 1, 16, false, 1);
    for (unsigned k = 0; k < RUNS; k++) {
        const struct trace *traces[] = {&large, &little};
        struct sampling sampling = {
            .seed = k + 1, .period_ns = large.now_ns / 1200, .slots = 2, .readings = 8};

        profiles[k] = simulate(traces, 2, &sampling);
    }
    for (unsigned all = 0; all < 2; all++) {
        struct analysis *analysis;

        options.all_bursts = all;
        analysis = analysis_create(profiles, RUNS, &options, message, sizeof message);
        assert_non_null(analysis);
        bursts[all] = analysis_burst_count(analysis, (struct subset){0});
        assert_int_equal(analysis_bursts_left_out(analysis) > 0, !all);
        ratio[all] = ratio_at(analysis, 64 * 1024).value;
        accesses[all] = 0;
        of_little[all] = 0;
        for (size_t i = 0; i < analysis_probe_count(analysis); i++) {
            const struct record_burst *burst = analysis_probe_burst(analysis, i);

            accesses[all] += analysis_probe_weight(analysis, i);
            of_little[all] += burst->thread_id == 2 ? analysis_probe_weight(analysis, i) : 0;
        }
        analysis_free(analysis);
    }
    print_message("# %zu of %zu bursts: misses %.4f and %.4f, of a little thread %.0f of %.0f\n",
                  bursts[0], bursts[1], ratio[0], ratio[1], of_little[0], of_little[1]);
    assert_true(bursts[1] > 11000 && bursts[0] > 3700 && bursts[0] < 4800);
    assert_float_equal(ratio[0], ratio[1], 0.01);
    /* What each thread makes is known by all of its bursts. */
    assert_float_equal(accesses[0] / accesses[1], 1, 1e-6);
    assert_float_equal(of_little[0] / of_little[1], 1, 1e-6);
    for (unsigned k = 0; k < RUNS; k++)
        profile_free((struct profile *)profiles[k]);
    trace_free(&large);
    trace_free(&little);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_burst_is_the_unit_of_chance),
        cmocka_unit_test(short_runs_are_right_on_average),
        cmocka_unit_test(registers_do_not_starve),
        cmocka_unit_test(threads_and_profiles_add_up),
        cmocka_unit_test(a_part_stands_for_very_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

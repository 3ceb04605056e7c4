/* SPDX-License-Identifier: BSD-3-Clause */
/* Average eviction time against closed forms and the exact truth of simulated traces. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "reuse/miss_ratio.h"
#include "sampling/random.h"
#include "support/trace_generators.h"

/* The curve of given reuse times with their counts, each seen whole. */
static void curve_of(const double *times, const double *counts, size_t n,
                     struct survival_curve *curve)
{
    struct survival_event *events = calloc(n, sizeof *events);
    double *weights = malloc(n * sizeof *weights);
    uint32_t *strata = calloc(n, sizeof *strata);

    assert_true(events && weights && strata);
    for (size_t i = 0; i < n; i++) {
        events[i] = (struct survival_event){
            .time = times[i], .sample = (uint32_t)i, .multiplicity = 1, .design = 1};
        weights[i] = counts ? counts[i] : 1;
    }
    survival_sort(events, n);
    struct survival_input input = {.events = events,
                                   .event_count = n,
                                   .sample_count = n,
                                   .weight_of = weights,
                                   .stratum_of = strata,
                                   .strata = 1,
                                   .scale = 1,
                                   .beyond_pivot = 1,
                                   .other_factor = 1};
    assert_int_equal(survival_estimate(&input, curve), 0);
    free(events);
    free(weights);
    free(strata);
}

static void cyclic_sweep_has_its_knee_at_its_size(void **state)
{
    (void)state;
    struct survival_curve curve = {0};
    double times[7], lines[] = {1, 50, 99, 99.999, 100, 101, 1e9}, eviction[7];
    for (int i = 0; i < 7; i++)
        times[i] = 100;
    curve_of(times, NULL, 7, &curve);
    eviction_times(&curve, lines, 7, eviction);
    for (int i = 0; i < 4; i++) {
        assert_float_equal(eviction[i], lines[i], 1e-9);
        assert_true(survival_at(&curve, eviction[i])->survival == 1);
    }
    for (int i = 4; i < 7; i++)
        assert_true(survival_at(&curve, eviction[i])->survival == 0);
    assert_true(isinf(eviction[6]));
    assert_float_equal(stack_distance_of(&curve, 100), 99, 1e-9);
    assert_float_equal(stack_distance_of(&curve, 1), 0, 1e-9);
    assert_float_equal(stack_distance_of(&curve, 40), 39, 1e-9);
    /* A run of 1000 accesses: 100 cold ones. */
    assert_float_equal(misses_in_run(&curve, INFINITY, 1000).missed, 0.1, 1e-9);
    assert_float_equal(misses_in_run(&curve, eviction[4], 1000).missed, 0.1, 1e-9);
    assert_float_equal(misses_in_run(&curve, eviction[1], 1000).missed, 1, 1e-9);
    survival_free(&curve);
}

static void eviction_on_a_plateau_is_linear(void **state)
{
    (void)state;
    /* Three of four are reused at 1, one lives for ever (its time is beyond every question). */
    struct survival_curve curve = {0};
    double times[] = {1, 1, 1, 1e15}, lines[] = {1, 2, 11}, eviction[3];
    curve_of(times, NULL, 4, &curve);
    eviction_times(&curve, lines, 3, eviction);
    assert_float_equal(eviction[0], 1, 1e-9);
    assert_float_equal(eviction[1], 5, 1e-9);
    assert_float_equal(eviction[2], 41, 1e-9);
    survival_free(&curve);
}

/* Expected against exact miss ratios, when every reuse time is known. */
static double model_error(trace_generator generator, double *worst)
{
    struct trace trace = {0};
    struct truth truth;
    struct survival_curve curve = {0};
    struct random random;
    random_seed(&random, 42);
    generator(&trace, &random);
    truth_create(&trace, NULL, 64, &truth);
    size_t n = 0;
    double *times = malloc(trace.count * sizeof *times);
    double *counts = malloc(trace.count * sizeof *counts);
    assert_true(times && counts);
    for (size_t t = 1; t <= trace.count; t++) {
        if (truth.reuse_times[t]) {
            times[n] = (double)t;
            counts[n++] = (double)truth.reuse_times[t];
        }
    }
    curve_of(times, counts, n, &curve);
    free(times);
    free(counts);
    double sum = 0;
    *worst = 0;
    for (int i = 0; i < 48; i++) {
        double lines = 16 * pow(65536, i / 47.0), eviction;
        eviction_times(&curve, &lines, 1, &eviction);
        struct miss_shares shares = misses_in_run(&curve, eviction, (double)trace.count);
        double error = fabs(shares.missed - truth_miss_ratio(&truth, lines));
        sum += error;
        *worst = fmax(*worst, error);
    }
    survival_free(&curve);
    truth_free(&truth);
    trace_free(&trace);
    return sum / 48;
}

static void conversion_agrees_with_exact_stack_distances(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        trace_generator generator;
        double mean, worst;
    } cases[] = {
        {"sweep", trace_sweep, 0.001, 0.01},
        {"zipf words", trace_zipf_words, 0.002, 0.02},
        {"zipf lines", trace_zipf_lines, 0.002, 0.02},
        {"uniform", trace_uniform_words, 0.002, 0.02},
        {"hot and cold", trace_hot_and_cold, 0.003, 0.03},
        {"stencil", trace_stencil, 0.005, 0.06},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double worst, mean = model_error(cases[i].generator, &worst);
        print_message("%s: mean %.2f pp, worst %.2f pp\n", cases[i].name, 100 * mean, 100 * worst);
        assert_true(mean <= cases[i].mean);
        assert_true(worst <= cases[i].worst);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cyclic_sweep_has_its_knee_at_its_size),
        cmocka_unit_test(eviction_on_a_plateau_is_linear),
        cmocka_unit_test(conversion_agrees_with_exact_stack_distances),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Rates of groups from what is expected of them and what is said: what can be right is weighed,
 * what cannot is not believed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/rates/rate_fit.h"

/* Of a group about what is expected of it, if nothing is said: the program's and its own. */
#define PROGRAM_VARIANCE 0.16
#define GROUP_VARIANCE 0.0225

static struct rate_fit fit_of(struct rate_reading *readings, size_t reading_count,
                              struct rate_equation *equations, size_t equation_count)
{
    struct rate_term terms[] = {{0, 1.0}};
    const struct rate_evidence evidence = {
        .groups = 1,
        .share = {1},
        .expected = {1},
        .common_variance = PROGRAM_VARIANCE,
        .readings = readings,
        .reading_count = reading_count,
        .equations = equations,
        .equation_count = equation_count,
        .terms = terms,
        .term_count = 1,
    };
    struct rate_fit fit;

    rate_fit(&evidence, &fit);
    return fit;
}

static struct rate_fit fit_reading(double off, double variance, double astray)
{
    struct rate_reading reading = {
        .log_rate = 1 + off, .variance = variance, .bursts = 5, .astray = astray};

    return fit_of(&reading, 1, NULL, 0);
}

static struct rate_fit fit_word(double off, double astray)
{
    struct rate_equation equation = {
        .moved = exp(1 + off), .variance = 0.05, .astray = astray, .count = 1};

    return fit_of(NULL, 0, &equation, 1);
}

static void nothing_said_is_what_is_expected(void **state)
{
    struct rate_fit fit = fit_of(NULL, 0, NULL, 0);

    (void)state;
    assert_float_equal(fit.log_rate[0], 1, 1e-6);
    assert_float_equal(fit.deviation[0], sqrt(PROGRAM_VARIANCE + GROUP_VARIANCE), 1e-3);
    assert_float_equal(fit.total_deviation, fit.deviation[0], 1e-6);
}

/* Two normal distributions, about: the weights of a Student distribution are near 1. */
static void what_can_be_right_is_weighed(void **state)
{
    double known = PROGRAM_VARIANCE + GROUP_VARIANCE;
    struct rate_fit fit = fit_reading(0.8, 0.05, 0.02);

    (void)state;
    assert_float_equal(fit.log_rate[0], 1 + 0.8 * known / (known + 0.05), 0.06);
    assert_float_equal(fit.deviation[0], sqrt(known * 0.05 / (known + 0.05)), 0.05);
    fit = fit_word(0.8, 0.1);
    assert_float_equal(fit.log_rate[0], 1 + 0.8 * known / (known + 0.05), 0.06);
}

/* A hundredth of what is expected: the variable was another one. */
static void what_is_astray_is_not_believed(void **state)
{
    (void)state;
    assert_float_equal(fit_reading(-4.6, 0.3, 0.02).log_rate[0], 1, 0.02);
    assert_float_equal(fit_reading(-4.6, 0.3, 0.02).deviation[0],
                       sqrt(PROGRAM_VARIANCE + GROUP_VARIANCE), 0.02);
    assert_float_equal(fit_word(-8, 0.1).log_rate[0], 1, 0.02);
    /* What is said to be right, whatever is expected, moves it: as far as its Student weight says,
     * that is by 4.6 v / (v + 1 / w), v known to begin with, w = 5 / (4 + 4^2 / 0.3) / 0.3 about.
     */
    assert_float_equal(fit_reading(-4.6, 0.3, 0).log_rate[0], 0.77, 0.05);
}

/* The model of a processor may be off by that much. */
static void a_third_of_what_is_expected_is_believed(void **state)
{
    (void)state;
    for (int sign = -1; sign <= 1; sign += 2) {
        double moved = sign * (fit_reading(sign * log(3), 0.05, 0.02).log_rate[0] - 1);

        assert_in_range((int)(1000 * moved), 800, 1100);
    }
}

/* Code that waits for lines of other threads, say: a tenth, as one reading has it that seldom is
 * something else, or as three words have it. */
static void what_the_model_does_not_know_is_believed(void **state)
{
    struct rate_equation words[3] = {
        {.moved = exp(1 - 2.1), .variance = 0.02, .astray = 0.03, .count = 1},
        {.moved = exp(1 - 2.3), .variance = 0.02, .astray = 0.03, .count = 1},
        {.moved = exp(1 - 2.5), .variance = 0.02, .astray = 0.03, .count = 1}};
    struct rate_fit fit = fit_reading(-2.3, 0.02, 0.02);

    (void)state;
    assert_float_equal(fit.log_rate[0], 1 - 2.3, 0.15);
    assert_true(fit.deviation[0] < 0.25);
    fit = fit_of(NULL, 0, words, 3);
    assert_float_equal(fit.log_rate[0], 1 - 2.3, 0.15);
    /* Nothing is ten times as fast as the model has it. */
    assert_float_equal(fit_reading(2.3, 0.02, 0.02).log_rate[0], 1, 0.1);
}

/* One loop of three is slow, and the others are as expected: it does not draw them along. */
static void one_loop_alone_may_wait(void **state)
{
    struct rate_reading readings[] = {
        {.group = 0, .log_rate = 1 - 2.3, .variance = 0.02, .bursts = 9, .astray = 0.02},
        {.group = 1, .log_rate = 1.05, .variance = 0.02, .bursts = 9, .astray = 0.02}};
    const struct rate_evidence evidence = {
        .groups = 3,
        .share = {0.4, 0.3, 0.3},
        .expected = {1, 1, 1},
        .common_variance = PROGRAM_VARIANCE,
        .readings = readings,
        .reading_count = 2,
    };
    struct rate_fit fit;

    (void)state;
    rate_fit(&evidence, &fit);
    assert_float_equal(fit.log_rate[0], 1 - 2.3, 0.2);
    assert_float_equal(fit.log_rate[1], 1.05, 0.15);
    assert_float_equal(fit.log_rate[2], 1, 0.3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_said_is_what_is_expected),
        cmocka_unit_test(what_can_be_right_is_weighed),
        cmocka_unit_test(what_is_astray_is_not_believed),
        cmocka_unit_test(a_third_of_what_is_expected_is_believed),
        cmocka_unit_test(what_the_model_does_not_know_is_believed),
        cmocka_unit_test(one_loop_alone_may_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The survival of open lines: published values, products written out, and simulated lines of which
 * only words are watched. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "reuse/open_survival.h"
#include "sampling/random.h"

enum { MOST = 4096 };

static struct open_step steps[2 * MOST];

static struct open_watch whole_line(double exit, enum open_end end)
{
    return (struct open_watch){.exit = exit,
                               .end = (uint8_t)end,
                               .accessed = true,
                               .whole = true,
                               .design = 1,
                               .multiplicity = end == OPEN_USED};
}

static size_t estimate(const struct open_watch *watches, size_t n, const double *weight,
                       const struct open_hazard *crossings, size_t crossing_count,
                       struct open_rest *rest)
{
    static uint32_t by_exit[MOST];
    static double ones[MOST];

    for (size_t i = 0; i < n; i++)
        ones[i] = 1;
    open_survival_order(watches, n, by_exit);
    return open_survival(watches, by_exit, n, weight ? weight : ones, crossings, crossing_count,
                         steps, rest);
}

static double left_at(size_t n, double time)
{
    double left = 1;

    for (size_t i = 0; i < n && steps[i].time <= time; i++)
        left -= steps[i].mass;
    return left;
}

/* Remission times of the 6-MP group (Freireich et al. 1963), estimates as in Kalbfleisch and
 * Prentice, The Statistical Analysis of Failure Time Data. */
static void test_published_example(void **state)
{
    static const double ends[] = {6, 6, 6, 7, 10, 13, 16, 22, 23};
    static const double censored[] = {6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35};
    static const double at[] = {6, 7, 10, 13, 16, 22, 23};
    static const double expected[] = {0.857, 0.807, 0.753, 0.690, 0.627, 0.538, 0.448};
    struct open_watch watches[21];
    struct open_rest rest;
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < 9; i++)
        watches[n++] = whole_line(ends[i], OPEN_USED);
    for (size_t i = 0; i < 12; i++)
        watches[n++] = whole_line(censored[i], OPEN_CENSORED);
    n = estimate(watches, n, NULL, NULL, 0, &rest);
    for (size_t i = 0; i < 7; i++)
        assert_float_equal(left_at(n, at[i]), expected[i], 0.0006);
    assert_float_equal(rest.left, expected[6], 0.0006);
    assert_float_equal(rest.until, 35, 0);
    assert_float_equal(rest.lost, 35, 0);
}

static void test_weights_count_as_often(void **state)
{
    struct open_watch watches[] = {
        whole_line(4, OPEN_USED), whole_line(8, OPEN_USED),   whole_line(9, OPEN_CENSORED),
        whole_line(6, OPEN_USED), whole_line(10, OPEN_NEVER),
    };
    const double weight[] = {2, 1, 5, 3, 4};
    struct open_rest rest;
    size_t n = estimate(watches, 5, weight, NULL, 0, &rest);
    double s4 = 1 - 2.0 / 15, s6 = s4 * (1 - 3.0 / 13), s8 = s6 * (1 - 1.0 / 10);

    (void)state;
    assert_int_equal(n, 4);
    assert_float_equal(left_at(n, 4), s4, 1e-12);
    assert_float_equal(left_at(n, 6), s6, 1e-12);
    assert_float_equal(left_at(n, 8), s8, 1e-12);
    assert_float_equal(left_at(n, 10), 0, 1e-12);
    assert_int_equal(steps[3].kind, STEP_NEVER);
    assert_float_equal(rest.left, 0, 1e-12);
}

static void test_weight_zero_is_as_absent(void **state)
{
    struct open_watch watches[] = {whole_line(1, OPEN_USED), whole_line(2, OPEN_USED),
                                   whole_line(3, OPEN_USED)};
    const double weight[] = {1, 0, 1};
    struct open_rest rest;
    size_t n = estimate(watches, 3, weight, NULL, 0, &rest);

    (void)state;
    assert_int_equal(n, 2);
    assert_float_equal(left_at(n, 2), 0.5, 1e-12);
}

static void test_others_come_to_the_line(void **state)
{
    struct open_watch watches[] = {whole_line(2, OPEN_USED), whole_line(6, OPEN_USED)};
    const struct open_hazard crossings[] = {{1, 0.25, 1, 7}, {5, 0.5, 1, 9}};
    struct open_rest rest;
    size_t n = estimate(watches, 2, NULL, crossings, 2, &rest);

    (void)state;
    assert_int_equal(n, 4);
    assert_int_equal(steps[0].kind, STEP_CROSSED);
    assert_int_equal(steps[0].number, 7);
    assert_float_equal(steps[0].mass, 0.25, 1e-12);
    assert_float_equal(steps[1].mass, 0.375, 1e-12);
    assert_int_equal(steps[2].number, 9);
    assert_float_equal(steps[2].mass, 0.1875, 1e-12);
}

static void test_nobody_watched(void **state)
{
    struct open_rest rest;
    struct open_watch other = whole_line(20, OPEN_USED);
    size_t n = estimate(NULL, 0, NULL, NULL, 0, &rest);

    (void)state;
    assert_int_equal(n, 0);
    assert_float_equal(rest.left, 1, 0);
    assert_float_equal(rest.lost_mass, 1, 0);
    /* Other words alone do not tell of the accessed one. */
    other.accessed = other.whole = false;
    estimate(&other, 1, NULL, NULL, 0, &rest);
    assert_float_equal(rest.lost, 0, 0);
    assert_float_equal(rest.lost_mass, 1, 0);
    assert_float_equal(rest.until, 20, 0);
}

static double exponential(struct random *random, double mean)
{
    return -mean * log(((double)(random_next(random) >> 11) + 0.5) * 0x1p-53);
}

/*
 * Lines of 8 words that are visited at random, each visit to one word; the run ends for some. The
 * survival of the line is that of the shortest of the nine times; each watch sees one of them.
 */
static void test_words_tell_of_lines(void **state)
{
    enum { WATCHES = 2000, SEEDS = 40, WORDS = 8 };
    static struct open_watch watches[WATCHES];
    double mean_own = 300, mean_other = 2100, mean_end = 900, sum = 0, squares = 0;
    double at = 120, truth = exp(-at * (1 / mean_own + 7 / mean_other + 1 / mean_end));
    struct random random;

    (void)state;
    random_seed(&random, 3);
    for (int seed = 0; seed < SEEDS; seed++) {
        struct open_rest rest;

        for (int i = 0; i < WATCHES; i++) {
            bool accessed = random_below(&random, 2);
            double use = exponential(&random, accessed ? mean_own : mean_other);
            double end = exponential(&random, mean_end), evicted = exponential(&random, 400);

            watches[i] = (struct open_watch){.accessed = accessed, .design = 2};
            watches[i].exit = fmin(use, fmin(end, evicted));
            watches[i].end = use < fmin(end, evicted) ? OPEN_USED
                             : end < evicted          ? OPEN_NEVER
                                                      : OPEN_CENSORED;
            watches[i].multiplicity = accessed ? 1 : WORDS - 1;
        }
        size_t n = estimate(watches, WATCHES, NULL, NULL, 0, &rest);
        double left = left_at(n, at);
        sum += left;
        squares += left * left;
    }
    double mean = sum / SEEDS, error = sqrt((squares / SEEDS - mean * mean) / SEEDS);
    assert_true(fabs(mean - truth) < 4 * error + 0.001);
    assert_true(error < 0.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_example),
        cmocka_unit_test(test_weights_count_as_often),
        cmocka_unit_test(test_weight_zero_is_as_absent),
        cmocka_unit_test(test_others_come_to_the_line),
        cmocka_unit_test(test_nobody_watched),
        cmocka_unit_test(test_words_tell_of_lines),
    };
    return cmocka_run_group_tests_name("reuse/open_survival", tests, NULL, NULL);
}

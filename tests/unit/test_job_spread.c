/* SPDX-License-Identifier: BSD-3-Clause */
/* The spread over a job's ranks: against values worked out by hand and published constants. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/job/spread.h"

static void close_to(double value, double expected)
{
    assert_true(fabs(value - expected) <= 1e-6 * fmax(1, fabs(expected)));
}

static struct estimate within(double value, double half)
{
    return (struct estimate){value, value - half, value + half};
}

static void finds_quartiles(void **state)
{
    static const double values[] = {7, 1, 3, 9, 5, 11};
    struct spread spread = spread_of(values, 6);

    (void)state;
    close_to(spread.least, 1);
    close_to(spread.lower, 3.5);
    close_to(spread.median, 6);
    close_to(spread.upper, 8.5);
    close_to(spread.most, 11);
    /* Distances from 6: 1 1 3 3 5 5. */
    close_to(spread.scale, 1.4826 * 3);
    spread = spread_of(values, 1);
    close_to(spread.lower, 7);
    close_to(spread.most, 7);
    assert_int_equal(spread_of(values, 0).count, 0);
}

static void takes_the_mean_distance_where_most_are_equal(void **state)
{
    static const double values[] = {2, 2, 2, 2, 12};
    static const double equal[] = {2, 2, 2, 2, 2};
    struct spread spread = spread_of(values, 5);

    (void)state;
    close_to(spread.scale, 1.2533 * 2);
    close_to(spread_score(&spread, 12), 10 / (1.2533 * 2));
    close_to(spread_score(&spread, 2), 0);
    spread = spread_of(equal, 5);
    assert_true(isinf(spread_score(&spread, 1)) && spread_score(&spread, 1) < 0);
}

/* A rank is apart only if score, size and interval say so. */
static void tells_who_is_apart(void **state)
{
    static const double values[] = {10, 10.1, 9.9, 10.2, 9.8, 20};
    static const double narrow[] = {10, 10.001, 9.999, 10.002, 9.998, 10.5};
    static const double wide[] = {1, 5, 10, 15, 19, 25};
    static const double few[] = {10, 10, 10, 20};
    struct spread spread = spread_of(values, 6);

    (void)state;
    assert_true(spread_is_apart(&spread, within(20, 1), 1));
    assert_true(spread_is_apart(&spread, within(20, 9), 1));
    assert_false(spread_is_apart(&spread, within(20, 9), 2));
    assert_false(spread_is_apart(&spread, within(20, 11), 1));
    assert_false(spread_is_apart(&spread, within(10.2, 0), 1));
    assert_true(spread_is_apart(&spread, within(5, 0), 1));
    spread = spread_of(narrow, 6);
    assert_false(spread_is_apart(&spread, within(10.5, 0), 1));
    spread = spread_of(wide, 6);
    assert_false(spread_is_apart(&spread, within(25, 0), 1));
    spread = spread_of(few, 4);
    assert_false(spread_is_apart(&spread, within(20, 0), 1));
}

/* Quantiles of the normal distribution, from tables. */
static void widens_for_many_questions(void **state)
{
    (void)state;
    close_to(interval_factor(0), 1);
    close_to(interval_factor(1), 1);
    close_to(interval_factor(5), 2.5758293 / 1.959964);
    close_to(interval_factor(50), 3.2905267 / 1.959964);
}

static void tells_who_is_alike(void **state)
{
    (void)state;
    assert_true(estimates_are_alike(within(1, 0.3), within(1.4, 0.3), 1));
    assert_false(estimates_are_alike(within(1, 0.1), within(1.4, 0.1), 1));
    assert_true(estimates_are_alike(within(1, 0.1), within(1.4, 0.1), 3));
    assert_true(estimates_are_alike(within(1, 0), within(1.1, 0), 1));
    assert_false(estimates_are_alike(within(1, 0), within(1.2, 0), 1));
    assert_true(estimates_are_alike(within(0, 0), within(0, 0), 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_quartiles),
        cmocka_unit_test(takes_the_mean_distance_where_most_are_equal),
        cmocka_unit_test(tells_who_is_apart),
        cmocka_unit_test(widens_for_many_questions),
        cmocka_unit_test(tells_who_is_alike),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

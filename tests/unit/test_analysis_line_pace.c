/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines touched in a time, from binned reuse times, against sums over the times themselves. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analysis/curves/line_pace.h"
#include "sampling/random.h"

static void points_and_times(void **state)
{
    (void)state;
    struct random random;

    random_seed(&random, 1);
    assert_float_equal(pace_time(0), 0, 0);
    assert_float_equal(pace_time(1), 1, 0);
    for (size_t k = 0; k < PACE_POINTS; k++)
        assert_int_equal(pace_point(pace_time(k)), k);
    for (size_t k = 1; k < PACE_POINTS; k++)
        assert_true(pace_time(k) == exp2((double)(k - 1) / PACE_PER_OCTAVE));
    for (int i = 0; i < 1000; i++) {
        double time = exp2(random_below(&random, 45000) / 1000.0);
        size_t point = pace_point(time);

        assert_true(pace_time(point) >= time * (1 - 1e-9));
        assert_true(point == 1 || pace_time(point - 1) < time);
    }
    assert_int_equal(pace_point(1e300), PACE_POINTS);
}

static void values_are_joined_by_lines(void **state)
{
    (void)state;
    double values[PACE_POINTS];

    for (size_t k = 0; k < PACE_POINTS; k++)
        values[k] = 1 + 2 * pace_time(k);
    for (double time = 0; time < 1e6; time = 1.37 * time + 0.1)
        assert_float_equal(pace_at(values, time), 1 + 2 * time, 1e-9 * (1 + time));
    assert_float_equal(pace_at(values, 1e300), values[PACE_POINTS - 1], 0);
}

static void area_is_the_mean_of_times_cut_short(void **state)
{
    (void)state;
    enum { TIMES = 5000, OPEN = 1000 };
    static double times[TIMES];
    static const double dilations[] = {1, 3.5};
    struct random random;

    random_seed(&random, 2);
    for (size_t d = 0; d < 2; d++) {
        double counts[PROBE_TIME_BINS] = {0}, area[PACE_POINTS] = {0};

        for (size_t i = 0; i < TIMES; i++) {
            times[i] = 1 + floor(exp2(random_below(&random, 12000) / 1000.0));
            counts[probe_time_bin((uint32_t)times[i])]++;
        }
        pace_add_times(counts, TIMES + OPEN, dilations[d], area);
        for (size_t k = 0; k < PACE_POINTS; k++) {
            double sum = 0;

            for (size_t i = 0; i < TIMES; i++)
                sum += fmin(times[i] * dilations[d], pace_time(k));
            assert_float_equal(area[k], sum / (TIMES + OPEN), 0.02 * sum / (TIMES + OPEN) + 1e-9);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_and_times),
        cmocka_unit_test(values_are_joined_by_lines),
        cmocka_unit_test(area_is_the_mean_of_times_cut_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

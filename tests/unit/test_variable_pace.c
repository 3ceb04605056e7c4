/* SPDX-License-Identifier: BSD-3-Clause */
/* The pace of a variable that is set back now and then, against variables whose pace is known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/rates/variable_pace.h"
#include "sampling/random.h"

enum { READINGS = 24, SEEDS = 200 };

static const double pace_per_ns = 4, loss_ns = 2e3;

static double uniform(struct random *random)
{
    return ((double)(random_next(random) >> 11) + 0.5) / 9007199254740992.0;
}

/* An index that runs from 0 to `length`, again and again; each time at another speed. The counter
 * counts how often it began anew. */
static void index_of_rows(struct random *random, double length, double speeds,
                          struct pace_reading list[READINGS])
{
    for (size_t i = 0; i < READINGS; i++) {
        double ns = 62.5e3 * pow(2, random_below(random, 5)) * (1 + 0.04 * uniform(random));
        double speed = pace_per_ns * (1 + speeds * (2 * uniform(random) - 1));
        double from = length * uniform(random), to = from + speed * ns;

        list[i] = (struct pace_reading){.ns = ns + loss_ns,
                                        .moved = fmod(to, length) - from,
                                        .counter = 3 * floor(to / length)};
    }
}

static void sums_are_divided(void **state)
{
    struct pace_reading list[] = {
        {LOOK_LOSS_NS + 1e5, 5, 0}, {LOOK_LOSS_NS + 3e5, 0, 0}, {LOOK_LOSS_NS + 6e5, 15, 0}};
    struct pace pace;

    (void)state;
    assert_true(pace_of_all(list, 3, &pace));
    assert_float_equal(pace.per_ns, 2e-5, 1e-12);
    assert_int_equal(pace.count, 3);
    assert_false(pace_of_all(list + 1, 1, &pace));
    assert_false(pace_of_all(list, 0, &pace));
}

/* One that is set back outweighs a hundred that are not. */
static void one_set_back_is_left_out(void **state)
{
    struct pace_reading list[101];
    struct pace pace;

    (void)state;
    for (size_t i = 0; i < 101; i++)
        list[i] = (struct pace_reading){LOOK_LOSS_NS + 1e5, i == 40 ? -50000 : 5, 0};
    assert_true(pace_of_all(list, 101, &pace));
    assert_float_equal(pace.per_ns, 5e-5, 1e-12);
    assert_int_equal(pace.count, 100);
}

/* Rows of 250 us to 2 ms: most paces found are within 15 %, and hardly any far off. */
static void most_agree(void **state)
{
    (void)state;
    for (double row_ns = 250e3; row_ns < 4e6; row_ns *= 2) {
        unsigned found = 0, near = 0;

        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            struct random random;
            struct pace_reading list[READINGS];
            struct pace pace;

            random_seed(&random, seed);
            index_of_rows(&random, pace_per_ns * row_ns, 0.1, list);
            if (!pace_of_most(list, READINGS, &pace))
                continue;
            found++;
            near += fabs(log(pace.per_ns / pace_per_ns)) < 0.15;
        }
        if (found < SEEDS * 9 / 10 || near < found * 9 / 10)
            fail_msg("rows of %.0f us: %u found, %u of them near", row_ns / 1e3, found, near);
    }
}

/* As long as it is known how many rows there were: the shorter they are, the less is left to tell
 * the pace from, and that is said. */
static void a_counter_explains(void **state)
{
    (void)state;
    for (double row_ns = 3e3; row_ns < 2e6; row_ns *= 3) {
        unsigned found = 0, near = 0, close = 0;

        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            struct random random;
            struct pace_reading list[READINGS];
            struct pace pace;
            double off;

            random_seed(&random, seed);
            index_of_rows(&random, pace_per_ns * row_ns, 0, list);
            if (!pace_with_counter(list, READINGS, &pace))
                continue;
            off = fabs(log(pace.per_ns / pace_per_ns));
            found++;
            near += off < fmax(0.05, 3 * sqrt(pace.variance));
            close += off < 0.05;
            assert_int_equal(pace.count, READINGS);
        }
        if ((row_ns > 50e3 && (found < SEEDS * 8 / 10 || close < found * 8 / 10)) ||
            near < found * 8 / 10)
            fail_msg("rows of %.0f us: %u found, %u near, %u close", row_ns / 1e3, found, near,
                     close);
    }
}

/* Speeds differ by 10 %: within three standard errors nearly always, which are small. */
static void a_counter_explains_roughly(void **state)
{
    unsigned found = 0, near = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct random random;
        struct pace_reading list[READINGS];
        struct pace pace;

        random_seed(&random, seed);
        index_of_rows(&random, pace_per_ns * 200e3, 0.1, list);
        if (!pace_with_counter(list, READINGS, &pace))
            continue;
        found++;
        near += fabs(log(pace.per_ns / pace_per_ns)) < 3 * sqrt(pace.variance);
    }
    if (found < SEEDS * 8 / 10 || near < found * 95 / 100)
        fail_msg("%u found, %u of them near", found, near);
}

/* Rows of 50 us, times from 45 us on, a quarter of which something else had up to two thirds of:
 * the pace over all of the time is found, without a lean to either side. */
static void times_may_be_interrupted(void **state)
{
    unsigned found = 0, near = 0;
    double sum = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct random random;
        struct pace_reading list[READINGS];
        struct pace pace;
        double on = 0, all = 0, off;

        random_seed(&random, seed);
        for (size_t i = 0; i < READINGS; i++) {
            double ns = 45e3 * pow(2, random_below(&random, 4)) * (1 + 0.2 * uniform(&random));
            double length = pace_per_ns * 50e3, from = length * uniform(&random);
            double runs =
                random_below(&random, 4) ? 1 - 0.1 * uniform(&random) : 1 - 0.67 * uniform(&random);
            double to = from + pace_per_ns * runs * ns;

            list[i] = (struct pace_reading){.ns = ns + loss_ns,
                                            .moved = fmod(to, length) - from,
                                            .counter = floor(to / length)};
            on += runs * ns;
            all += ns;
        }
        if (!pace_with_counter(list, READINGS, &pace))
            continue;
        off = log(pace.per_ns / (pace_per_ns * on / all));
        found++;
        sum += off;
        near += fabs(off) < 3 * sqrt(pace.variance);
    }
    if (found < SEEDS * 8 / 10 || near < found * 9 / 10 || fabs(sum / found) > 0.04)
        fail_msg("%u found, %u of them near, %.2f off in the mean", found, near, sum / found);
}

/* Neither a variable that has nothing to do with the other, nor one that is the same. */
static void what_counts_nothing_is_refused(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct random random;
        struct pace_reading list[READINGS];
        struct pace pace;

        random_seed(&random, seed);
        index_of_rows(&random, pace_per_ns * 100e3, 0.1, list);
        for (size_t i = 0; i < READINGS; i++)
            list[i].counter = floor(10 * uniform(&random));
        assert_false(pace_with_counter(list, READINGS, &pace));
        for (size_t i = 0; i < READINGS; i++)
            list[i].counter = 8 * list[i].moved;
        assert_false(pace_with_counter(list, READINGS, &pace));
        for (size_t i = 0; i < READINGS; i++)
            list[i].counter = 0;
        assert_false(pace_with_counter(list, READINGS, &pace));
    }
}

/* What is always set back has none; what few readings say, neither. */
static void nothing_is_made_up(void **state)
{
    struct pace_reading list[READINGS];
    struct random random;
    struct pace pace;

    (void)state;
    random_seed(&random, 7);
    index_of_rows(&random, pace_per_ns * 1e6, 0, list);
    for (size_t i = 0; i < READINGS; i++)
        list[i].moved = -fabs(list[i].moved);
    assert_false(pace_of_most(list, READINGS, &pace));
    assert_false(pace_of_most(list, 0, &pace));
    list[3].moved = 1e5;
    assert_false(pace_of_most(list, READINGS, &pace));
    assert_false(pace_with_counter(list, 4, &pace));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_divided),
        cmocka_unit_test(one_set_back_is_left_out),
        cmocka_unit_test(most_agree),
        cmocka_unit_test(a_counter_explains),
        cmocka_unit_test(a_counter_explains_roughly),
        cmocka_unit_test(times_may_be_interrupted),
        cmocka_unit_test(what_counts_nothing_is_refused),
        cmocka_unit_test(nothing_is_made_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Survival curves against published values, brute force and closed forms. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/internal.h"
#include "reuse/survival.h"
#include "sampling/random.h"

enum { EVENTS_MAX = 8192 };

/* A problem under construction: observers are added sample by sample. */
struct problem {
    struct survival_event events[EVENTS_MAX];
    double weight[EVENTS_MAX];
    uint32_t stratum[EVENTS_MAX];
    struct survival_input input;
    struct survival_curve curve;
};

static struct problem *problem_new(void)
{
    struct problem *problem = calloc(1, sizeof *problem);

    assert_non_null(problem);
    problem->input = (struct survival_input){.events = problem->events,
                                             .weight_of = problem->weight,
                                             .stratum_of = problem->stratum,
                                             .strata = 1,
                                             .scale = 1,
                                             .beyond_pivot = 1,
                                             .other_factor = 1};
    return problem;
}

static void problem_free(struct problem *problem)
{
    survival_free(&problem->curve);
    free(problem);
}

static uint32_t add_sample(struct problem *problem, double weight, uint32_t stratum)
{
    uint32_t sample = (uint32_t)problem->input.sample_count++;

    problem->weight[sample] = weight;
    problem->stratum[sample] = stratum;
    if (stratum >= problem->input.strata)
        problem->input.strata = stratum + 1;
    return sample;
}

static void add_event(struct problem *problem, double time, uint32_t sample, float multiplicity,
                      enum observer observer, bool begins)
{
    assert_true(problem->input.event_count < EVENTS_MAX);
    problem->events[problem->input.event_count++] =
        (struct survival_event){.time = time,
                                .sample = sample,
                                .multiplicity = multiplicity,
                                .design = 1,
                                .observer = (uint8_t)observer,
                                .begins = begins,
                                .trapped = observer == OBSERVER_INVALIDATION && multiplicity > 0};
}

static void add_watch(struct problem *problem, uint32_t sample, double from, double to,
                      float multiplicity, enum observer observer)
{
    add_event(problem, from, sample, 0, observer, true);
    add_event(problem, to, sample, multiplicity, observer, false);
}

static void solve(struct problem *problem)
{
    survival_sort(problem->events, problem->input.event_count);
    assert_int_equal(survival_estimate(&problem->input, &problem->curve), 0);
    double before = 1;
    for (size_t i = 0; i < problem->curve.count; i++) {
        const struct survival_point *point = &problem->curve.points[i];
        assert_true(point->survival >= 0 && point->survival <= before);
        assert_true(point->unknown >= 0 && point->unknown <= point->survival);
        assert_true(i == 0 || point->time > point[-1].time);
        assert_true(i == 0 || point->invalidated >= point[-1].invalidated);
        before = point->survival;
    }
}

static double at(const struct problem *problem, double time)
{
    return survival_at(&problem->curve, time)->survival;
}

/* Freireich et al. 1963 (6-mercaptopurine in leukaemia), the textbooks' Kaplan-Meier example. */
static const struct {
    int time;
    bool event;
} remission[] = {{6, 1},  {6, 1},  {6, 1},  {6, 0},  {7, 1},  {9, 0},  {10, 1},
                 {10, 0}, {11, 0}, {13, 1}, {16, 1}, {17, 0}, {19, 0}, {20, 0},
                 {22, 1}, {23, 1}, {25, 0}, {32, 0}, {32, 0}, {34, 0}, {35, 0}};
enum { PATIENTS = sizeof remission / sizeof *remission };

static void check_remission(const struct problem *problem)
{
    assert_float_equal(at(problem, 5.9), 1, 1e-12);
    assert_float_equal(at(problem, 6), 0.857, 0.0005);
    assert_float_equal(at(problem, 7), 0.807, 0.0005);
    assert_float_equal(at(problem, 10), 0.753, 0.0005);
    assert_float_equal(at(problem, 13), 0.690, 0.0005);
    assert_float_equal(at(problem, 16), 0.627, 0.0005);
    assert_float_equal(at(problem, 22), 0.538, 0.0005);
    assert_float_equal(at(problem, 23), 0.448, 0.0005);
    assert_float_equal(at(problem, 1000), 0.448, 0.0005);
}

static void published_example_by_windows(void **state)
{
    (void)state;
    struct problem *problem = problem_new();
    for (int i = 0; i < PATIENTS; i++)
        add_event(problem, remission[i].time, add_sample(problem, 2.5, 0),
                  (float)remission[i].event, OBSERVER_WINDOW, false);
    solve(problem);
    check_remission(problem);
    /* Nobody is left after 35: what survives is not known any more. */
    assert_float_equal(survival_at(&problem->curve, 34.9)->unknown, 0, 1e-12);
    assert_float_equal(survival_at(&problem->curve, 35)->unknown, 0.448, 0.0005);
    problem_free(problem);
}

static void published_example_by_watches(void **state)
{
    (void)state;
    struct problem *problem = problem_new();
    for (int i = 0; i < PATIENTS; i++) {
        uint32_t sample = add_sample(problem, 1, 0);
        add_event(problem, 0, sample, 0, OBSERVER_WINDOW, false);
        add_watch(problem, sample, 0, remission[i].time, (float)remission[i].event,
                  OBSERVER_ACCESSED);
    }
    solve(problem);
    check_remission(problem);
    problem_free(problem);
}

static void integer_weights_are_copies(void **state)
{
    (void)state;
    struct problem *weighted = problem_new(), *copied = problem_new();
    for (int i = 0; i < PATIENTS; i++) {
        int copies = 1 + i % 4;
        add_event(weighted, remission[i].time, add_sample(weighted, copies, 0),
                  (float)remission[i].event, OBSERVER_WINDOW, false);
        for (int k = 0; k < copies; k++)
            add_event(copied, remission[i].time, add_sample(copied, 1, 0),
                      (float)remission[i].event, OBSERVER_WINDOW, false);
    }
    solve(weighted);
    solve(copied);
    for (double t = 0; t < 40; t++)
        assert_float_equal(at(weighted, t), at(copied, t), 1e-9);
    problem_free(weighted);
    problem_free(copied);
}

static void without_censoring_it_is_the_empirical_distribution(void **state)
{
    (void)state;
    struct random random;
    random_seed(&random, 5);
    struct problem *problem = problem_new();
    double times[500];
    for (int i = 0; i < 500; i++) {
        times[i] = 1 + random_below(&random, 200);
        uint32_t sample = add_sample(problem, 1, i % 3 == 0);
        /* Resolved in the window, or by a watch that began where the window ended. */
        if (times[i] <= 100) {
            add_event(problem, times[i], sample, 1, OBSERVER_WINDOW, false);
        } else {
            add_event(problem, 100, sample, 0, OBSERVER_WINDOW, false);
            add_watch(problem, sample, 100, times[i], 1, OBSERVER_ACCESSED);
        }
    }
    solve(problem);
    for (double t = 0; t <= 201; t++) {
        int later = 0;
        for (int i = 0; i < 500; i++)
            later += times[i] > t;
        assert_float_equal(at(problem, t), later / 500.0, 1e-9);
    }
    assert_true(at(problem, 201) == 0);
    assert_true(survival_at(&problem->curve, INFINITY)->unknown == 0);
    problem_free(problem);
}

static void strata_undo_censoring_that_depends_on_them(void **state)
{
    (void)state;
    /* Half are reused at 100 and mostly censored before, half at 1000 and never censored. Pooled,
     * few of those at risk at 100 would be of the first half. */
    struct problem *problem = problem_new();
    for (int i = 0; i < 100; i++) {
        uint32_t quick = add_sample(problem, 1, 0), slow = add_sample(problem, 1, 1);
        add_event(problem, i % 10 ? 5 : 100, quick, i % 10 ? 0 : 1, OBSERVER_WINDOW, false);
        add_event(problem, 1000, slow, 1, OBSERVER_WINDOW, false);
    }
    solve(problem);
    assert_float_equal(at(problem, 99), 1, 1e-12);
    assert_float_equal(at(problem, 100), 0.5, 1e-12);
    assert_float_equal(at(problem, 999), 0.5, 1e-12);
    assert_float_equal(at(problem, 1000), 0, 1e-12);
    problem_free(problem);
}

static void late_observers_count_only_while_they_look(void **state)
{
    (void)state;
    /* One window sees everything from 0; a second subject is only looked at from 50 on. */
    struct problem *problem = problem_new();
    uint32_t a = add_sample(problem, 1, 0), b = add_sample(problem, 1, 0),
             c = add_sample(problem, 1, 0);
    add_event(problem, 10, a, 1, OBSERVER_WINDOW, false);
    add_event(problem, 20, b, 0, OBSERVER_WINDOW, false);
    add_event(problem, 20, c, 0, OBSERVER_WINDOW, false);
    add_watch(problem, b, 50, 60, 1, OBSERVER_ACCESSED);
    add_watch(problem, c, 55, 70, 0, OBSERVER_ACCESSED);
    solve(problem);
    assert_float_equal(at(problem, 10), 2.0 / 3, 1e-12);
    assert_float_equal(at(problem, 59), 2.0 / 3, 1e-12);
    /* Knowledge was lost between 20 and 50: what comes after gives an upper bound. */
    assert_float_equal(survival_at(&problem->curve, 20)->unknown, 2.0 / 3, 1e-12);
    assert_float_equal(at(problem, 80), 1.0 / 3, 1e-12);
    assert_float_equal(survival_at(&problem->curve, 80)->unknown, 1.0 / 3, 1e-12);
    problem_free(problem);
}

static void never_ending_observers_are_a_known_plateau(void **state)
{
    (void)state;
    struct problem *problem = problem_new();
    for (int i = 0; i < 40; i++) {
        uint32_t sample = add_sample(problem, 1, 0);
        add_event(problem, 10, sample, 0, OBSERVER_WINDOW, false);
        add_event(problem, 10, sample, 0, OBSERVER_ACCESSED, true);
        if (i % 4)
            add_event(problem, 100 + i, sample, 1, OBSERVER_ACCESSED, false);
    }
    solve(problem);
    assert_float_equal(at(problem, 1e9), 0.25, 1e-9);
    assert_true(survival_at(&problem->curve, 1e9)->unknown == 0);
    problem_free(problem);
}

/*
 * Eight independent words per line, each reused after an exponential time: the line after the
 * least of them. Watches see the accessed word, or one of the seven others.
 */
static void independent_words_make_a_line(void **state)
{
    (void)state;
    double mean = 0, squares = 0;
    enum { ROUNDS = 200, SAMPLES = 400 };

    for (unsigned round = 0; round < ROUNDS; round++) {
        struct random random;
        random_seed(&random, 1000 + round);
        struct problem *problem = problem_new();
        for (int i = 0; i < SAMPLES; i++) {
            double u = ((double)random_below(&random, 1u << 30) + 0.5) / (1u << 30);
            double word = -log(u) * 8;
            uint32_t sample = add_sample(problem, 1, 0);
            add_event(problem, 0, sample, 0, OBSERVER_WINDOW, false);
            add_watch(problem, sample, 0, word, i % 2 ? 7 : 1,
                      i % 2 ? OBSERVER_OTHER : OBSERVER_ACCESSED);
        }
        solve(problem);
        double estimate = at(problem, 1);
        mean += estimate / ROUNDS;
        squares += estimate * estimate / ROUNDS;
        problem_free(problem);
    }
    double error = sqrt((squares - mean * mean) / ROUNDS);
    print_message("S(1) = %.4f, should be %.4f, standard error %.4f\n", mean, exp(-1), error);
    assert_true(fabs(mean - exp(-1)) < 4 * error + 0.002);
}

/* Reuse and invalidation as independent exponentials with rates 1 and `rate`. */
static void invalidated_before_reuse(void **state)
{
    (void)state;
    const double rate = 0.5;
    for (int shared = 0; shared < 2; shared++) {
        struct random random;
        random_seed(&random, 77);
        struct problem *problem = problem_new();
        for (int i = 0; i < 1200; i++) {
            double u = ((double)random_below(&random, 1u << 30) + 0.5) / (1u << 30);
            double v = ((double)random_below(&random, 1u << 30) + 0.5) / (1u << 30);
            double reuse = -log(u), invalidation = -log(v) / rate;
            double seen = fmin(reuse, invalidation);
            uint32_t sample = add_sample(problem, 1, shared ? i % 40 : 0);
            add_event(problem, 0, sample, 0, OBSERVER_WINDOW, false);
            add_event(problem, reuse, sample, 1, OBSERVER_ACCESSED, false);
            add_event(problem, 0, sample, 0, OBSERVER_ACCESSED, true);
            if (i % 2 == 0)
                continue; /* not covered by an invalidation watch */
            add_watch(problem, sample, 0, seen, invalidation < reuse, OBSERVER_INVALIDATION);
        }
        bool shares[40];
        memset(shares, 1, sizeof shares);
        problem->input.shares_invalidation = shared ? shares : NULL;
        problem->input.strata = shared ? 40 : 1;
        survival_sort(problem->events, problem->input.event_count);
        solve(problem);
        double t = 1.5;
        /* P(invalidated before reuse, reused by t) for independent exponentials. */
        double expected = (1 - exp(-t)) - (1 - exp(-(1 + rate) * t)) / (1 + rate);
        print_message("shared %d: S %.4f (%.4f), invalidated %.4f (%.4f)\n", shared, at(problem, t),
                      exp(-t), survival_at(&problem->curve, t)->invalidated, expected);
        assert_float_equal(at(problem, t), exp(-t), 0.05);
        assert_float_equal(survival_at(&problem->curve, t)->invalidated, expected, 0.05);
        problem_free(problem);
    }
}

static void short_windows_and_watches_share_a_time(void **state)
{
    (void)state;
    /* Exponential reuse; a third of the windows is cut at 0.2, so that watches and windows both see
     * the time up to 1. The combination has to stay on the curve. */
    struct random random;
    random_seed(&random, 11);
    struct problem *problem = problem_new();
    for (int i = 0; i < 900; i++) {
        double u = ((double)random_below(&random, 1u << 30) + 0.5) / (1u << 30);
        double reuse = -log(u), window = i % 3 ? 1 : 0.2;
        uint32_t sample = add_sample(problem, 1, 0);
        add_event(problem, fmin(reuse, window), sample, reuse <= window, OBSERVER_WINDOW, false);
        if (reuse > window) {
            add_watch(problem, sample, window, reuse, 1, OBSERVER_ACCESSED);
            add_watch(problem, sample, window, reuse, 0, OBSERVER_OTHER);
        }
    }
    solve(problem);
    for (double t = 0.1; t < 3; t += 0.1)
        assert_float_equal(at(problem, t), exp(-t), 0.06);
    problem_free(problem);
}

static void stretching_moves_times_beyond_the_pivot(void **state)
{
    (void)state;
    struct problem *problem = problem_new();
    for (int i = 1; i <= 4; i++)
        add_event(problem, 10 * i, add_sample(problem, 1, 0), 1, OBSERVER_WINDOW, false);
    problem->input.pivot = 20;
    problem->input.scale = 3;
    solve(problem);
    assert_float_equal(at(problem, 20), 0.5, 1e-12);
    assert_float_equal(at(problem, 49.9), 0.5, 1e-12);
    assert_float_equal(at(problem, 50), 0.25, 1e-12);
    assert_float_equal(at(problem, 80), 0, 1e-12);
    problem_free(problem);
}

/* Sums over few times and strata, some of the windows overlapping with watches. */
static void cohorts_change_nothing(void **state)
{
    (void)state;
    enum { SAMPLES = 600, STRATA = 3, TIMES = 9 };
    struct problem *problem = problem_new();
    struct view view = {.count = SAMPLES, .strata = STRATA, .stratum_of = problem->stratum};
    double weight[SAMPLES], before[2 * TIMES];
    uint32_t state_of_random = 12345;

    for (uint32_t i = 0; i < SAMPLES; i++) {
        uint32_t draw = state_of_random = state_of_random * 1664525u + 1013904223u;
        uint32_t sample = add_sample(problem, draw >> 28, (draw >> 20) % STRATA);
        double time = 1 + (draw >> 12) % TIMES;
        bool reused = (draw >> 8 & 7) != 0;

        add_event(problem, time, sample, reused, OBSERVER_WINDOW, false);
        if (reused || draw >> 31)
            continue;
        /* Half a unit off, where no window ends: what ends at one time has no order of its own. */
        add_event(problem, time, sample, 0, OBSERVER_ACCESSED, true);
        add_event(problem, time + 2.5, sample, 1, OBSERVER_ACCESSED, false);
        add_event(problem, time, sample, 0, OBSERVER_OTHER, true);
        add_event(problem, time + 3.5, sample, 0, OBSERVER_OTHER, false);
    }
    problem->input.strata = STRATA;
    solve(problem);
    for (int i = 0; i < 2 * TIMES; i++)
        before[i] = at(problem, i);
    view.events = problem->events;
    view.event_count = problem->input.event_count;
    assert_int_equal(view_form_cohorts(&view), 0);
    assert_in_range(view.cohorts, 1, SAMPLES / 2);
    memset(weight, 0, sizeof weight);
    for (uint32_t i = 0; i < SAMPLES; i++)
        weight[view.cohort_of[i]] += problem->weight[i];
    problem->input.event_count = view.event_count;
    problem->input.sample_count = view.cohorts;
    problem->input.weight_of = weight;
    problem->input.stratum_of = view.cohort_stratum;
    assert_int_equal(survival_estimate(&problem->input, &problem->curve), 0);
    for (int i = 0; i < 2 * TIMES; i++)
        assert_float_equal(at(problem, i), before[i], 1e-12);
    free(view.cohort_of);
    free(view.first_of);
    free(view.cohort_stratum);
    free(view.cohort_weight);
    problem_free(problem);
}

static void nothing_in_nothing_out(void **state)
{
    (void)state;
    struct problem *problem = problem_new();
    solve(problem);
    assert_int_equal(problem->curve.count, 0);
    add_event(problem, 5, add_sample(problem, 0, 0), 1, OBSERVER_WINDOW, false);
    solve(problem);
    assert_int_equal(problem->curve.count, 0);
    problem_free(problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_example_by_windows),
        cmocka_unit_test(published_example_by_watches),
        cmocka_unit_test(integer_weights_are_copies),
        cmocka_unit_test(without_censoring_it_is_the_empirical_distribution),
        cmocka_unit_test(strata_undo_censoring_that_depends_on_them),
        cmocka_unit_test(late_observers_count_only_while_they_look),
        cmocka_unit_test(never_ending_observers_are_a_known_plateau),
        cmocka_unit_test(independent_words_make_a_line),
        cmocka_unit_test(invalidated_before_reuse),
        cmocka_unit_test(short_windows_and_watches_share_a_time),
        cmocka_unit_test(stretching_moves_times_beyond_the_pivot),
        cmocka_unit_test(cohorts_change_nothing),
        cmocka_unit_test(nothing_in_nothing_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

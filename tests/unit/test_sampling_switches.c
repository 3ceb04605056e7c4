/* SPDX-License-Identifier: BSD-3-Clause */
/* Context switches: what is charged for them, and how long registers are armed after a burst. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sampling/switches.h"

enum { PERIOD_NS = 15 * 1000 * 1000 };

static const struct event_costs costs = {.trigger_ns = 18000, .due_ns = 10000, .trap_ns = 16000};

/* A thread of so many switches in a second, a burst at every period; its costs from one burst to
 * the next in the end. */
static struct switch_cost run(struct switches *switches, uint64_t per_second)
{
    struct switch_cost cost = {0};

    switches_begin(switches);
    for (uint64_t i = 1; i <= 40; i++)
        cost = switches_count(switches, i * PERIOD_NS * per_second / 1000000000, i * PERIOD_NS,
                              PERIOD_NS, &costs);
    return cost;
}

static struct window_terms terms(double burst_ns, double periods)
{
    return (struct window_terms){
        .burst_ns = burst_ns, .periods = periods, .period_ns = PERIOD_NS, .costs = costs};
}

static uint64_t plan(struct switches *switches, struct random *random, struct window_terms terms)
{
    switches_plan_window(switches, random, &terms, switches->app_ns);
    return switches->window_ns;
}

/* From the burst that run() ended with to the next. */
static struct switch_cost next(struct switches *switches, uint64_t count, unsigned periods)
{
    return switches_count(switches, switches->count + count, switches->app_ns + periods * PERIOD_NS,
                          PERIOD_NS, &costs);
}

static void who_never_switches_pays_nothing(void **state)
{
    struct random random = {1};
    struct switches switches;
    struct switch_cost cost = run(&switches, 0);

    (void)state;
    assert_int_equal(cost.besides_ns, 0);
    assert_int_equal(cost.burst_ns, 0);
    assert_int_equal(switches_expiry_cost(&switches, &costs), 0);
    assert_false(switches_are_many(&switches));
    assert_int_equal(plan(&switches, &random, terms(1, 1)), 0);
    cost = next(&switches, 0, 1);
    assert_int_equal(cost.besides_ns + cost.burst_ns, 0);
}

static void switches_are_charged_as_measured(void **state)
{
    struct random random = {1};
    struct switches switches;
    struct switch_cost cost = run(&switches, 50000);

    (void)state;
    /* 750 of them at 0.4 us; 200 within a tick at 10 us. */
    assert_in_range(cost.besides_ns, 299000, 301000);
    assert_in_range(cost.burst_ns, 1990000, 2010000);
    assert_in_range(switches_expiry_cost(&switches, &costs), 1990000, 2010000);
    /* Since that burst. */
    assert_in_range(switches_open_cost(&switches, switches.count + 1000, &costs), 399000, 401000);
    assert_true(switches_are_many(&switches));
    /* Registers that are armed all the time: 9 us more. It takes a burst that dear. */
    switches_note_armed(&switches, true, switches.app_ns);
    assert_int_equal(plan(&switches, &random, terms(1e12, 1)), 0);
    cost = next(&switches, 750, 1);
    assert_in_range(cost.besides_ns, 7040000, 7060000);
    assert_in_range(cost.burst_ns, 1990000, 2010000);
    /* Up to a third of the time. */
    plan(&switches, &random, terms(1e12, 1));
    switches_note_armed(&switches, false, switches.app_ns + PERIOD_NS / 3);
    switches_note_armed(&switches, false, switches.app_ns + PERIOD_NS / 2);
    cost = next(&switches, 750, 1);
    assert_in_range(cost.besides_ns, 2540000, 2560000);
    /* At twenty periods from burst to burst the clock is due twenty times. */
    cost = next(&switches, 15000, 20);
    assert_in_range(cost.burst_ns, 39800000, 40200000);
}

/* Application time is measured, and may seem to go back. */
static void time_that_goes_back_costs_nothing(void **state)
{
    struct switches switches;
    struct switch_cost cost;

    (void)state;
    run(&switches, 50000);
    cost = switches_count(&switches, switches.count, switches.app_ns - 1000, PERIOD_NS, &costs);
    assert_int_equal(cost.burst_ns, 0);
    assert_int_equal(cost.besides_ns, 0);
}

/* What windows cost in the mean, ns, if nothing ends the watches before; longest and shortest. */
static double spent_on_windows(uint64_t per_second, struct window_terms terms, uint64_t *shortest,
                               unsigned *whole)
{
    enum { BURSTS = 100000 };
    struct random random;
    double cost = 0;

    random_seed(&random, 9);
    *shortest = UINT64_MAX;
    *whole = 0;
    for (unsigned i = 0; i < BURSTS; i++) {
        struct switches switches;
        uint64_t without, window;

        without = run(&switches, per_second).burst_ns;
        switches_note_armed(&switches, true, switches.app_ns);
        window = plan(&switches, &random, terms);
        assert_int_equal(plan(&switches, &random, terms), window);
        if (window) {
            uint64_t end = switches.app_ns + window;

            assert_int_equal(switches_window_left(&switches, end - 1), 1);
            assert_int_equal(switches_window_left(&switches, end + 1), 0);
            switches_note_armed(&switches, false, end);
        }
        *shortest = window && window < *shortest ? window : *shortest;
        *whole += window == 0;
        cost += (double)next(&switches, PERIOD_NS * per_second / 1000000000, 1).burst_ns;
        cost -= (double)without;
    }
    return cost / BURSTS;
}

/* It is near the half of what a burst costs that windows may take, and not above; the longest ones
 * are as seldom as the shortest ones are short. */
static void windows_cost_as_much_as_the_burst(void **state)
{
    static const uint64_t per_second[] = {5000, 10000, 40000};

    (void)state;
    for (unsigned i = 0; i < sizeof per_second / sizeof *per_second; i++) {
        uint64_t shortest;
        unsigned whole;
        double cost = spent_on_windows(per_second[i], terms(1e6, 1), &shortest, &whole);
        double share = (double)shortest / PERIOD_NS;

        assert_true(cost > 0.22e6 && cost < 0.51e6);
        assert_true(whole > 0.9 * share * 100000 && whole < 1.1 * share * 100000);
    }
}

/* Where it takes five periods from burst to burst, because most end in the kernel, windows last
 * five times as long as the clock is set for. */
static void windows_that_the_kernel_prolongs_are_shorter(void **state)
{
    uint64_t shortest, prolonged;
    unsigned whole;

    (void)state;
    spent_on_windows(5000, terms(1e6, 1), &shortest, &whole);
    spent_on_windows(5000, terms(1e6, 5), &prolonged, &whole);
    assert_true(prolonged < shortest / 8 && prolonged > shortest / 32);
}

/* A burst whose end waits for a system call has its lines drawn when that is over. */
static void a_window_starts_anew(void **state)
{
    struct random random = {1};
    struct switches switches;
    uint64_t window, later;

    (void)state;
    run(&switches, 50000);
    while ((window = plan(&switches, &random, terms(1e6, 1))) == 0)
        run(&switches, 50000);
    later = switches.app_ns + 3 * window;
    assert_int_equal(switches_window_left(&switches, later), 0);
    switches_restart_window(&switches, later);
    assert_int_equal(switches_window_left(&switches, later), window);
}

/* Registers that go off and on are charged for while they are on. */
static void armed_time_adds_up(void **state)
{
    struct random random = {1};
    struct switches switches;
    struct switch_cost with, without;
    uint64_t start;

    (void)state;
    without = run(&switches, 50000);
    start = switches.app_ns;
    plan(&switches, &random, terms(1e12, 1));
    for (unsigned i = 0; i < 4; i++)
        switches_note_armed(&switches, i % 2 == 0, start + i * PERIOD_NS / 8);
    with = next(&switches, 750, 1);
    /* Two eighths of 750 at 9 us. */
    assert_in_range(with.besides_ns - without.besides_ns, 1680000, 1695000);
}

static void windows_have_an_end(void **state)
{
    struct window_terms untrapped = terms(1e12, 1);
    struct random random = {1};
    struct switches switches;
    uint64_t shortest;
    unsigned whole;

    (void)state;
    spent_on_windows(1000 * 1000 * 1000, terms(1000, 1), &shortest, &whole);
    assert_in_range(shortest, 100000, 200000);
    /* Without registers that trap there is nothing to arm. */
    untrapped.costs.trap_ns = 0;
    run(&switches, 10000);
    assert_int_equal(plan(&switches, &random, untrapped), 0);
    assert_true(switches_window_left(&switches, 0) == UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_never_switches_pays_nothing),
        cmocka_unit_test(switches_are_charged_as_measured),
        cmocka_unit_test(time_that_goes_back_costs_nothing),
        cmocka_unit_test(windows_cost_as_much_as_the_burst),
        cmocka_unit_test(windows_that_the_kernel_prolongs_are_shorter),
        cmocka_unit_test(a_window_starts_anew),
        cmocka_unit_test(armed_time_adds_up),
        cmocka_unit_test(windows_have_an_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

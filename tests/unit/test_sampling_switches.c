/* SPDX-License-Identifier: BSD-3-Clause */
/* Context switches: what is charged for them, and the share of time that registers are armed for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sampling/switches.h"

enum { TRIGGER_NS = 18000, TRAP_NS = 16000, PERIOD_NS = 15 * 1000 * 1000 };

/* A thread of so many switches in a second, a burst at every period; its costs from one burst to
 * the next in the end. */
static struct switch_cost run(struct switches *switches, uint64_t per_second)
{
    struct switch_cost cost = {0};

    switches_begin(switches);
    for (uint64_t i = 1; i <= 40; i++)
        cost = switches_count(switches, i * PERIOD_NS * per_second / 1000000000, i * PERIOD_NS,
                              PERIOD_NS, TRIGGER_NS, TRAP_NS);
    return cost;
}

static void who_never_switches_pays_nothing(void **state)
{
    struct switches switches;
    struct switch_cost cost = run(&switches, 0);

    (void)state;
    assert_int_equal(cost.besides_ns, 0);
    assert_int_equal(cost.burst_ns, 0);
    assert_true(switches_watch_share(&switches, 0.02, TRAP_NS) == 1);
}

static void switches_are_charged_as_measured(void **state)
{
    struct switches switches;
    struct switch_cost cost = run(&switches, 50000);

    (void)state;
    /* 750 of them at 1 us; 200 within a tick at 3.5 us. */
    assert_in_range(cost.besides_ns, 740000, 760000);
    assert_in_range(cost.burst_ns, 690000, 710000);
    /* At twenty periods from burst to burst the clock is due twenty times. */
    cost = switches_count(&switches, switches.count + 15000, switches.app_ns + 20 * PERIOD_NS,
                          PERIOD_NS, TRIGGER_NS, TRAP_NS);
    assert_in_range(cost.burst_ns, 13800000, 14200000);
}

/* Application time is measured, and may seem to go back. */
static void time_that_goes_back_costs_nothing(void **state)
{
    struct switches switches;
    struct switch_cost cost;

    (void)state;
    run(&switches, 50000);
    cost = switches_count(&switches, switches.count, switches.app_ns - 1000, PERIOD_NS, TRIGGER_NS,
                          TRAP_NS);
    assert_int_equal(cost.burst_ns, 0);
    assert_int_equal(cost.besides_ns, 0);
}

static void registers_are_armed_for_their_share(void **state)
{
    enum { BURSTS = 400000 };
    struct switches switches;
    struct random random;
    double share;
    unsigned watched = 0, changes = 0;

    (void)state;
    run(&switches, 50000);
    share = switches_watch_share(&switches, 0.02, TRAP_NS);
    /* A fifth of 2 % over 50 000 x 0.6 us, 3 %. */
    assert_true(share > 0.130 && share < 0.137);
    random_seed(&random, 9);
    for (unsigned i = 0; i < BURSTS; i++) {
        bool before = switches.unwatched;

        watched += switches_may_watch(&switches, &random, share);
        changes += before != switches.unwatched;
    }
    assert_true(watched > (share - 0.008) * BURSTS && watched < (share + 0.008) * BURSTS);
    /* Kept for eight bursts in the mean. */
    assert_true(changes > 0.9 * 2 * watched / 8.0 && changes < 1.1 * 2 * watched / 8.0);
    assert_true(switches_may_watch(&switches, &random, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_never_switches_pays_nothing),
        cmocka_unit_test(switches_are_charged_as_measured),
        cmocka_unit_test(time_that_goes_back_costs_nothing),
        cmocka_unit_test(registers_are_armed_for_their_share),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the counters of a thread counted together, against a made-up thread whose accesses are
 * known: it moves between kinds of cores, its events give way to others, and it runs where no unit
 * is known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pmu/counted.h"
#include "sampling/random.h"
#include "support/test_seed.h"

enum { KINDS = 3, EVENTS_OF_KIND = 2, EVENTS = KINDS * EVENTS_OF_KIND };

/* Loads and stores in a microsecond on each kind of core. */
static const uint64_t rates[KINDS][EVENTS_OF_KIND] = {{3000, 1100}, {1200, 500}, {400, 150}};

static struct random random_state;
static struct pmu_reading readings[EVENTS];

static void begin(void)
{
    for (unsigned i = 0; i < EVENTS; i++)
        readings[i] = (struct pmu_reading){.accesses = 1, .core_kind = i / EVENTS_OF_KIND};
}

/* The thread runs for so long on a kind of core (KINDS: one without a unit), where an event of
 * `shut_out` (EVENTS: none) is not on a counter. Returns the accesses that it makes. */
static uint64_t run(unsigned kind, uint64_t microseconds, unsigned shut_out)
{
    uint64_t accesses = 0;

    for (unsigned i = 0; i < EVENTS; i++) {
        readings[i].enabled_ns += microseconds * 1000;
        if (readings[i].core_kind != kind)
            continue;
        accesses += microseconds * rates[kind][i % EVENTS_OF_KIND];
        if (i == shut_out)
            continue;
        readings[i].running_ns += microseconds * 1000;
        readings[i].count += microseconds * rates[kind][i % EVENTS_OF_KIND];
    }
    return accesses;
}

static int seed(void **state)
{
    (void)state;
    random_seed(&random_state, test_seed());
    return 0;
}

static void moving_between_kinds_neither_adds_nor_loses(void **state)
{
    uint64_t accesses = 0, enabled;

    (void)state;
    begin();
    for (unsigned i = 0; i < 1000; i++) {
        accesses +=
            run(random_below(&random_state, KINDS), 1 + random_below(&random_state, 10000), EVENTS);
        /* After each move: a clock that jumps would make distances of it. */
        assert_int_equal(pmu_counted_accesses(readings, EVENTS, KINDS), accesses);
    }
    assert_int_equal(pmu_uncounted_ns(readings, EVENTS, &enabled), 0);
    assert_int_equal(enabled, readings[0].enabled_ns);
}

/* Six tenths on large cores: scaling each kind to the whole time would have counted 1.85 times
 * as many. */
static void kinds_are_not_scaled_to_the_whole_time(void **state)
{
    uint64_t accesses;

    (void)state;
    begin();
    accesses = run(0, 600, EVENTS) + run(1, 400, EVENTS);
    assert_int_equal(accesses, 600 * 4100 + 400 * 1700);
    assert_int_equal(pmu_counted_accesses(readings, EVENTS, KINDS), accesses);
    /* The same readings of events of one unit are scaled: 4100 and 1700 in each microsecond. */
    assert_int_equal(pmu_counted_accesses(readings, 4, 1), 1000 * 4100 + 1000 * 1700);
}

/* Of one unit one event gave way a third of the time: it alone is scaled, and by that. */
static void events_of_a_unit_share_its_counters(void **state)
{
    uint64_t accesses = 0, enabled, estimate;

    (void)state;
    begin();
    accesses += run(1, 3000, EVENTS);
    for (unsigned i = 0; i < 300; i++)
        accesses += run(0, 10, i % 3 == 0 ? 1 : EVENTS);
    estimate = pmu_counted_accesses(readings, EVENTS, KINDS);
    assert_in_range(estimate, accesses - 1, accesses);
    assert_int_equal(pmu_uncounted_ns(readings, EVENTS, &enabled), 0);
}

static void a_kind_without_a_unit_is_told(void **state)
{
    uint64_t accesses = 0, enabled;

    (void)state;
    begin();
    accesses += run(0, 700, EVENTS);
    run(KINDS, 200, EVENTS);
    accesses += run(1, 100, EVENTS);
    assert_int_equal(pmu_counted_accesses(readings, EVENTS, KINDS), accesses);
    assert_int_equal(pmu_uncounted_ns(readings, EVENTS, &enabled), 200 * 1000);
    assert_int_equal(enabled, 1000 * 1000);
    /* An event read a little later than another is no time that is missing. */
    begin();
    run(0, 1000, EVENTS);
    readings[5].enabled_ns += 2000;
    assert_int_equal(pmu_uncounted_ns(readings, EVENTS, &enabled), 0);
}

static void one_kind_is_scaled_to_the_whole_time(void **state)
{
    static const struct pmu_reading shared[] = {
        {.count = 1000, .enabled_ns = 300, .running_ns = 100, .accesses = 1},
        {.count = 500, .enabled_ns = 300, .running_ns = 300, .accesses = 2},
        {.count = 7, .enabled_ns = 300, .running_ns = 0, .accesses = 1},
    };
    uint64_t enabled;

    (void)state;
    assert_int_equal(pmu_counted_accesses(shared, 3, 1), 3000 + 1000 + 7);
    assert_int_equal(pmu_counted_accesses(shared, 0, 1), 0);
    assert_int_equal(pmu_uncounted_ns(shared, 0, &enabled), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moving_between_kinds_neither_adds_nor_loses),
        cmocka_unit_test(kinds_are_not_scaled_to_the_whole_time),
        cmocka_unit_test(events_of_a_unit_share_its_counters),
        cmocka_unit_test(a_kind_without_a_unit_is_told),
        cmocka_unit_test(one_kind_is_scaled_to_the_whole_time),
    };

    return cmocka_run_group_tests(tests, seed, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Ticks between bursts: how many, when one becomes a burst, and what time each stands for. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "access.h"
#include "sampling/random.h"
#include "sampling/sample.h"
#include "sampling/ticks.h"
#include "support/test_seed.h"

static struct seen_code seen;
static uint64_t signal_ns;

enum { MEAN_NS = 60 * 1000 * 1000, KNOWN = 0x401000, NEW = 0x409000 };

static void learn(uint64_t ip)
{
    const struct access access = {.ip = ip};

    seen_code_add(&seen, &access, 1);
}

static struct ticks begin(uint64_t cost_ns)
{
    signal_ns = cost_ns;
    seen_code_clear(&seen);
    learn(KNOWN);
    return (struct ticks){0};
}

static void their_number_follows_from_what_both_cost(void **state)
{
    static const struct {
        uint64_t signal_ns, burst_ns;
        unsigned ticks;
    } cases[] = {{57000, 100000, 0}, {57000, 360000, 1}, {57000, 800000, 2}, {10000, 400000, 4}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ticks ticks = begin(cases[i].signal_ns);
        unsigned n = cases[i].ticks;
        uint64_t turn = cases[i].burst_ns + n * cases[i].signal_ns * 3 / 2, early;

        assert_int_equal(ticks_plan(&ticks, MEAN_NS, turn, signal_ns), MEAN_NS / (n + 1));
        for (unsigned k = 0; k < n; k++)
            assert_true(ticks_take(&ticks, KNOWN, &seen, &early));
        assert_false(ticks_take(&ticks, KNOWN, &seen, &early));
        assert_int_equal(early, 0);
    }
}

static void short_times_are_not_divided(void **state)
{
    struct ticks ticks = begin(10000);
    uint64_t early;

    (void)state;
    assert_int_equal(ticks_plan(&ticks, 900000, 400000, signal_ns), 900000);
    assert_false(ticks_take(&ticks, KNOWN, &seen, &early));
}

static void one_in_new_code_becomes_a_burst(void **state)
{
    struct ticks ticks = begin(10000);
    uint64_t early, part = ticks_plan(&ticks, MEAN_NS, 500000, signal_ns), ips[TICKS_MAX];

    (void)state;
    assert_true(ticks_take(&ticks, KNOWN, &seen, &early));
    assert_false(ticks_take(&ticks, NEW, &seen, &early));
    assert_int_equal(early, 3 * part);
    ticks_list(&ticks, ips);
    assert_int_equal(ips[0], KNOWN);
    assert_int_equal(ips[1], 0);
    learn(NEW);
    ticks_plan(&ticks, MEAN_NS, 500000, signal_ns);
    assert_true(ticks_take(&ticks, NEW, &seen, &early));
    /* Where it is not known where the thread was, that is no news. */
    assert_true(ticks_take(&ticks, 0, &seen, &early));
}

/*
 * Phases of random length in 60 places, each of which becomes known with its first burst: what
 * bursts and ticks stand for adds up to the time, and to each kind of place's share of it.
 */
static void parts_add_up_to_the_time(void **state)
{
    enum { PLACES = 60, RUNS = 300, TURNS = 40 };
    double rare = 0, true_rare = 0, told = 0, time = 0;
    struct random random;

    (void)state;
    random_seed(&random, test_seed());
    for (unsigned run = 0; run < RUNS; run++) {
        struct ticks ticks = begin(10000);
        double next = 0, run_told = 0, run_rare = 0;
        uint64_t place = 0;

        for (unsigned turn = 0; turn < TURNS; turn++) {
            uint64_t mean = MEAN_NS, early = 0;
            unsigned moments = 0, in_rare = 0;
            uint64_t part = ticks_plan(&ticks, mean, 400000, signal_ns);
            bool tick;

            do {
                double length = (double)sample_period(&random, part);

                time += length;
                while (length > next) {
                    length -= next;
                    true_rare += place >= 20 ? next : 0;
                    place = random_below(&random, 3) ? random_below(&random, 20)
                                                     : 20 + random_below(&random, PLACES - 20);
                    next = 1e6 + 2e7 * random_below(&random, 1000) / 1000;
                }
                next -= length;
                true_rare += place >= 20 ? length : 0;
                moments++;
                in_rare += place >= 20;
                tick = ticks_take(&ticks, 0x400000 + 4096 * place, &seen, &early);
            } while (tick);
            learn(0x400000 + 4096 * place);
            run_told += (double)(mean - early);
            run_rare += (double)(mean - early) * in_rare / moments;
        }
        told += run_told;
        rare += run_rare;
    }
    assert_float_equal(told / time, 1, 0.02);
    assert_float_equal(rare / told, true_rare / time, 0.02);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(their_number_follows_from_what_both_cost),
        cmocka_unit_test(short_times_are_not_divided),
        cmocka_unit_test(one_in_new_code_becomes_a_burst),
        cmocka_unit_test(parts_add_up_to_the_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

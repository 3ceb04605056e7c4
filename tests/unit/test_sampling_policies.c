/* SPDX-License-Identifier: BSD-3-Clause */
/* Slots, governor and loop odometers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sampling/call_path.h"
#include "sampling/governor.h"
#include "sampling/loops.h"
#include "sampling/odometer.h"
#include "sampling/slots.h"

static void a_free_slot_is_always_taken(void **state)
{
    struct slots slots;
    struct random random;
    bool evicts;

    (void)state;
    random_seed(&random, 1);
    slots_begin(&slots, 4);
    for (int expected = 3; expected >= 0; expected--) {
        assert_int_equal(slots_offer(&slots, &random, &evicts), expected);
        assert_false(evicts);
    }
    slots_offer(&slots, &random, &evicts);
    assert_true(evicts);
    slots_release(&slots, 2);
    assert_int_equal(slots_offer(&slots, &random, &evicts), 2);
    assert_false(evicts);
}

static void busy_slots_are_stubborn_in_powers_of_eight(void **state)
{
    enum { OFFERS = 512 * 400 };
    struct slots slots;
    struct random random;
    unsigned counts[4] = {0};
    bool evicts;

    (void)state;
    random_seed(&random, 2);
    slots_begin(&slots, 4);
    for (int i = 0; i < 4; i++)
        slots_offer(&slots, &random, &evicts);
    for (int i = 0; i < OFFERS; i++)
        counts[slots_offer(&slots, &random, &evicts)]++;
    /* Five standard deviations either way. */
    assert_in_range(counts[3], 400 - 100, 400 + 100);
    assert_in_range(counts[2], 3194 - 285, 3194 + 285);
    assert_in_range(counts[1], 25151 - 740, 25151 + 740);
    assert_int_equal(counts[0] + counts[1] + counts[2] + counts[3], OFFERS);
}

/* A thread whose every sample costs the same; returns cost / application time. */
static double run_governed(double budget, uint64_t cost, double seconds, uint64_t *samples)
{
    struct governor governor;
    uint64_t app = 0, end = (uint64_t)(seconds * 1e9);

    governor_begin(&governor, budget, 0, 100000);
    *samples = 0;
    while (app < end) {
        app += governor_next_period(&governor, app);
        governor_spend(&governor, cost, false);
        ++*samples;
    }
    return (double)governor.cost_ns / (double)app;
}

static void the_budget_holds_however_dear_a_sample_is(void **state)
{
    uint64_t samples;

    (void)state;
    for (uint64_t cost = 1000; cost <= 100000000; cost *= 10)
        assert_true(run_governed(0.04, cost, 30, &samples) < 0.041 + (double)cost / 30e9);
    assert_true(run_governed(0.01, 150000, 30, &samples) < 0.0105);
    assert_true(run_governed(0.5, 150000, 30, &samples) < 0.51);
}

static void short_runs_get_many_samples_and_long_runs_stay_cheap(void **state)
{
    uint64_t in_a_second, in_a_minute, in_an_hour;

    (void)state;
    /* 4 % of a second over 150 us is 267; the governor keeps back what it cannot account for and
     * what rate readings take, and advances some at the start. */
    run_governed(0.04, 150000, 1, &in_a_second);
    assert_in_range(in_a_second, 120, 267);
    run_governed(0.04, 150000, 60, &in_a_minute);
    assert_true(in_a_minute > 40 * in_a_second);
    assert_true(run_governed(0.04, 150000, 3600, &in_an_hour) < 0.012);
}

static void a_fixed_period_is_kept_but_cannot_livelock(void **state)
{
    struct governor governor;

    (void)state;
    governor_begin(&governor, 0.04, 1000000, 100000);
    assert_int_equal(governor_next_period(&governor, 0), 1000000);
    for (int i = 0; i < 100; i++) {
        governor_spend(&governor, 5000000, false);
        governor_next_period(&governor, 1000000);
    }
    assert_true(governor_next_period(&governor, 1000000) >= 4000000);
}

static void rate_readings_have_their_own_purse(void **state)
{
    struct governor governor;

    (void)state;
    governor_begin(&governor, 0.04, 0, 100000);
    assert_true(governor_affords_rate(&governor, 1000000000, 1000000));
    governor_spend(&governor, 20000000, true);
    assert_false(governor_affords_rate(&governor, 1000000000, 1000000));
    assert_true(governor_affords_rate(&governor, 3000000000, 1000000));
}

static void visit(struct loops *loops, uint64_t ip, uint64_t rcx, uint64_t accesses)
{
    uint64_t registers[LOOP_REGISTERS] = {0};

    registers[1] = rcx;
    registers[3] = accesses * accesses; /* changes, but by no constant step */
    registers[LOOP_STACK_POINTER] = 0x7ffe0000;
    loops_visit(loops, ip, registers, 0, accesses);
}

static void the_outermost_steady_register_is_the_odometer(void **state)
{
    struct loops loops;
    struct odometer odometer;
    uint64_t accesses = 0;

    (void)state;
    loops_begin(&loops);
    for (uint64_t row = 0; row < 5; row++) {
        for (uint64_t column = 0; column < 20; column++)
            visit(&loops, 0x400100, 8 * column, accesses += 3);
        visit(&loops, 0x400080, 100 - 4 * row, ++accesses);
    }
    const struct loop_head *head = loops_odometer(&loops, accesses, &odometer);

    assert_non_null(head);
    assert_int_equal(odometer.head, 0x400080);
    assert_int_equal(odometer.register_number, 1);
    assert_int_equal(odometer.step, -4);
    assert_true(odometer.accesses_per_visit == 61);
    assert_int_equal(odometer.base_value, 100 - 4 * 4);
    assert_int_equal(odometer.accesses, accesses);
    /* The inner register jumped back at every row: no odometer, but the hottest head. */
    assert_int_equal(loops_hottest(&loops)->ip, 0x400100);
}

static void a_word_of_the_frame_serves_where_registers_do_not(void **state)
{
    struct loops loops;
    struct odometer odometer;
    uint64_t registers[LOOP_REGISTERS] = {0};
    unsigned looks = 0;

    (void)state;
    loops_begin(&loops);
    registers[LOOP_STACK_POINTER] = 0x7ffe1000;
    registers[LOOP_FRAME_POINTER] = 0x7ffe1100;
    for (uint32_t i = 0; i < 1000; i++) {
        uint32_t words[LOOP_FRAME_WORDS] = {0};
        struct loop_head *head;

        registers[0] = i * i; /* no odometer */
        head = loops_visit(&loops, 0x1000, registers, 0, 7 * i);
        words[20] = 0xfffffff0u + 3 * i; /* wraps round */
        words[21] = i * i;
        if (head) {
            looks++;
            assert_int_equal(head->frame, 0x7ffe1100 - 4 * LOOP_FRAME_WORDS);
            loops_frame(head, words, 0);
        }
    }
    assert_in_range(looks, 5, 20);
    assert_non_null(loops_odometer(&loops, 7 * 1000, &odometer));
    assert_int_equal(odometer.address, 0x7ffe1100 - 4 * LOOP_FRAME_WORDS + 4 * 20);
    assert_int_equal(odometer.step, 3);
    assert_true(odometer.accesses_per_visit == 7);
    assert_true(odometer_visits(&odometer, 0xfffffffd, 0x00000003) == 2);
}

static void two_visits_or_unknown_registers_make_no_odometer(void **state)
{
    struct loops loops;
    struct odometer odometer;
    uint64_t registers[LOOP_REGISTERS] = {0};

    (void)state;
    loops_begin(&loops);
    visit(&loops, 0x1000, 1, 10);
    visit(&loops, 0x1000, 2, 20);
    assert_null(loops_odometer(&loops, 20, &odometer));
    loops_begin(&loops);
    for (uint64_t i = 0; i < 5; i++) {
        registers[1] = i;
        loops_visit(&loops, 0x1000, registers, 1u << 1, 10 * i);
    }
    assert_null(loops_odometer(&loops, 40, &odometer));
}

/* Three visits of lengths 10 and 100 tell nothing of their mean; so do many, if few of them differ.
 */
static void uneven_visits_make_no_odometer(void **state)
{
    struct loops loops;
    struct odometer odometer;

    (void)state;
    loops_begin(&loops);
    visit(&loops, 0x1000, 1, 0);
    visit(&loops, 0x1000, 2, 10);
    visit(&loops, 0x1000, 3, 110);
    assert_null(loops_odometer(&loops, 110, &odometer));
    for (uint64_t i = 0; i < 400; i++)
        visit(&loops, 0x1000, 4 + i, 110 + (i + 1) / 2 * 10 + (i + 2) / 2 * 100);
    assert_non_null(loops_odometer(&loops, 110 + 200 * 110, &odometer));
    assert_true(fabs(odometer.accesses_per_visit - 55) < 1);
    /* Lengths of 10 and 100 deviate by 45 from their mean. */
    assert_true(fabs(odometer.deviation - 45.0 / 55) < 0.02);
    assert_false(loops_length_is_known(100, 100 * (99 * 50.0 * 50.0 + 5050.0 * 5050.0) / 100, 100));
}

/* A loop that came round at every 7 accesses and not since 30 has ended: it can be read no more. An
 * outer one that still runs can, though its visits are longer. */
static void a_loop_that_has_ended_makes_no_odometer(void **state)
{
    struct loops loops;
    struct odometer odometer;

    (void)state;
    loops_begin(&loops);
    for (uint64_t i = 0; i < 20; i++)
        visit(&loops, 0x1000, i, 7 * i);
    assert_non_null(loops_odometer(&loops, 7 * 19 + 20, &odometer));
    assert_null(loops_odometer(&loops, 7 * 19 + 30, &odometer));
    for (uint64_t i = 0; i < 4; i++)
        visit(&loops, 0x2000, i, 6 * i);
    assert_null(loops_odometer(&loops, 200, &odometer));
    loops_begin(&loops);
    for (uint64_t i = 0; i < 4; i++)
        visit(&loops, 0x3000, i, 50 * i);
    assert_non_null(loops_odometer(&loops, 200, &odometer));
}

static void calls_on_the_way_lead_to_the_sample(void **state)
{
    const uint64_t unwound[] = {0x100, 0x200, 0x300};
    struct call_path path;
    uint64_t frames[8];

    (void)state;
    call_path_begin(&path);
    call_path_add(&path, 3, 0x108); /* the interrupted function calls one */
    call_path_add(&path, 5, 0x508); /* which calls another */
    call_path_add(&path, 9, 0);
    call_path_add(&path, 10, 0);
    call_path_add(&path, 12, 0); /* the interrupted function returns */
    call_path_add(&path, 15, 0x208);

    /* The store of the return address is the caller's own access. */
    assert_int_equal(call_path_frames(&path, 2, 1, unwound, 3, frames, 8), 3);
    assert_memory_equal(frames, ((uint64_t[]){1, 0x200, 0x300}), 24);
    assert_int_equal(call_path_frames(&path, 3, 2, unwound, 3, frames, 8), 4);
    assert_memory_equal(frames, ((uint64_t[]){2, 0x108, 0x200, 0x300}), 32);
    assert_int_equal(call_path_frames(&path, 8, 3, unwound, 3, frames, 8), 5);
    assert_memory_equal(frames, ((uint64_t[]){3, 0x508, 0x108, 0x200, 0x300}), 40);
    assert_int_equal(call_path_frames(&path, 11, 4, unwound, 3, frames, 8), 3);
    assert_int_equal(call_path_frames(&path, 12, 5, unwound, 3, frames, 8), 2);
    assert_memory_equal(frames, ((uint64_t[]){5, 0x300}), 16);
    assert_int_equal(call_path_frames(&path, 20, 6, unwound, 3, frames, 8), 3);
    assert_memory_equal(frames, ((uint64_t[]){6, 0x208, 0x300}), 24);
    assert_int_equal(call_path_frames(&path, 20, 6, unwound, 3, frames, 2), 2);
    for (int i = 0; i < CALL_PATH_EVENTS; i++)
        call_path_add(&path, 16, 0x208);
    assert_int_equal(call_path_frames(&path, 20, 7, unwound, 3, frames, 8), 1);
    assert_int_equal(call_path_frames(&path, 2, 1, unwound, 3, frames, 8), 3);
}

static void the_end_of_a_loop_is_foreseen_from_its_comparisons(void **state)
{
    const struct odometer odometer = {.step = 8, .accesses_per_visit = 10};
    struct followed_odometer followed;
    uint64_t ip;
    int64_t step;

    (void)state;
    followed_begin(&followed, &odometer);
    for (uint64_t visit = 0; visit < FOLLOWED_ARRIVALS; visit++) {
        followed_condition(&followed, 0x700, 5); /* before the first arrival: not counted */
        followed_arrival(&followed, 1000 + 8 * visit, 10 * visit + 3);
        followed_condition(&followed, 0x701, 77);                       /* constant */
        followed_condition(&followed, 0x702, (int64_t)(visit * visit)); /* not linear */
        followed_condition(&followed, 0x703, -800 + 8 * (int64_t)visit);
        followed_condition(&followed, 0x703, 12345); /* second execution in a visit */
        followed_condition(&followed, 0x704, 4000 - 8 * (int64_t)visit);
        followed_condition(&followed, 0x705, 40 + 8 * (int64_t)visit); /* moves away from zero */
    }
    assert_true(followed_is_steady(&followed));
    assert_true(followed_accesses_per_visit(&followed) == 10);
    assert_true(followed_visits_left(&followed, &ip, &step) == 98);
    assert_int_equal(ip, 0x703);
    assert_int_equal(step, 8);
    followed_begin(&followed, &odometer);
    for (uint64_t visit = 0; visit < FOLLOWED_ARRIVALS; visit++)
        followed_arrival(&followed, 1000 + 8 * visit + (visit == 3), 10 * visit);
    assert_false(followed_is_steady(&followed));
    assert_true(followed_visits_left(&followed, &ip, &step) == 0);
    assert_int_equal(step, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_free_slot_is_always_taken),
        cmocka_unit_test(busy_slots_are_stubborn_in_powers_of_eight),
        cmocka_unit_test(the_budget_holds_however_dear_a_sample_is),
        cmocka_unit_test(short_runs_get_many_samples_and_long_runs_stay_cheap),
        cmocka_unit_test(a_fixed_period_is_kept_but_cannot_livelock),
        cmocka_unit_test(rate_readings_have_their_own_purse),
        cmocka_unit_test(the_outermost_steady_register_is_the_odometer),
        cmocka_unit_test(a_word_of_the_frame_serves_where_registers_do_not),
        cmocka_unit_test(calls_on_the_way_lead_to_the_sample),
        cmocka_unit_test(the_end_of_a_loop_is_foreseen_from_its_comparisons),
        cmocka_unit_test(two_visits_or_unknown_registers_make_no_odometer),
        cmocka_unit_test(uneven_visits_make_no_odometer),
        cmocka_unit_test(a_loop_that_has_ended_makes_no_odometer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Slots and loop odometers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sampling/call_path.h"
#include "sampling/loops.h"
#include "sampling/slots.h"

static void free_slots_always_take_a_watch(void **state)
{
    struct slots slots;
    struct random random;

    (void)state;
    random_seed(&random, 1);
    slots_begin(&slots, 0);
    assert_int_equal(slots_accept(&slots, &random), 0);
    slots_begin(&slots, 4);
    for (slots.busy = 0; slots.busy < 16; slots.busy++)
        for (int i = 0; i < 100; i++) {
            uint32_t accepted = slots_accept(&slots, &random);

            assert_int_equal(accepted & ~15u, 0);
            assert_int_equal(~slots.busy & 15 & ~accepted, 0);
            /* The least stubborn one always does. */
            assert_true(accepted & 1);
        }
}

static void busy_slots_are_stubborn_in_powers_of_eight(void **state)
{
    enum { BURSTS = 512 * 400 };
    struct slots slots;
    struct random random;
    unsigned counts[4] = {0}, both = 0;

    (void)state;
    random_seed(&random, 2);
    slots_begin(&slots, 4);
    slots.busy = 15;
    for (int i = 0; i < BURSTS; i++) {
        uint32_t accepted = slots_accept(&slots, &random);

        for (unsigned slot = 0; slot < 4; slot++)
            counts[slot] += accepted >> slot & 1;
        both += (accepted & 6) == 6;
    }
    /* Five standard deviations either way. */
    assert_int_equal(counts[0], BURSTS);
    assert_in_range(counts[1], 25600 - 750, 25600 + 750);
    assert_in_range(counts[2], 3200 - 285, 3200 + 285);
    assert_in_range(counts[3], 400 - 100, 400 + 100);
    /* Each for itself. */
    assert_in_range(both, 400 - 100, 400 + 100);
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
    struct odometer odometers[LOOP_ODOMETERS];
    uint64_t accesses = 0;

    (void)state;
    loops_begin(&loops);
    for (uint64_t row = 0; row < 5; row++) {
        for (uint64_t column = 0; column < 20; column++)
            visit(&loops, 0x400100, 8 * column, accesses += 3);
        visit(&loops, 0x400080, 100 - 4 * row, ++accesses);
    }
    assert_int_equal(loops_odometers(&loops, accesses, odometers), 1);
    assert_int_equal(odometers[0].head, 0x400080);
    assert_int_equal(odometers[0].register_number, 1);
    assert_int_equal(odometers[0].step, -4);
    assert_true(odometers[0].even);
    assert_true(odometer_progress(&odometers[0], 100, 60) == 10);
    /* The inner register jumped back at every row: no odometer, but the hottest head. */
    assert_int_equal(loops_hottest(&loops)->ip, 0x400100);
    assert_ptr_equal(loops_head(&loops, 0x400100), loops_hottest(&loops));
    assert_null(loops_head(&loops, 0x400101));
}

/* A position that moves on by as much as there was to skip; not one that jumps back once. */
static void a_register_that_moves_one_way_serves_where_none_is_steady(void **state)
{
    struct loops loops;
    struct odometer odometers[LOOP_ODOMETERS];
    uint64_t registers[LOOP_REGISTERS] = {0}, position = 0;

    (void)state;
    loops_begin(&loops);
    registers[LOOP_STACK_POINTER] = 0x7ffe1000;
    for (uint64_t i = 0; i < 20; i++) {
        registers[2] = position += 1 + i % 3;
        registers[6] = -position;
        registers[5] = position % 30;
        loops_visit(&loops, 0x1000, registers, 0, 7 * i);
    }
    assert_int_equal(loops_odometers(&loops, 7 * 20, odometers), 2);
    assert_int_equal(odometers[0].register_number, 2);
    assert_false(odometers[0].even);
    assert_true(odometer_progress(&odometers[0], 100, 160) == 60);
    assert_int_equal(odometers[1].register_number, 6);
    assert_true(odometer_progress(&odometers[1], 160, 100) == 60);
}

static void one_visit_or_unknown_registers_make_no_odometer(void **state)
{
    struct loops loops;
    struct odometer odometers[LOOP_ODOMETERS];
    uint64_t registers[LOOP_REGISTERS] = {0};

    (void)state;
    loops_begin(&loops);
    visit(&loops, 0x1000, 1, 10);
    assert_int_equal(loops_odometers(&loops, 20, odometers), 0);
    loops_begin(&loops);
    for (uint64_t i = 0; i < 5; i++) {
        registers[1] = i;
        loops_visit(&loops, 0x1000, registers, 1u << 1, 10 * i);
    }
    assert_int_equal(loops_odometers(&loops, 40, odometers), 0);
}

/* A loop that came round at every 7 accesses and not since 30 has ended: it can be read no more. An
 * outer one that still runs can, though its visits are longer. */
static void a_loop_that_has_ended_makes_no_odometer(void **state)
{
    struct loops loops;
    struct odometer odometers[LOOP_ODOMETERS];

    (void)state;
    loops_begin(&loops);
    for (uint64_t i = 0; i < 20; i++)
        visit(&loops, 0x1000, i, 7 * i);
    assert_int_equal(loops_odometers(&loops, 7 * 19 + 20, odometers), 1);
    assert_int_equal(loops_odometers(&loops, 7 * 19 + 30, odometers), 0);
    loops_begin(&loops);
    for (uint64_t i = 0; i < 4; i++)
        visit(&loops, 0x3000, i, 50 * i);
    assert_int_equal(loops_odometers(&loops, 200, odometers), 1);
}

static struct call_path path;

static void assert_frames(uint64_t index, const uint64_t *expected, size_t n)
{
    uint64_t frames[CALL_PATH_FRAMES];

    call_path_seek(&path, index);
    assert_int_equal(call_path_frames(&path, frames), n);
    assert_memory_equal(frames, expected, n * sizeof *frames);
}
#define ASSERT_FRAMES(index, ...)                                                                  \
    assert_frames(index, (const uint64_t[]){__VA_ARGS__},                                          \
                  sizeof((const uint64_t[]){__VA_ARGS__}) / 8)

static void calls_on_the_way_lead_to_the_access(void **state)
{
    const uint64_t above[] = {0x200, 0x300};

    (void)state;
    call_path_begin(&path, above, 2);
    call_path_add(&path, 3, 0x108); /* the interrupted function calls one */
    call_path_add(&path, 5, 0x508); /* which calls another */
    call_path_add(&path, 9, 0);
    call_path_add(&path, 10, 0);
    call_path_add(&path, 12, 0); /* the interrupted function returns */
    call_path_add(&path, 15, 0x208);
    call_path_add(&path, 17, CALL_PATH_HIDDEN);
    call_path_add(&path, 18, 0x408);

    for (int twice = 0; twice < 2; twice++) {
        /* The store of the return address is the caller's own access. */
        ASSERT_FRAMES(2, 0x200, 0x300);
        ASSERT_FRAMES(3, 0x108, 0x200, 0x300);
        assert_false(call_path_seek(&path, 4));
        ASSERT_FRAMES(8, 0x508, 0x108, 0x200, 0x300);
        ASSERT_FRAMES(11, 0x200, 0x300);
        ASSERT_FRAMES(12, 0x300);
        ASSERT_FRAMES(16, 0x208, 0x300);
        ASSERT_FRAMES(20, 0x408, 0x208, 0x300);
        call_path_rewind(&path, above, 2);
    }
}

static void a_path_is_not_known_after_calls_were_lost(void **state)
{
    (void)state;
    call_path_begin(&path, NULL, 0);
    call_path_add(&path, 1, 0x108);
    for (int i = 0; i < CALL_PATH_EVENTS; i++)
        call_path_add(&path, 16, 0x208);
    call_path_seek(&path, 2);
    assert_true(call_path_is_known(&path));
    call_path_seek(&path, 16);
    assert_false(call_path_is_known(&path));
}

/* Random walks up and down deep stacks: the hash is the same if and only if the innermost frames
 * are. */
static void paths_are_told_apart_by_their_innermost_frames(void **state)
{
    enum { STEPS = 600 };
    static uint64_t frames[STEPS][CALL_PATH_FRAMES], hashes[STEPS];
    static size_t depths[STEPS];
    struct random random;
    unsigned repeated = 0, deep = 0;

    (void)state;
    random_seed(&random, 5);
    call_path_begin(&path, NULL, 0);
    for (unsigned i = 0; i < STEPS; i++)
        call_path_add(&path, i,
                      random_below(&random, 5) < 2 ? 0 : 0x100 + random_below(&random, 2));
    for (unsigned i = 0; i < STEPS; i++) {
        call_path_seek(&path, i);
        depths[i] = call_path_frames(&path, frames[i]);
        hashes[i] = call_path_hash(&path);
        deep += depths[i] == CALL_PATH_FRAMES;
        for (unsigned j = 0; j < i; j++) {
            bool same = depths[i] == depths[j] &&
                        memcmp(frames[i], frames[j], depths[i] * sizeof **frames) == 0;

            assert_int_equal(same, hashes[i] == hashes[j]);
            repeated += same;
        }
    }
    assert_true(repeated > STEPS / 10);
    assert_true(deep > STEPS / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(free_slots_always_take_a_watch),
        cmocka_unit_test(busy_slots_are_stubborn_in_powers_of_eight),
        cmocka_unit_test(the_outermost_steady_register_is_the_odometer),
        cmocka_unit_test(a_register_that_moves_one_way_serves_where_none_is_steady),
        cmocka_unit_test(calls_on_the_way_lead_to_the_access),
        cmocka_unit_test(a_path_is_not_known_after_calls_were_lost),
        cmocka_unit_test(paths_are_told_apart_by_their_innermost_frames),
        cmocka_unit_test(one_visit_or_unknown_registers_make_no_odometer),
        cmocka_unit_test(a_loop_that_has_ended_makes_no_odometer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

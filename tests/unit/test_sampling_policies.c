/* SPDX-License-Identifier: BSD-3-Clause */
/* Slots, hot loops, and paths of calls. */
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

static void the_loop_visited_most_is_the_hottest(void **state)
{
    struct loops loops;

    (void)state;
    loops_begin(&loops);
    assert_int_equal(loops_hottest(&loops), 0);
    for (int row = 0; row < 5; row++) {
        for (int column = 0; column < 20; column++)
            loops_visit(&loops, 0x400100);
        loops_visit(&loops, 0x400080);
    }
    assert_int_equal(loops_hottest(&loops), 0x400100);
    /* A full table keeps what it has, and goes on counting it. */
    for (uint64_t i = 0; i < 3 * LOOPS_MAX; i++)
        loops_visit(&loops, 0x500000 + i);
    for (int i = 0; i < 200; i++)
        loops_visit(&loops, 0x400080);
    assert_int_equal(loops.count, LOOPS_MAX);
    assert_int_equal(loops_hottest(&loops), 0x400080);
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
        cmocka_unit_test(the_loop_visited_most_is_the_hottest),
        cmocka_unit_test(calls_on_the_way_lead_to_the_access),
        cmocka_unit_test(a_path_is_not_known_after_calls_were_lost),
        cmocka_unit_test(paths_are_told_apart_by_their_innermost_frames),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Exact stack distances and reuse times against a list that is searched from its front. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reuse/exact_order.h"
#include "reuse/exact_stack.h"
#include "sampling/random.h"
#include "support/test_seed.h"

/* The definition, literally: lines in order of their last use, most recent first. */
struct brute_force {
    uint64_t line[4096], clock[4096], count, now;
};

static struct exact_reuse brute_force_use(struct brute_force *list, uint64_t line)
{
    struct exact_reuse reuse = {EXACT_STACK_COLD, EXACT_STACK_COLD};
    uint64_t i = 0;
    list->now++;
    while (i < list->count && list->line[i] != line)
        i++;
    if (i < list->count)
        reuse = (struct exact_reuse){i, list->now - list->clock[i]};
    else
        list->count++;
    memmove(&list->line[1], &list->line[0], i * sizeof list->line[0]);
    memmove(&list->clock[1], &list->clock[0], i * sizeof list->clock[0]);
    list->line[0] = line;
    list->clock[0] = list->now;
    return reuse;
}

/* Traces of different character: uniform, mostly recent, sweeps, strides, sparse addresses. */
static uint64_t next_line(struct random *random, int character, uint64_t i, uint64_t lines)
{
    switch (character) {
    case 0:
        return random_below(random, (uint32_t)lines);
    case 1: /* nine in ten among few lines */
        return random_below(random, 10) ? random_below(random, 6)
                                        : random_below(random, (uint32_t)lines);
    case 2:
        return i % lines;
    case 3:
        return random_below(random, (uint32_t)lines) * 64;
    default:
        return (random_below(random, (uint32_t)lines) * UINT64_C(0x9e3779b97f4a7c15) >> 17) %
               EXACT_STACK_LINE_MAX;
    }
}

static void agrees_with_brute_force(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    struct random random;
    random_seed(&random, seed);
    static const uint64_t sizes[] = {1, 3, EXACT_STACK_NEAR, EXACT_STACK_NEAR + 1, 50, 600, 3000};
    for (int character = 0; character < 5; character++)
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            struct exact_stack stack;
            static struct brute_force list;
            memset(&list, 0, sizeof list);
            assert_true(exact_stack_create(&stack));
            for (uint64_t i = 0; i < 40000; i++) {
                uint64_t line = next_line(&random, character, i, sizes[s]);
                struct exact_reuse want = brute_force_use(&list, line);
                struct exact_reuse got = exact_stack_use(&stack, line);
                assert_int_equal(got.distance, want.distance);
                assert_int_equal(got.time, want.time);
            }
            assert_int_equal(stack.count, list.count);
            assert_int_equal(stack.clock, 40000);
            assert_int_equal(stack.untracked, 0);
            exact_stack_destroy(&stack);
        }
}

/* The largest line number and those around it are lines like any other. */
static void extreme_line_numbers(void **state)
{
    (void)state;
    struct exact_stack stack;
    assert_true(exact_stack_create(&stack));
    for (uint64_t i = 0; i < 40; i++)
        assert_int_equal(exact_stack_use(&stack, EXACT_STACK_LINE_MAX - i).distance,
                         EXACT_STACK_COLD);
    for (uint64_t i = 0; i < 40; i++) {
        struct exact_reuse reuse = exact_stack_use(&stack, EXACT_STACK_LINE_MAX - i);
        assert_int_equal(reuse.distance, 39);
        assert_int_equal(reuse.time, 40);
    }
    assert_int_equal(exact_stack_use(&stack, 0).distance, EXACT_STACK_COLD);
    exact_stack_destroy(&stack);
}

/* Cyclic sweeps have a closed form, for far more lines than a list could be searched for. */
static void large_sweeps(void **state)
{
    (void)state;
    const uint64_t lines = 300000;
    struct exact_stack stack;
    assert_true(exact_stack_create(&stack));
    for (uint64_t i = 0; i < 12 * lines; i++) {
        struct exact_reuse reuse = exact_stack_use(&stack, 7 * (i % lines));
        assert_int_equal(reuse.distance, i < lines ? EXACT_STACK_COLD : lines - 1);
        assert_int_equal(reuse.time, i < lines ? EXACT_STACK_COLD : lines);
    }
    /* The promise: at most 64 bytes a distinct line. */
    assert_true(exact_stack_bytes(&stack) <= 64 * lines);
    exact_stack_destroy(&stack);
}

/* A set of times against a plain array of flags, over removals, ranks and compactions. */
static void order_agrees_with_flags(void **state)
{
    (void)state;
    enum { CAPACITY = 9000, KEEP = 2000 };
    uint64_t seed = test_seed();
    struct random random;
    random_seed(&random, seed);
    struct exact_order order;
    static uint32_t times[CAPACITY + 1000];
    assert_true(exact_order_create(&order, CAPACITY));
    assert_true(exact_order_capacity(&order) >= CAPACITY);
    size_t live = 0; /* times[0 .. live-1], increasing */
    for (int step = 0; step < 60000; step++) {
        if (exact_order_left(&order) == 0) {
            for (size_t i = 0; i < live; i++)
                assert_int_equal(exact_order_renumbered(&order, times[i]),
                                 exact_order_number((uint32_t)i));
            assert_true(exact_order_compact(&order, CAPACITY));
            for (size_t i = 0; i < live; i++)
                times[i] = exact_order_number((uint32_t)i);
        }
        if (live < KEEP || random_below(&random, 2)) {
            uint32_t time = exact_order_append(&order);
            assert_true(live == 0 || time > times[live - 1]);
            times[live++] = time;
        }
        if (live > KEEP) {
            size_t i = random_below(&random, (uint32_t)live);
            assert_int_equal(exact_order_rank(&order, times[i]), i + 1);
            assert_int_equal(exact_order_remove(&order, times[i]), live - 1 - i);
            memmove(&times[i], &times[i + 1], (live - 1 - i) * sizeof times[0]);
            live--;
        }
    }
    exact_order_destroy(&order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_brute_force),
        cmocka_unit_test(extreme_line_numbers),
        cmocka_unit_test(large_sweeps),
        cmocka_unit_test(order_agrees_with_flags),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

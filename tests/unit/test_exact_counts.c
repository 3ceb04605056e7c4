/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts by instruction, object, line size and bin against a plain array. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reuse/exact_counts.h"
#include "sampling/random.h"
#include "support/test_seed.h"

enum { INSTRUCTIONS = 300, OBJECTS = 7, SIZES = 2, BINS = EXACT_BIN_COLD + 1 };

static uint64_t plain[INSTRUCTIONS][OBJECTS][SIZES][BINS];

static void take_off(void *context, const struct exact_cell *cell, unsigned size, uint32_t bin,
                     uint64_t count)
{
    (void)context;
    assert_true(plain[cell->instruction][2 * cell->object + cell->region][size][bin] >= count);
    plain[cell->instruction][2 * cell->object + cell->region][size][bin] -= count;
}

static void count_at_random(struct exact_counts *counts, struct random *random, int steps)
{
    for (int i = 0; i < steps; i++) {
        uint32_t instruction = random_below(random, INSTRUCTIONS);
        uint32_t object = random_below(random, OBJECTS), size = random_below(random, SIZES);
        struct exact_cell *cell = exact_counts_cell(counts, instruction, object / 2, object % 2);
        assert_non_null(cell);
        assert_int_equal(cell->instruction, instruction);
        assert_int_equal(cell->object, object / 2);
        assert_int_equal(cell->region, object % 2);
        uint64_t distance = random_next(random) >> random_below(random, 63);
        uint32_t bin = random_below(random, 8) ? exact_bin_of(distance) : (uint32_t)EXACT_BIN_COLD;
        uint64_t n = 1;
        if (bin < EXACT_STACK_NEAR)
            exact_counts_add_near(counts, cell, size, bin);
        else
            exact_counts_add_far(counts, cell, size, bin, n = 1 + random_below(random, 9));
        plain[instruction][object][size][bin] += n;
    }
}

static void agree_with_plain_array(void **state)
{
    (void)state;
    uint64_t seed = test_seed();
    struct random random;
    random_seed(&random, seed);
    struct exact_counts one, two;
    memset(plain, 0, sizeof plain);
    assert_true(exact_counts_create(&one, SIZES));
    assert_true(exact_counts_create(&two, SIZES));
    count_at_random(&one, &random, 200000);
    count_at_random(&two, &random, 50000);
    exact_counts_add(&one, &two);
    assert_int_equal(one.lost, 0);
    exact_counts_each(&one, take_off, NULL);
    static const uint64_t nothing[sizeof plain / sizeof(uint64_t)];
    assert_memory_equal(plain, nothing, sizeof plain);
    exact_counts_destroy(&one);
    exact_counts_destroy(&two);
}

/* A near counter has 32 bits; what they cannot hold is carried, not lost. */
static void full_counters_carry(void **state)
{
    (void)state;
    struct exact_counts counts;
    memset(plain, 0, sizeof plain);
    assert_true(exact_counts_create(&counts, SIZES));
    struct exact_cell *cell = exact_counts_cell(&counts, 5, 3, 0);
    assert_non_null(cell);
    cell->near[1][3] = UINT32_MAX;
    exact_counts_add_near(&counts, cell, 1, 3);
    exact_counts_add_near(&counts, cell, 1, 3);
    plain[5][6][1][3] = (UINT64_C(1) << 32) + 1;
    exact_counts_each(&counts, take_off, NULL);
    assert_int_equal(plain[5][6][1][3], 0);
    exact_counts_destroy(&counts);
}

/* Bins cover everything without gaps, and have limits at cache sizes of 8 .. 15 times 2^n lines. */
static void bins_are_contiguous(void **state)
{
    (void)state;
    for (uint32_t bin = 0; bin < exact_bin_of(UINT64_C(1) << 62); bin++) {
        assert_int_equal(exact_bin_of(exact_bin_low(bin)), bin);
        assert_int_equal(exact_bin_of(exact_bin_low(bin + 1) - 1), bin);
    }
    assert_true(exact_bin_of(UINT64_MAX) < EXACT_BIN_COLD);
    for (unsigned shift = 1; shift < 50; shift++)
        for (uint64_t ways = 8; ways < 16; ways++)
            assert_int_equal(exact_bin_low(exact_bin_of(ways << shift)), ways << shift);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agree_with_plain_array),
        cmocka_unit_test(full_counters_carry),
        cmocka_unit_test(bins_are_contiguous),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Code that bursts went through. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sampling/random.h"
#include "sampling/seen_code.h"
#include "support/test_seed.h"

enum { BLOCK = 128 };

static struct seen_code seen;

static void add(uint64_t ip)
{
    const struct access access = {.ip = ip};

    seen_code_add(&seen, &access, 1);
}

static void a_block_and_its_neighbours_are_seen(void **state)
{
    const uint64_t ip = 0x555555554000 + 5 * BLOCK + 17;

    (void)state;
    seen_code_clear(&seen);
    assert_false(seen_code_has(&seen, ip));
    add(ip);
    for (int block = -1; block <= 1; block++)
        assert_true(seen_code_has(&seen, ip + (uint64_t)(block * BLOCK)));
    assert_false(seen_code_has(&seen, ip + 2 * BLOCK));
    assert_false(seen_code_has(&seen, ip - 2 * BLOCK));
    seen_code_clear(&seen);
    assert_false(seen_code_has(&seen, ip));
}

/* None of a thousand functions is forgotten; of others, those next to a bit that is set by chance
 * seem to be known: three blocks each, 3 % of the bits set. */
static void none_is_forgotten_and_few_are_taken_for_known(void **state)
{
    enum { FUNCTIONS = 1000, OTHERS = 10000 };
    struct random random, again;
    unsigned wrong = 0;

    (void)state;
    seen_code_clear(&seen);
    random_seed(&random, test_seed());
    again = random;
    for (int i = 0; i < FUNCTIONS; i++)
        add(0x400000 + ((uint64_t)random_below(&random, 1u << 24) << 4));
    for (int i = 0; i < FUNCTIONS; i++)
        assert_true(
            seen_code_has(&seen, 0x400000 + ((uint64_t)random_below(&again, 1u << 24) << 4)));
    for (int i = 0; i < OTHERS; i++)
        wrong +=
            seen_code_has(&seen, 0x7f0000000000 + ((uint64_t)random_below(&random, 1u << 24) << 4));
    assert_in_range(wrong, 0.05 * OTHERS, 0.13 * OTHERS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_and_its_neighbours_are_seen),
        cmocka_unit_test(none_is_forgotten_and_few_are_taken_for_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

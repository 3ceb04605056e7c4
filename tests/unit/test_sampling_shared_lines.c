/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines that several threads touch: noticed by the board. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sampling/shared_lines.h"

enum { ACCESSES = 64, LINE = 64 };

static struct board board;
static const uint64_t now = UINT64_C(100000000000);

/* Stores and loads by turns, a line each; the first line is at `base`. */
static void make(struct access accesses[ACCESSES], uint64_t base)
{
    for (uint32_t i = 0; i < ACCESSES; i++)
        accesses[i] = (struct access){.ip = 0x1000 + i,
                                      .address = base + (uint64_t)i * LINE + 8,
                                      .width = 8,
                                      .kind = i % 2 ? ACCESS_STORE : ACCESS_LOAD};
}

/* Exactly the stores to lines that are followed and that the other thread touched. */
static void test_finds_what_another_thread_touched(void **state)
{
    struct access here[ACCESSES], there[ACCESSES];
    struct store_list stores;
    uint32_t expected = 0;

    (void)state;
    memset(&board, 0, sizeof board);
    make(there, 0x100000);
    make(here, 0x100000 + ACCESSES / 2 * LINE);
    shared_lines_publish(&board, there, ACCESSES, LINE, 1, now);
    shared_lines_find(&board, here, ACCESSES, LINE, 1, now, &stores);
    assert_int_equal(stores.count, 0); /* its own */
    shared_lines_find(&board, here, ACCESSES, LINE, 2, now, &stores);
    for (uint32_t i = 0; i < ACCESSES; i++) {
        uint64_t line = here[i].address & ~(uint64_t)(LINE - 1);

        if (here[i].kind != ACCESS_STORE || !shared_lines_follows(line, now) || i >= ACCESSES / 2)
            continue;
        assert_true(expected < stores.count);
        assert_int_equal(stores.index[expected++], i);
    }
    assert_int_equal(stores.count, expected);
    assert_true(expected > 0);
    /* Two seconds later nobody counts as being there. */
    shared_lines_find(&board, here, ACCESSES, LINE, 2, now + UINT64_C(2100000000), &stores);
    assert_int_equal(stores.count, 0);
}

static void test_follows_one_line_in_eight(void **state)
{
    unsigned followed = 0;

    (void)state;
    for (uint64_t line = 0; line < 80000; line++)
        followed += shared_lines_follows(0x7f0000000000 + line * LINE, now);
    assert_true(followed > 9000 && followed < 11000);
    /* Each line has its turn. */
    followed = 0;
    for (unsigned epoch = 0; epoch < 8000; epoch++)
        followed += shared_lines_follows(0x12340, now + ((uint64_t)epoch << 28));
    assert_true(followed > 800 && followed < 1200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_finds_what_another_thread_touched),
        cmocka_unit_test(test_follows_one_line_in_eight),
    };
    return cmocka_run_group_tests_name("sampling/shared_lines", tests, NULL, NULL);
}

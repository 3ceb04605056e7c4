/* SPDX-License-Identifier: BSD-3-Clause */
/* What the words of a shared object are used for, by who writes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "report/findings/word_writers.h"

enum { PRODUCER = 1, CONSUMER = 2 };
static const uint64_t line = 0x4000;

static void add(struct word_writers *writers, enum transfer_kind kind, uint64_t address,
                uint32_t from, uint16_t from_offset, uint32_t to, uint16_t to_offset,
                double transfers)
{
    struct flow flow = {.kind = (uint8_t)kind,
                        .true_sharing = true,
                        .line_address = address,
                        .source = {.thread_id = from, .offset = from_offset, .width = 4},
                        .destination = {.thread_id = to, .offset = to_offset, .width = 4},
                        .transfers = transfers};

    word_writers_add(writers, &flow);
}

/* Both threads add to one word. */
static void test_counter(void **state)
{
    struct word_writers *writers = word_writers_create();

    (void)state;
    add(writers, TRANSFER_WAW, line, PRODUCER, 0, CONSUMER, 0, 1000);
    add(writers, TRANSFER_WAW, line, CONSUMER, 0, PRODUCER, 0, 1000);
    assert_int_equal(word_writers_use(writers, 1), WORDS_WRITTEN_BY_SEVERAL);
    word_writers_free(writers);
}

/* The head of a ring at byte 0, written by one thread, the tail at byte 4, by the other. Lines of
 * items, which are not told apart, move as often. */
static void test_indexes(void **state)
{
    struct word_writers *writers = word_writers_create();

    (void)state;
    add(writers, TRANSFER_RAW, line, PRODUCER, 0, CONSUMER, 0, 1000);
    add(writers, TRANSFER_RAW, line, CONSUMER, 4, PRODUCER, 4, 1000);
    add(writers, TRANSFER_WAW, line, PRODUCER, 0, CONSUMER, 4, 1000);
    add(writers, TRANSFER_WAR, line, CONSUMER, 0, PRODUCER, 0, 1000);
    add(writers, TRANSFER_RAW, 0, PRODUCER, 8, CONSUMER, 8, 4000);
    assert_int_equal(word_writers_use(writers, 257), WORDS_POLLED);
    word_writers_free(writers);
}

/* A word of a variable whose line stands for others. */
static void add_of_variable(struct word_writers *writers, uint64_t base, uint32_t from, uint32_t to,
                            uint16_t offset)
{
    struct flow flow = {.kind = TRANSFER_RAW,
                        .true_sharing = true,
                        .object_kind = OBJECT_GLOBAL,
                        .object_base = base,
                        .source = {.thread_id = from, .offset = offset, .width = 8},
                        .destination = {.thread_id = to, .offset = offset, .width = 8},
                        .transfers = 1000};

    word_writers_add(writers, &flow);
}

/* The same seen so seldom that its line stands for others, and lines of the variable's items by
 * chance have items where that one has its indexes. */
static void test_indexes_seldom_seen(void **state)
{
    struct word_writers *writers = word_writers_create();

    (void)state;
    add_of_variable(writers, line, PRODUCER, CONSUMER, 0);
    add_of_variable(writers, line, CONSUMER, PRODUCER, 8);
    add_of_variable(writers, line + 640, PRODUCER, CONSUMER, 8);
    assert_int_equal(word_writers_use(writers, 257), WORDS_POLLED);
    word_writers_free(writers);
}

/* The consumer writes an item of the line that are not told apart, too: a word of both. */
static void test_both_write_items(void **state)
{
    struct word_writers *writers = word_writers_create();

    (void)state;
    add(writers, TRANSFER_RAW, 0, PRODUCER, 8, CONSUMER, 8, 4000);
    add(writers, TRANSFER_RAW, 0, CONSUMER, 8, PRODUCER, 8, 4000);
    assert_int_equal(word_writers_use(writers, 257), WORDS_WRITTEN_BY_SEVERAL);
    word_writers_free(writers);
}

/* A hundred lines of items, told apart, each as often. */
static void test_items(void **state)
{
    struct word_writers *writers = word_writers_create();

    (void)state;
    for (unsigned i = 0; i < 100; i++) {
        add(writers, TRANSFER_RAW, line + 64 * i, PRODUCER, 0, CONSUMER, 0, 100);
        add(writers, TRANSFER_WAR, line + 64 * i, CONSUMER, 0, PRODUCER, 0, 100);
    }
    assert_int_equal(word_writers_use(writers, 100), WORDS_HANDED_OVER);
    word_writers_free(writers);
}

/* Filled by one thread, changed by the other: to it and back once, whoever writes. */
static void test_once(void **state)
{
    struct word_writers *writers = word_writers_create();

    (void)state;
    add(writers, TRANSFER_RAW, 0, PRODUCER, 0, CONSUMER, 0, 1000);
    add(writers, TRANSFER_WAW, 0, PRODUCER, 0, CONSUMER, 0, 1000);
    add(writers, TRANSFER_RAW, 0, CONSUMER, 0, PRODUCER, 0, 1000);
    assert_int_equal(word_writers_use(writers, 1000), WORDS_HANDED_OVER);
    assert_int_equal(word_writers_use(writers, 100), WORDS_WRITTEN_BY_SEVERAL);
    word_writers_free(writers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_counter),
                                       cmocka_unit_test(test_indexes),
                                       cmocka_unit_test(test_indexes_seldom_seen),
                                       cmocka_unit_test(test_both_write_items),
                                       cmocka_unit_test(test_items),
                                       cmocka_unit_test(test_once)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

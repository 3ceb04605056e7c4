/* SPDX-License-Identifier: BSD-3-Clause */
/* Words that move on, found among the stores of a burst. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sampling/progress.h"

static struct progress_words words;

static void store(uint64_t address, uint8_t width)
{
    struct access access = {.address = address, .width = width, .kind = ACCESS_STORE};

    progress_find(&words, &access, 1);
}

static void changes_are_signed_and_wrap(void **state)
{
    (void)state;
    assert_true(progress_change(8, 10, 4) == -6);
    assert_true(progress_change(8, UINT64_MAX, 1) == 2);
    assert_true(progress_change(4, 0xfffffffe, 1) == 3);
    assert_true(progress_change(4, 1, 0xfffffffe) == -3);
}

static void aligned_words_that_are_stored_to_are_found_once(void **state)
{
    struct access load = {.address = 0x5000, .width = 8, .kind = ACCESS_LOAD};

    (void)state;
    progress_begin(&words);
    progress_find(&words, &load, 1);
    store(0x1004, 8); /* not aligned */
    store(0x1000, 2);
    store(0x1000, 16);
    assert_int_equal(words.count, 0);
    store(0x1008, 8);
    store(0x1004, 4);
    store(0x1008, 8);
    assert_int_equal(words.count, 2);
    assert_true(progress_keep(&words, 0x1008, 8));
    assert_true(progress_keep(&words, 0x2000, 4));
    assert_int_equal(words.count, 3);
    assert_true(words.words[0].kept);
    assert_false(words.words[1].kept);
}

static void a_full_table_keeps_what_it_has(void **state)
{
    (void)state;
    progress_begin(&words);
    for (uint64_t i = 0; i < 3 * PROGRESS_WORDS; i++)
        store(0x1000 + 8 * i, 8);
    assert_int_equal(words.count, PROGRESS_WORDS);
    for (uint64_t i = 0; i < PROGRESS_WORDS; i++)
        assert_int_equal(words.words[i].address, 0x1000 + 8 * i);
    assert_false(progress_keep(&words, 0x9000000, 8));
    assert_true(progress_keep(&words, 0x1000, 8));
}

/* What happened before the first look does not count: the word was found by it. */
static void progress_counts_from_the_first_look_on(void **state)
{
    struct progress_word word = {.address = 0x1000, .width = 8};

    (void)state;
    progress_look(&word, true, 1000, 512);
    assert_int_equal(word.progress.accesses, 0);
    for (uint64_t i = 1; i <= 6; i++)
        progress_look(&word, true, 1000 + 3 * i, 512 + 500 * i);
    assert_true(progress_is_steady(&word));
    assert_true(word.progress.moved == 18);
    assert_int_equal(word.progress.accesses, 3000);
    assert_int_equal(word.progress.parts, 6);
    assert_true(progress_evenness(&word.progress) > 0.999);
}

static void words_that_go_back_or_stand_still_are_not_steady(void **state)
{
    struct progress_word back = {.width = 4}, still = {.width = 4}, lost = {.width = 4};

    (void)state;
    for (uint64_t i = 0; i < 7; i++) {
        progress_look(&back, true, i % 5, 512 * i);
        progress_look(&still, true, i / 4, 512 * i);
        progress_look(&lost, i != 3, i, 512 * i);
    }
    assert_true(back.void_);
    assert_false(still.void_);
    assert_true(still.progress.moved == 1);
    assert_true(progress_evenness(&still.progress) < 0.2);
    assert_true(lost.void_);
    assert_false(progress_is_steady(&back) || progress_is_steady(&still) ||
                 progress_is_steady(&lost));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_are_signed_and_wrap),
        cmocka_unit_test(aligned_words_that_are_stored_to_are_found_once),
        cmocka_unit_test(a_full_table_keeps_what_it_has),
        cmocka_unit_test(progress_counts_from_the_first_look_on),
        cmocka_unit_test(words_that_go_back_or_stand_still_are_not_steady),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

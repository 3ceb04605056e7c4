/* SPDX-License-Identifier: BSD-3-Clause */
/* Words that move on, found among the stores of a burst, and registers of functions under way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sampling/activations.h"
#include "sampling/progress.h"

static struct progress_candidates candidates;
static struct progress_words words;

static void store(uint64_t address, uint8_t width)
{
    struct access access = {.address = address, .width = width, .kind = ACCESS_STORE};

    progress_find(&candidates, &access, 1);
}

static uint64_t bits(double value)
{
    uint64_t out;

    memcpy(&out, &value, sizeof out);
    return out;
}

static void changes_are_signed_and_wrap(void **state)
{
    (void)state;
    assert_true(progress_change(8, 10, 4) == -6);
    assert_true(progress_change(8, UINT64_MAX, 1) == 2);
    assert_true(progress_change(4, 0xfffffffe, 1) == 3);
    assert_true(progress_change(4, 1, 0xfffffffe) == -3);
}

static void numbers_in_floating_point_are_recognised(void **state)
{
    (void)state;
    assert_true(progress_change(8, bits(1000), bits(1003.5)) == 3.5);
    assert_true(progress_change(8, bits(1e12), bits(1)) == 1 - 1e12);
    /* Addresses and small integers are none. */
    assert_true(progress_change(8, 0x7fffdeadb000, 0x7fffdeadc000) == 0x1000);
    assert_true(progress_change(8, 0, bits(1)) > 1e18);
}

static void aligned_words_that_are_stored_to_are_found_once(void **state)
{
    struct access load = {.address = 0x5000, .width = 8, .kind = ACCESS_LOAD};

    (void)state;
    progress_begin(&candidates);
    progress_find(&candidates, &load, 1);
    store(0x1004, 8); /* not aligned */
    store(0x1000, 2);
    store(0x1000, 16);
    assert_int_equal(candidates.count, 0);
    store(0x1008, 8);
    store(0x1004, 4);
    store(0x1008, 8);
    assert_int_equal(candidates.count, 2);
}

static void a_full_table_keeps_what_it_has(void **state)
{
    (void)state;
    progress_begin(&candidates);
    for (uint64_t i = 0; i < 3 * PROGRESS_CANDIDATES; i++)
        store(0x1000 + 8 * i, 8);
    assert_int_equal(candidates.count, PROGRESS_CANDIDATES);
    for (uint64_t i = 0; i < PROGRESS_CANDIDATES; i++)
        assert_int_equal(candidates.list[i].address, 0x1000 + 8 * i);
}

/* Candidates at 0x1000 + 8 i, looked at with the values of each moment. */
static void look(unsigned n, const uint64_t *values)
{
    for (unsigned i = 0; i < n; i++)
        progress_look(&candidates.list[i], true, values[i]);
}

static bool knows(uint64_t address)
{
    for (unsigned i = 0; i < PROGRESS_WORDS; i++)
        if (words.words[i].address == address)
            return true;
    return false;
}

static void find_three(void)
{
    memset(&words, 0, sizeof words);
    progress_begin(&candidates);
    for (uint64_t i = 0; i < 4; i++)
        store(0x1000 + 8 * i, 8);
    /* One moves on, one goes back, one stands still, one moves on downwards. */
    look(4, (uint64_t[]){10, 10, 7, 50});
    look(4, (uint64_t[]){12, 15, 7, 49});
    look(4, (uint64_t[]){15, 11, 7, 49});
    progress_words_add(&words, &candidates, 0x1018, 0x1020);
}

static void words_that_move_one_way_become_known(void **state)
{
    (void)state;
    find_three();
    assert_true(knows(0x1000) && knows(0x1018));
    assert_false(knows(0x1008) || knows(0x1010));
    /* The one of the stack is the worse, and comes later. */
    assert_int_equal(words.words[0].address, 0x1000);
    assert_int_equal(words.words[0].direction, 1);
    assert_int_equal(words.words[1].direction, -1);
}

static void known_words_are_read_and_judged(void **state)
{
    struct progress_word *word = &words.words[0];

    (void)state;
    find_three();
    for (uint64_t burst = 1; burst <= 10; burst++) {
        progress_word_look(word, true, 100 * burst - 5);
        progress_word_begin(word, true, 100 * burst);
        progress_word_end(word, true, 100 * burst + 3);
        assert_true(word->before == 5 && word->within == 3);
        assert_true(burst == 1 || word->since == 100);
        /* The other one goes back each time, by anything. */
        progress_word_begin(&words.words[1], true, 1000 + 100 * burst);
        progress_words_judge(&words);
    }
    assert_true(knows(0x1000));
    assert_false(knows(0x1018));
    assert_int_equal(progress_words_steady(&words), 1);
    progress_word_begin(word, false, 0);
    assert_false(knows(0x1000));
}

/* Another thread moves it by 40 until the burst has stored to it; then it is the burst's own. */
static void what_others_did_before_is_not_counted(void **state)
{
    struct progress_word *word = &words.words[0];

    (void)state;
    find_three();
    progress_word_begin(word, true, 100);
    progress_word_start(word, true, 142);
    progress_word_end(word, true, 156);
    assert_true(word->within == 14);
    progress_word_begin(word, true, 300);
    assert_true(word->since == 200);
    progress_word_end(word, true, 316);
    assert_true(word->within == 16);
    /* A burst that is short. */
    progress_word_begin(word, true, 400);
    progress_word_start(word, true, 403);
    progress_words_restart(&words);
    progress_word_end(word, true, 403);
    assert_true(word->within == 3);
}

static void words_that_stand_still_are_forgotten(void **state)
{
    (void)state;
    find_three();
    for (int burst = 0; burst < 3 && knows(0x1000); burst++) {
        progress_word_begin(&words.words[0], true, words.words[0].at_begin);
        progress_words_judge(&words);
    }
    assert_false(knows(0x1000));
}

/* Set back every fourth time: it is kept, for between it tells something. */
static void words_that_are_set_back_now_and_then_are_kept(void **state)
{
    struct progress_word *word = &words.words[0];

    (void)state;
    find_three();
    for (uint64_t burst = 0; burst < 40; burst++) {
        progress_word_look(word, true, 1000 * (burst % 4) + 100);
        progress_word_begin(word, true, 1000 * (burst % 4) + 150);
        progress_word_end(word, true, 1000 * (burst % 4) + 152);
        progress_words_judge(&words);
    }
    assert_true(knows(0x1000));
    assert_int_equal(progress_words_steady(&words), 0);
}

/* ---- registers ---- */

enum { COUNTER = 3, POINTER = 7, NOISE = 2 };

static struct activations activations;
static uint64_t registers[ACTIVATION_REGISTERS];

static const uint64_t *at(uint64_t stack_pointer, uint64_t counter, uint64_t noise)
{
    registers[INTERPRETER_STACK_POINTER] = stack_pointer;
    registers[COUNTER] = counter;
    registers[POINTER] = 0x5000 - 8 * counter;
    registers[NOISE] = noise;
    return registers;
}

static void registers_of_the_interrupted_function(void **state)
{
    struct activation_move move;

    (void)state;
    memset(registers, 0, sizeof registers);
    activations_look(&activations, at(0x7000, 10, 1));
    activations_begin(&activations, true, at(0x7000, 110, 2));
    activations_follow(&activations, at(0x7000, 112, 9), 0, 500);
    activations_follow(&activations, at(0x6f00, 77, 77), 0, 700); /* in what it calls */
    activations_follow(&activations, at(0x7000, 115, 3), 0, 1000);
    assert_int_equal(activations.count, 1);
    assert_true(activation_moved(&activations, 0, COUNTER, &move));
    assert_true(move.before_known && move.before == 100 && move.within == 5);
    assert_int_equal(activations.burst[0].end - activations.burst[0].begin, 1000);
    assert_true(activation_moved(&activations, 0, POINTER, &move));
    assert_true(move.before == -800 && move.within == -40);
    assert_false(activation_moved(&activations, 0, NOISE, &move));
    assert_false(activation_moved(&activations, 0, 0, &move)); /* it stood still */
    activations_follow(&activations, at(0x7000, 120, 3), 1u << COUNTER, 1200);
    assert_false(activation_moved(&activations, 0, COUNTER, &move));
}

/* Interrupted in what a loop calls, at the look as in the burst: the loop's registers count once it
 * has been returned to. */
static void registers_of_callers(void **state)
{
    struct activation_move move;

    (void)state;
    memset(registers, 0, sizeof registers);
    activations_look(&activations, at(0x6f00, 5, 5));
    activations_look_return(&activations, at(0x7000, 10, 1));
    activations_look_return(&activations, at(0x6f80, 0, 0)); /* of another call */
    assert_int_equal(activations.looks, 2);
    activations_begin(&activations, true, at(0x6e00, 6, 6));
    activations_return(&activations, 0x400100, at(0x7000, 50, 4), 0, 30);
    activations_return(&activations, 0x400100, at(0x7000, 60, 2), 0, 900);
    assert_int_equal(activations.count, 2);
    assert_int_equal(activations.burst[1].place, 0x400100);
    assert_true(activation_moved(&activations, 1, COUNTER, &move));
    assert_true(move.before_known && move.before == 40 && move.within == 10);
    assert_int_equal(activations.burst[1].end - activations.burst[1].begin, 870);
    activations_begin(&activations, false, at(0x7000, 50, 4));
    activations_follow(&activations, at(0x7000, 60, 2), 0, 900);
    assert_true(activation_moved(&activations, 0, COUNTER, &move));
    assert_false(move.before_known);
    /* A look while a burst waits: what is known of it is mixed up no more. */
    activations_look(&activations, at(0x7000, 90, 1));
    activations_return(&activations, 0x400100, at(0x7000, 95, 4), 0, 1000);
    assert_int_equal(activations.count, 0);
}

static void callers_without_end(void **state)
{
    (void)state;
    activations_look(&activations, at(0x1000, 1, 1));
    activations_begin(&activations, true, at(0x1000, 1, 1));
    for (uint64_t i = 1; i < 20; i++) {
        activations_look_return(&activations, at(0x1000 + 16 * i, i, i));
        activations_return(&activations, i, at(0x1000 + 16 * i, i, i), 0, i);
    }
    assert_int_equal(activations.looks, ACTIVATIONS_MAX);
    assert_int_equal(activations.count, ACTIVATIONS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_are_signed_and_wrap),
        cmocka_unit_test(numbers_in_floating_point_are_recognised),
        cmocka_unit_test(aligned_words_that_are_stored_to_are_found_once),
        cmocka_unit_test(a_full_table_keeps_what_it_has),
        cmocka_unit_test(words_that_move_one_way_become_known),
        cmocka_unit_test(known_words_are_read_and_judged),
        cmocka_unit_test(what_others_did_before_is_not_counted),
        cmocka_unit_test(words_that_stand_still_are_forgotten),
        cmocka_unit_test(words_that_are_set_back_now_and_then_are_kept),
        cmocka_unit_test(registers_of_the_interrupted_function),
        cmocka_unit_test(registers_of_callers),
        cmocka_unit_test(callers_without_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Words that several threads move: what each of them did is a part of it, or not known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/rates/shared_words.h"

enum { BURSTS = 12, THREADS = 3 };

/* Of each thread some bursts, in which the word moved by `within` and 100 accesses were made. */
static size_t list_bursts(struct observation *list, const double within[BURSTS], bool shared)
{
    size_t n = 0;

    for (uint32_t burst = 0; burst < BURSTS; burst++, n++)
        list[n] = (struct observation){.thread = 1 + burst % THREADS,
                                       .kind = PROGRESS_WORD,
                                       .width = 8,
                                       .place = 0x1000,
                                       .order = n,
                                       .before_ns = 10,
                                       .before = 60,
                                       .since_ns = 1000,
                                       .since = 6000,
                                       .within = within[burst],
                                       .accesses = 100,
                                       .shared = shared};
    return n;
}

static const double even[BURSTS] = {9, 10, 11, 10, 9, 10, 11, 10, 9, 10, 11, 10};
static const double uneven[BURSTS] = {1, 30, 2, 0, 55, 3, 2, 90, 1, 4, 20, 1};

static void each_has_an_even_part(void **state)
{
    struct observation list[BURSTS];
    size_t n = shared_words_correct(list, list_bursts(list, even, true));

    (void)state;
    assert_int_equal(n, BURSTS);
    for (size_t i = 0; i < n; i++) {
        assert_float_equal(list[i].before, 60.0 / THREADS, 1e-9);
        assert_float_equal(list[i].since, 6000.0 / THREADS, 1e-9);
        assert_float_equal(list[i].within, even[list[i].order], 0);
    }
}

static void one_that_scatters_says_nothing(void **state)
{
    struct observation list[BURSTS];

    (void)state;
    assert_int_equal(shared_words_correct(list, list_bursts(list, uneven, true)), 0);
}

/* Threads one after the other, or a word that scatters by itself; and one that is moved by others
 * now and then. */
static void a_thread_s_own_is_left_alone(void **state)
{
    struct observation list[BURSTS];
    size_t n = shared_words_correct(list, list_bursts(list, uneven, false));

    (void)state;
    assert_int_equal(n, BURSTS);
    for (size_t i = 0; i < n; i++)
        assert_float_equal(list[i].since, 6000, 0);
    n = list_bursts(list, even, false);
    list[5].shared = true;
    n = shared_words_correct(list, n);
    assert_int_equal(n, BURSTS);
    for (size_t i = 0; i < n; i++)
        assert_float_equal(list[i].since, 6000, 0);
}

/* Registers, and words of other processes at the same address, are others. */
static void words_are_told_apart(void **state)
{
    struct observation list[2 * BURSTS];
    size_t n = list_bursts(list, even, true);

    (void)state;
    n += list_bursts(list + n, uneven, false);
    for (size_t i = BURSTS; i < n; i++) {
        list[i].process = 1;
        list[i].order = i;
    }
    n = shared_words_correct(list, n);
    assert_int_equal(n, 2 * BURSTS);
    for (size_t i = 0; i < n; i++)
        assert_float_equal(list[i].since, list[i].process ? 6000 : 6000.0 / THREADS, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_has_an_even_part),
        cmocka_unit_test(one_that_scatters_says_nothing),
        cmocka_unit_test(a_thread_s_own_is_left_alone),
        cmocka_unit_test(words_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

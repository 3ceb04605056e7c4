/* SPDX-License-Identifier: BSD-3-Clause */
/* sort_keys() against a sort by comparison, for keys of all kinds and numbers of them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reuse/sort_keys.h"
#include "sampling/random.h"

enum { KEYS_MAX = 5000 };

/* By key, and what was first among equals: indexes are given in order. */
static int compare_keys(const void *a, const void *b)
{
    const struct sort_key *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static void check_sorted(struct sort_key *keys, size_t n)
{
    static struct sort_key expected[KEYS_MAX], scratch[KEYS_MAX];

    memcpy(expected, keys, n * sizeof *keys);
    qsort(expected, n, sizeof *expected, compare_keys);
    const struct sort_key *sorted = sort_keys(keys, scratch, n);
    for (size_t i = 0; i < n; i++) {
        assert_true(sorted[i].key == expected[i].key);
        assert_int_equal(sorted[i].index, expected[i].index);
    }
}

static void random_keys(void **state)
{
    static const size_t counts[] = {0, 1, 2, 31, 32, 33, 500, KEYS_MAX};
    static struct sort_key keys[KEYS_MAX];
    struct random random;

    (void)state;
    random_seed(&random, 7);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (unsigned bits = 1; bits <= 64; bits += 9) {
            for (uint32_t i = 0; i < counts[c]; i++)
                keys[i] = (struct sort_key){random_next(&random) >> (64 - bits), i};
            check_sorted(keys, counts[c]);
        }
}

static void times_as_keys(void **state)
{
    static const double times[] = {0, 5e-324, 1e-9, 1, 1.5, 2, 1999, 2000.25, 1e17, INFINITY};

    (void)state;
    for (size_t i = 1; i < sizeof times / sizeof *times; i++)
        assert_true(sort_key_of_time(times[i - 1]) < sort_key_of_time(times[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_keys),
        cmocka_unit_test(times_as_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Where lines begin in a structure: against a search of all sets of members, and sizes against what
 * the compiler makes of alignas. */
#include <setjmp.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "report/sharing/member_lines.h"

enum { MEMBERS = 8, PAIRS = 6, ROUNDS = 2000 };

/* Bit m of `set`: a line begins at member m. */
static bool parts(unsigned set, const struct member_pair *pair)
{
    for (unsigned m = 0; m < MEMBERS; m++)
        if (set >> m & 1 && pair->first < m && m <= pair->second)
            return true;
    return false;
}

static bool parts_all(unsigned set, const struct member_pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!parts(set, &pairs[i]))
            return false;
    return true;
}

static size_t fewest(const struct member_pair *pairs, size_t count)
{
    size_t least = MEMBERS;

    for (unsigned set = 0; set < 1u << MEMBERS; set++)
        if (parts_all(set, pairs, count) && (size_t)__builtin_popcount(set) < least)
            least = (size_t)__builtin_popcount(set);
    return least;
}

static void test_fewest_lines_part_all_pairs(void **state)
{
    (void)state;
    srand(1);
    for (int round = 0; round < ROUNDS; round++) {
        struct member_pair pairs[PAIRS];
        uint64_t begins[PAIRS];
        size_t count = (size_t)(rand() % (PAIRS + 1)), found;
        unsigned set = 0;

        for (size_t i = 0; i < count; i++) {
            pairs[i].first = (uint64_t)(rand() % (MEMBERS - 1));
            pairs[i].second =
                pairs[i].first + 1 + (uint64_t)rand() % (MEMBERS - 1 - pairs[i].first);
        }
        found = member_lines_begin(pairs, count, begins);
        for (size_t i = 0; i < found; i++) {
            assert_true(i == 0 || begins[i] > begins[i - 1]);
            set |= 1u << begins[i];
        }
        assert_true(parts_all(set, pairs, count));
        assert_int_equal(found, fewest(pairs, count));
    }
}

struct in_two {
    alignas(64) char first[8];
    alignas(64) char second[24];
};

struct in_three {
    alignas(64) char first[72];
    alignas(64) char second[8];
    alignas(64) char third[120];
};

static void test_sizes_are_the_compilers(void **state)
{
    const uint64_t two[] = {8}, three[] = {72, 80};

    (void)state;
    assert_int_equal(member_lines_size(two, 1, 32, 64), sizeof(struct in_two));
    assert_int_equal(member_lines_size(three, 2, 200, 64), sizeof(struct in_three));
    assert_int_equal(member_lines_size(two, 0, 32, 64), 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fewest_lines_part_all_pairs),
        cmocka_unit_test(test_sizes_are_the_compilers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

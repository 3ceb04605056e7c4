/* SPDX-License-Identifier: BSD-3-Clause */
/* The proposed order of members against all orders of small structures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/model/member_order.h"

enum { MOST = 6 };

struct best {
    uint64_t size, span; /* least of all orders: structure; first to last hot byte */
};

static void try_orders(const struct ordered_member *members, size_t count, unsigned used,
                       uint64_t end, uint64_t first, uint64_t last, struct best *best)
{
    uint64_t largest = 1;

    if (used == (1U << count) - 1) {
        for (size_t i = 0; i < count; i++)
            largest = members[i].alignment > largest ? members[i].alignment : largest;
        end = (end + largest - 1) / largest * largest;
        best->size = end < best->size ? end : best->size;
        if (last != 0 && last - first < best->span)
            best->span = last - first;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t unit = members[i].alignment, start = (end + unit - 1) / unit * unit;

        if ((used & 1U << i) == 0)
            try_orders(members, count, used | 1U << i, start + members[i].size,
                       members[i].hot && last == 0 ? start : first,
                       members[i].hot ? start + members[i].size : last, best);
    }
}

static void no_order_is_smaller_or_closer(void **state)
{
    uint64_t random = 1;

    (void)state;
    for (int round = 0; round < 400; round++) {
        struct ordered_member members[MOST];
        struct best best = {UINT64_MAX, UINT64_MAX};
        uint64_t size, hot_end = 0;
        size_t count = 1 + (size_t)round % MOST;

        for (size_t i = 0; i < count; i++) {
            random = random * 6364136223846793005U + 1442695040888963407U;
            members[i].alignment = 1U << (random >> 60) % 4;
            members[i].size = members[i].alignment * (1 + (random >> 50) % 3);
            members[i].hot = i == 0 || (random >> 40) % 2 == 0;
        }
        try_orders(members, count, 0, 0, 0, 0, &best);
        size = order_members(members, count);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(members[i].offset % members[i].alignment, 0);
            for (size_t j = 0; j < i; j++)
                assert_true(members[i].offset >= members[j].offset + members[j].size ||
                            members[j].offset >= members[i].offset + members[i].size);
            if (members[i].hot && members[i].offset + members[i].size > hot_end)
                hot_end = members[i].offset + members[i].size;
        }
        assert_int_equal(size, best.size);
        assert_int_equal(hot_end, best.span);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_order_is_smaller_or_closer)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}

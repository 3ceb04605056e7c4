/* SPDX-License-Identifier: BSD-3-Clause */
/* The proposed order of a structure against all orders, with lines counted byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/structs/struct_order.h"

enum { MOST = 5, LINE = 64, COPIES = 64 };

/* Lines of each of 64 elements that follow each other, by marking their bytes. */
static double lines_by_bytes(const struct struct_member *members, size_t count, uint64_t set,
                             uint64_t phase, uint64_t repeat)
{
    uint64_t copies = repeat > 0 ? COPIES : 1;
    double sum = 0;

    for (uint64_t copy = 0; copy < copies; copy++) {
        uint64_t start = phase + copy * repeat, last = UINT64_MAX;

        for (uint64_t byte = start; byte < start + 1024; byte++)
            for (size_t i = 0; i < count; i++)
                if ((set >> i & 1) != 0 && byte >= start + members[i].offset &&
                    byte < start + members[i].offset + members[i].size && byte / LINE != last) {
                    last = byte / LINE;
                    sum += 1;
                }
    }
    return sum / (double)copies;
}

static uint64_t random_state = 1;

static uint64_t random_below(uint64_t limit)
{
    random_state = random_state * 6364136223846793005U + 1442695040888963407U;
    return (random_state >> 33) % limit;
}

/* Members one after the other, as a compiler lays them out. */
static uint64_t lay_out(struct struct_member *members, const size_t *order, size_t count,
                        uint64_t *alignment)
{
    uint64_t end = 0;

    *alignment = 1;
    for (size_t k = 0; k < count; k++) {
        struct struct_member *member = &members[order[k]];

        end = (end + member->alignment - 1) / member->alignment * member->alignment;
        member->offset = end;
        end += member->size;
        *alignment = member->alignment > *alignment ? member->alignment : *alignment;
    }
    return (end + *alignment - 1) / *alignment * *alignment;
}

static void lines_are_those_of_the_bytes(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        struct struct_member members[MOST] = {{0}};
        size_t order[MOST] = {0, 1, 2, 3, 4};
        uint64_t alignment, size, phase = random_below(8) * 8;
        struct struct_use use = {.members = 1 + random_below(31), .weight = 3};
        struct struct_starts starts = {.line = LINE, .phase = phase, .grain = LINE};
        double expected;

        for (size_t i = 0; i < MOST; i++) {
            members[i].alignment = 1U << random_below(4);
            members[i].size = members[i].alignment * (1 + random_below(8 * 8 / 8));
        }
        size = lay_out(members, order, MOST, &alignment);
        starts.repeat = round % 2 == 0 ? size : 0;
        expected = lines_by_bytes(members, MOST, use.members, phase, starts.repeat);
        assert_float_equal(struct_lines(members, MOST, &use, 1, &starts), expected, 1e-9);
    }
}

static double best_of_all_orders(const struct struct_member *members, size_t count, uint64_t set,
                                 size_t *order, size_t placed, unsigned used)
{
    struct struct_member copy[MOST];
    double best = 1e9;

    if (placed == count) {
        uint64_t alignment;

        memcpy(copy, members, count * sizeof(*members));
        lay_out(copy, order, count, &alignment);
        return lines_by_bytes(copy, count, set, 0, 0);
    }
    for (size_t i = 0; i < count; i++) {
        double lines;

        if ((used >> i & 1) != 0)
            continue;
        order[placed] = i;
        lines = best_of_all_orders(members, count, set, order, placed + 1, used | 1U << i);
        best = lines < best ? lines : best;
    }
    return best;
}

/* One structure at the beginning of a line. */
static void no_order_touches_fewer_lines(void **state)
{
    int better = 0;

    (void)state;
    for (int round = 0; round < 100; round++) {
        struct struct_member members[MOST] = {{0}};
        size_t order[MOST] = {0, 1, 2, 3, 4}, scratch[MOST];
        struct struct_use use = {.members = 1 + random_below(31), .weight = 1};
        struct struct_starts starts = {.line = LINE, .grain = LINE};
        struct struct_order found;
        uint64_t alignment, size;

        for (size_t i = 0; i < MOST; i++) {
            members[i].alignment = 1U << random_below(4);
            members[i].size = members[i].alignment * (1 + random_below(6));
            members[i].uses = use.members >> i & 1 ? 1 : 0;
        }
        size = lay_out(members, order, MOST, &alignment);
        found = struct_order_find(members, MOST, size, alignment, &use, 1, &starts);
        assert_float_equal(found.lines_then,
                           best_of_all_orders(members, MOST, use.members, scratch, 0, 0), 1e-9);
        assert_true(found.size <= size);
        better += found.lines_then < found.lines_now;
    }
    assert_in_range(better, 10, 90);
}

static void hot_members_come_together(void **state)
{
    /* 8 + 120 + 8 bytes, the ends used together: two or three lines, then one. */
    struct struct_member members[] = {{.offset = 0, .size = 8, .alignment = 8, .uses = 5},
                                      {.offset = 8, .size = 112, .alignment = 8},
                                      {.offset = 120, .size = 8, .alignment = 8, .uses = 4}};
    struct struct_use use = {.members = 5, .weight = 9};
    struct struct_starts starts = {.line = LINE, .grain = LINE, .repeat = 128};
    struct struct_order order = struct_order_find(members, 3, 128, 8, &use, 1, &starts);

    (void)state;
    assert_int_equal(order.verdict, ORDER_BETTER);
    assert_float_equal(order.lines_now, 2, 1e-9);
    assert_float_equal(order.lines_then, 1, 1e-9);
    assert_int_equal(order.offsets[0], 0);
    assert_int_equal(order.offsets[2], 8);
    assert_int_equal(order.offsets[1], 16);
    assert_int_equal(order.size, 128);
    assert_false(order.padded);
}

static void a_hole_may_be_worth_its_bytes(void **state)
{
    /* Packed it would be 56 bytes long, and its first 40 would cross a line now and then. */
    struct struct_member members[] = {{.offset = 0, .size = 1, .alignment = 1},
                                      {.offset = 8, .size = 40, .alignment = 8, .uses = 1},
                                      {.offset = 48, .size = 1, .alignment = 1},
                                      {.offset = 56, .size = 8, .alignment = 8}};
    struct struct_use use = {.members = 2, .weight = 1};
    struct struct_starts starts = {.line = LINE, .phase = 32, .grain = LINE, .repeat = 64};
    struct struct_order order = struct_order_find(members, 4, 64, 8, &use, 1, &starts);

    (void)state;
    assert_float_equal(order.lines_now, 2, 1e-9);
    assert_true(order.verdict == ORDER_BETTER);
    assert_true(order.lines_then < 2);
}

static void what_is_good_stays(void **state)
{
    struct struct_member members[] = {{.offset = 0, .size = 8, .alignment = 8, .uses = 3},
                                      {.offset = 8, .size = 4, .alignment = 4, .uses = 3},
                                      {.offset = 12, .size = 4, .alignment = 4}};
    struct struct_use use = {.members = 3, .weight = 1};
    struct struct_starts starts = {.line = LINE, .grain = 16, .repeat = 16};
    struct struct_order order = struct_order_find(members, 3, 16, 8, &use, 1, &starts);

    (void)state;
    assert_int_equal(order.verdict, ORDER_GOOD);
    assert_int_equal(order.size, 16);
    assert_float_equal(order.lines_then, 1, 1e-9);
    assert_int_equal(struct_order_find(members, 3, 16, 8, &use, 0, &starts).verdict, ORDER_UNUSED);
    assert_int_equal(struct_order_find(members, 1, 8, 8, &use, 1, &starts).verdict, ORDER_ALONE);
}

/* A base class stays in front, an array without length at the end, whatever is used. */
static void ends_keep_their_places(void **state)
{
    struct struct_member members[] = {
        {.offset = 0, .size = 12, .alignment = 8, .first = true},
        {.offset = 12, .size = 4, .alignment = 4},
        {.offset = 16, .size = 96, .alignment = 8},
        {.offset = 112, .size = 8, .alignment = 8, .uses = 2},
        {.offset = 120, .size = 0, .alignment = 4, .uses = 9, .last = true}};
    struct struct_use use = {.members = 1 | 8, .weight = 1};
    struct struct_starts starts = {.line = LINE, .grain = LINE};
    struct struct_order order = struct_order_find(members, 5, 120, 8, &use, 1, &starts);

    (void)state;
    assert_int_equal(order.verdict, ORDER_BETTER);
    assert_int_equal(order.offsets[0], 0);
    assert_int_equal(order.offsets[1], 12);
    assert_int_equal(order.offsets[3], 16);
    assert_true(order.offsets[4] >= order.offsets[2] + 96);
    assert_int_equal(order.offsets[4] % 4, 0);
    assert_true(order.size >= order.offsets[4]);
    assert_float_equal(order.lines_then, 1, 1e-9);
}

static void too_many_members_are_said(void **state)
{
    struct struct_member members[STRUCT_MEMBERS_MAX + 1] = {{0}};
    struct struct_use use = {.members = 1, .weight = 1};
    struct struct_starts starts = {.line = LINE, .grain = LINE};

    (void)state;
    assert_int_equal(
        struct_order_find(members, STRUCT_MEMBERS_MAX + 1, 65, 1, &use, 1, &starts).verdict,
        ORDER_TOO_MANY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_those_of_the_bytes),
        cmocka_unit_test(no_order_touches_fewer_lines),
        cmocka_unit_test(hot_members_come_together),
        cmocka_unit_test(a_hole_may_be_worth_its_bytes),
        cmocka_unit_test(what_is_good_stays),
        cmocka_unit_test(ends_keep_their_places),
        cmocka_unit_test(too_many_members_are_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

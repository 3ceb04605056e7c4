/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of shared memory that bursts touch: what is counted, which lines are told, how often. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sampling/shared_footprint.h"

enum { LINE = 64, ACCESSES = 4096 };

static const struct shared_range ring = {
    .start = 0x10000, .end = 0x90000, .offset = 0x2000, .device = 5, .inode = 77};

static struct access access_of(uint64_t address, unsigned kind, uint8_t width, uint64_t ip)
{
    return (struct access){.ip = ip, .address = address, .width = width, .kind = (uint8_t)kind};
}

/* Loads, stores, both halves of a read-modify-write, and what lies outside. */
static void test_counts(void **state)
{
    struct access accesses[] = {
        access_of(0x10048, ACCESS_LOAD, 8, 1),  access_of(0x10050, ACCESS_STORE, 4, 2),
        access_of(0x10050, ACCESS_STORE, 4, 3), access_of(0x10044, ACCESS_LOAD, 2, 4),
        access_of(0x10044, ACCESS_STORE, 2, 4), access_of(0x0ffff, ACCESS_STORE, 1, 5),
        access_of(0x90000, ACCESS_LOAD, 8, 6),
    };
    struct shared_footprint footprint;

    (void)state;
    accesses[3].read_modify_write = accesses[4].read_modify_write = true;
    shared_footprint_find(&footprint, accesses, 7, &ring, 1, LINE, 1);
    assert_int_equal(footprint.count, 1);
    assert_int_equal(footprint.uses[0].mapping_id, 1);
    assert_int_equal(footprint.uses[0].line, 0x2040);
    assert_int_equal(footprint.uses[0].loads, 1);
    assert_int_equal(footprint.uses[0].stores, 1); /* three in a row */
    assert_int_equal(footprint.uses[0].read, 0xff00 | 0x30);
    assert_int_equal(footprint.uses[0].written, 0xf0000 | 0x30);
    assert_int_equal(footprint.uses[0].load_ip, 1);
    assert_int_equal(footprint.uses[0].store_ip, 2);
    assert_int_equal(footprint.uses[0].store_offset, 16);
    assert_true(footprint.uses[0].share == 1);
}

/* A visit lasts for LINE_VISIT_ACCESSES of the burst at most, and no longer than the line is come
 * back to soon; loads and stores each have their own. */
static void test_visits(void **state)
{
    static struct access accesses[ACCESSES];
    struct shared_footprint footprint;

    (void)state;
    for (unsigned i = 0; i < ACCESSES; i++)
        accesses[i] =
            access_of(i % 2 ? 0x10048 : 0x10050, i % 2 ? ACCESS_LOAD : ACCESS_STORE, 8, 1);
    shared_footprint_find(&footprint, accesses, ACCESSES, &ring, 1, LINE, 1);
    assert_int_equal(footprint.uses[0].loads, ACCESSES / LINE_VISIT_ACCESSES);
    assert_int_equal(footprint.uses[0].stores, ACCESSES / LINE_VISIT_ACCESSES);
    for (unsigned i = 0; i < ACCESSES; i++)
        accesses[i].address = i % (LINE_VISIT_GAP + 1) ? 0x20000 : 0x10048;
    shared_footprint_find(&footprint, accesses, ACCESSES, &ring, 1, LINE, 1);
    for (unsigned i = 0; i < footprint.count; i++)
        if (footprint.uses[i].line == 0x2040)
            assert_int_equal(footprint.uses[i].loads + footprint.uses[i].stores,
                             ACCESSES / (LINE_VISIT_GAP + 1) + 1);
}

/* An access over the end of a line counts in both; one over the end of the mapping in it. */
static void test_straddling(void **state)
{
    const struct access accesses[] = {access_of(0x1007c, ACCESS_STORE, 8, 1),
                                      access_of(0x8fffc, ACCESS_STORE, 8, 1)};
    struct shared_footprint footprint;
    unsigned bytes = 0;

    (void)state;
    shared_footprint_find(&footprint, accesses, 2, &ring, 1, LINE, 1);
    assert_int_equal(footprint.count, 3);
    for (unsigned i = 0; i < footprint.count; i++)
        bytes += (unsigned)__builtin_popcountll(footprint.uses[i].written);
    assert_int_equal(bytes, 12);
}

static unsigned in_common(const struct shared_footprint *a, const struct shared_footprint *b)
{
    unsigned common = 0;

    for (unsigned i = 0; i < a->count; i++)
        for (unsigned k = 0; k < b->count; k++)
            common += a->uses[i].line == b->uses[k].line;
    return common;
}

/* Two processes that go over the same memory, mapped elsewhere and in another order, tell of the
 * same lines at one time, and of others later; the shares add up to the lines that there are. */
static void test_choice(void **state)
{
    static struct access here[ACCESSES], there[ACCESSES];
    struct shared_range elsewhere = ring;
    struct shared_footprint a = {.count = 0}, b;
    double lines = 0;
    unsigned common = 0;

    (void)state;
    elsewhere.start += 0x7000000;
    elsewhere.end += 0x7000000;
    for (unsigned i = 0; i < ACCESSES; i++) {
        here[i] = access_of(ring.start + i / 4 * LINE + i % 4 * 8, ACCESS_LOAD, 8, 1);
        there[i] = access_of(elsewhere.start + (ACCESSES - 1 - i) / 4 * LINE, ACCESS_STORE, 8, 2);
    }
    for (uint64_t turn = 0; turn < 400; turn++) {
        struct shared_footprint previous = a;

        shared_footprint_find(&a, here, ACCESSES, &ring, 1, LINE, turn << 28);
        shared_footprint_find(&b, there, ACCESSES, &elsewhere, 1, LINE, (turn << 28) + 99);
        assert_int_equal(a.count, SHARED_USES_MAX);
        assert_int_equal(in_common(&a, &b), SHARED_USES_MAX);
        for (unsigned i = 0; i < a.count; i++) {
            assert_int_equal(a.uses[i].loads, 1); /* four in a row are one visit */
            assert_int_equal(b.uses[i].stores, 1);
            lines += 1 / a.uses[i].share / 400;
        }
        common += turn > 0 ? in_common(&previous, &a) : 0;
    }
    /* 1024 lines: the relative error of one estimate is 1/sqrt(k - 1), of 400 of them 2 %. */
    assert_true(lines > 1024 * 0.92 && lines < 1024 * 1.08);
    assert_true(common < 400 * SHARED_USES_MAX / 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_visits),
        cmocka_unit_test(test_straddling),
        cmocka_unit_test(test_choice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* How addresses follow each other in a burst, against counting them one instruction at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sampling/address_steps.h"
#include "sampling/random.h"
#include "sampling/set_conflicts.h"

enum { LINE = 64 };

static struct access accesses[BURST_ACCESSES];
static uint32_t made;
static struct step_counter counter;
static struct address_steps told[ADDRESS_STEPS_MAX];

static void touch(uint64_t ip, uint64_t address)
{
    accesses[made++] =
        (struct access){.ip = ip, .address = address, .width = 8, .kind = ACCESS_LOAD};
}

static void identify(void *user, uint64_t address, struct burst_object *object)
{
    (void)user;
    *object = (struct burst_object){.low = 0, .high = UINT64_MAX};
    (void)address;
}

static uint32_t find(const struct provenance *provenance)
{
    struct burst *burst = calloc(1, burst_memory_size());
    uint32_t count;

    assert_non_null(burst);
    burst_begin(burst, LINE, false);
    burst_feed(burst, accesses, made);
    count = address_steps_find(&counter, burst, LINE, provenance, told);
    free(burst);
    made = 0;
    return count;
}

static void test_columns(void **state)
{
    (void)state;
    for (uint64_t column = 0; column < 4; column++)
        for (uint64_t row = 0; row < 256; row++) {
            touch(0x10, 0x100000 + 8192 * row + 8 * column);
            touch(0x20, 0x800000 + 8 * row); /* along its lines: not told */
        }
    assert_int_equal(find(NULL), 1);
    assert_int_equal(told[0].ip, 0x10);
    assert_int_equal(told[0].accesses, 1024);
    assert_int_equal(told[0].stride, 8192);
    assert_int_equal(told[0].far, 1023);
    /* Each column's first two steps are not as the one before. */
    assert_int_equal(told[0].even, 1023 - 7);
    assert_int_equal(told[0].traced, 0);
}

static void test_backwards(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 100; i++)
        touch(0x10, 0x100000 - 256 * i);
    assert_int_equal(find(NULL), 1);
    assert_int_equal(told[0].stride, -256);
    assert_int_equal(told[0].even, 98);
}

/* Structures of a line each, and a loop along the lines. */
static void test_lines(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 100; i++) {
        touch(0x10, 0x100000 + LINE * i);
        touch(0x20, 0x800000 + (LINE - 1) * i);
    }
    assert_int_equal(find(NULL), 1);
    assert_int_equal(told[0].ip, 0x10);
    assert_int_equal(told[0].stride, LINE);
    assert_int_equal(told[0].far, 99);
    assert_int_equal(told[0].even, 98);
}

static void test_order(void **state)
{
    struct random draws;

    (void)state;
    random_seed(&draws, 7);
    for (unsigned i = 0; i < 1000; i++)
        touch(0x10, 0x100000 + 8 * (uint64_t)random_below(&draws, 1 << 20));
    assert_int_equal(find(NULL), 1);
    assert_true(told[0].far > 990);
    assert_true(told[0].even < 5);
}

/* Against counting by hand: many instructions, some of few accesses. Those with most far steps
 * come first, and no more than there is room for. */
static void test_oracle(void **state)
{
    struct random draws;
    uint32_t count, expected = 0;

    (void)state;
    random_seed(&draws, 11);
    for (unsigned round = 0; round < 20; round++) {
        unsigned instructions = 1 + random_below(&draws, 100);
        struct access copy[BURST_ACCESSES];

        for (unsigned i = 0; i < BURST_ACCESSES; i++) {
            uint64_t which = random_below(&draws, instructions);
            uint64_t far = random_below(&draws, 4) ? 512 * i : 32 * random_below(&draws, 4);

            touch(0x1000 + 16 * which, 0x100000 + which * 0x100000 + far);
            copy[i] = accesses[i];
        }
        count = find(NULL);
        expected = 0;
        for (uint64_t which = 0; which < instructions; which++) {
            uint64_t ip = 0x1000 + 16 * which;
            int64_t last = 0, before = 0;
            uint32_t n = 0, far = 0, even = 0;
            bool found = false;

            for (unsigned i = 0; i < BURST_ACCESSES; i++) {
                int64_t step = (int64_t)copy[i].address - last;

                if (copy[i].ip != ip)
                    continue;
                if (n > 0 && llabs(step) >= LINE) {
                    far++;
                    even += n > 1 && step == before;
                }
                before = n > 0 ? step : 0;
                last = (int64_t)copy[i].address;
                n++;
            }
            if (n < ADDRESS_STEPS_ACCESSES || far * ADDRESS_STEPS_FAR_ONE_IN < n)
                continue;
            expected++;
            for (uint32_t k = 0; k < count; k++)
                if (told[k].ip == ip) {
                    found = true;
                    assert_int_equal(told[k].accesses, n);
                    assert_int_equal(told[k].far, far);
                    assert_int_equal(told[k].even, even);
                }
            if (!found)
                assert_true(count == ADDRESS_STEPS_MAX && told[count - 1].far >= far);
        }
        assert_int_equal(count, expected < ADDRESS_STEPS_MAX ? expected : ADDRESS_STEPS_MAX);
        for (uint32_t k = 1; k < count; k++)
            assert_true(told[k - 1].far >= told[k].far);
    }
}

/* More instructions than are looked at: no loop, and nothing is told wrongly. */
static void test_too_many(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < BURST_ACCESSES; i++)
        touch(0x1000 + i % 1024, 0x100000 + 4096 * i);
    assert_int_equal(find(NULL), 0);
}

static void test_sources(void **state)
{
    static struct provenance provenance;

    (void)state;
    provenance_begin(&provenance);
    for (uint64_t i = 0; i < 100; i++) {
        touch(0x10, 0x100000 + 4096 * (i * i % 97));
        provenance_load(&provenance, 0x10, 2, 2, 0x100000 + 4096 * (i * i % 97));
    }
    assert_int_equal(find(&provenance), 1);
    assert_int_equal(told[0].loaded_by, 0x10);
    assert_true(told[0].loaded > 90 && told[0].traced == 100);
}

/* ---- lines that crowd in a few sets ---- */

static struct set_state sets;
static struct conflict_cache cache;

/* The same by searching back from each access: other lines since the last use of its line, in all
 * and in its set. */
static void judge(const struct access *all, uint32_t n, uint64_t ip, uint32_t *judged,
                  uint32_t *crowded)
{
    uint32_t lines = (uint32_t)cache.sets * cache.ways;

    *judged = *crowded = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t line = all[i].address / LINE, seen[CONFLICT_LINES_MAX];
        uint32_t k = i, others = 0, in_set = 0;

        while (k > 0 && all[k - 1].address / LINE != line && others < lines) {
            uint64_t other = all[--k].address / LINE;
            bool known = false;

            for (uint32_t s = 0; s < others; s++)
                known |= seen[s] == other;
            if (known)
                continue;
            seen[others++] = other;
            in_set += other % cache.sets == line % cache.sets;
        }
        if (k == 0 || others == lines || k - 1 >= BURST_PROBES || all[i].ip != ip)
            continue;
        ++*judged;
        *crowded += in_set >= cache.ways;
    }
}

static void expect_judged(unsigned instructions)
{
    static struct access copy[BURST_ACCESSES];
    const struct burst_host host = {.identify = identify};
    struct burst *burst = calloc(1, burst_memory_size());
    uint32_t n = made, count;

    assert_non_null(burst);
    memcpy(copy, accesses, n * sizeof *copy);
    burst_begin(burst, LINE, false);
    burst_feed(burst, accesses, n);
    burst_close(burst, &host);
    count = address_steps_find(&counter, burst, LINE, NULL, told);
    set_conflicts_count(&sets, cache, burst, told, count);
    assert_int_equal(count, instructions);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t judged, crowded;

        judge(copy, n, told[i].ip, &judged, &crowded);
        assert_int_equal(told[i].judged, judged);
        assert_int_equal(told[i].crowded, crowded);
    }
    free(burst);
    made = 0;
}

/* 64 rows of 4 KiB, again and again: all in one set. */
static void test_crowded(void **state)
{
    (void)state;
    cache = conflict_cache_of(48 << 10, 12, LINE);
    for (uint64_t i = 0; i < BURST_ACCESSES; i++)
        touch(0x10, 0x100000 + 4096 * (i % 64) + 8 * (i / 64 % 8));
    expect_judged(1);
    assert_true(told[0].judged > 1000);
    assert_int_equal(told[0].crowded, told[0].judged);
    /* By 4352 bytes: 17 lines, which all sets have their share of. */
    for (uint64_t i = 0; i < BURST_ACCESSES; i++)
        touch(0x10, 0x100000 + 4352 * (i % 64) + 8 * (i / 64 % 8));
    expect_judged(1);
    assert_true(told[0].judged > 1000);
    assert_int_equal(told[0].crowded, 0);
}

/* Steps of several lengths among each other and beside random accesses. */
static void test_crowded_oracle(void **state)
{
    struct random draws;

    (void)state;
    random_seed(&draws, 5);
    for (unsigned round = 0; round < 20; round++) {
        uint64_t step = 256u << random_below(&draws, 7), rows = 4 + random_below(&draws, 60);

        cache = (struct conflict_cache){.sets = (uint16_t)(32u << random_below(&draws, 3)),
                                        .ways = (uint16_t)(1 + random_below(&draws, 8))};

        for (uint64_t i = 0; i < BURST_ACCESSES / 2; i++) {
            touch(0x10, 0x100000 + step * (i % rows));
            touch(0x20, 0x900000 + 64 * (uint64_t)random_below(&draws, 200));
        }
        expect_judged(2);
    }
}

/* 32 KiB of 8 ways, 48 KiB of 12, the A64FX's 64 KiB of 4 in lines of 256 bytes; what is not known,
 * or no power of two. */
static void test_first_caches(void **state)
{
    static const struct {
        uint64_t bytes;
        uint32_t ways, line_size;
        struct conflict_cache expected;
    } cases[] = {
        {32 << 10, 8, 64, {64, 8}},  {48 << 10, 12, 64, {64, 12}}, {64 << 10, 4, 256, {64, 4}},
        {64 << 10, 4, 64, {256, 4}}, {0, 0, 64, {64, 8}},          {48 << 10, 8, 64, {64, 8}},
        {128 << 10, 8, 64, {64, 8}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct conflict_cache found =
            conflict_cache_of(cases[i].bytes, cases[i].ways, cases[i].line_size);

        assert_int_equal(found.sets, cases[i].expected.sets);
        assert_int_equal(found.ways, cases[i].expected.ways);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_caches), cmocka_unit_test(test_columns),
        cmocka_unit_test(test_backwards),    cmocka_unit_test(test_lines),
        cmocka_unit_test(test_order),        cmocka_unit_test(test_oracle),
        cmocka_unit_test(test_too_many),     cmocka_unit_test(test_sources),
        cmocka_unit_test(test_crowded),      cmocka_unit_test(test_crowded_oracle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

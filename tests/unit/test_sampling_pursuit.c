/* SPDX-License-Identifier: BSD-3-Clause */
/* Pursuits against a search from each line anew. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sampling/pursuit.h"

enum { LINES = 15, BURST = 300, AFTER = 20000, FED_AT_ONCE = 77 };

static struct access after[AFTER];
static struct pursuit pursuit;

/* Accesses of all widths to a region of so many bytes. */
static void make_accesses(struct random *random, uint32_t bytes)
{
    for (uint32_t i = 0; i < AFTER; i++)
        after[i] = (struct access){.ip = 0x1000 + i,
                                   .address = 0x100000 + random_below(random, bytes),
                                   .width = (uint8_t)(1 + random_below(random, 64)),
                                   .kind = i % 3 ? ACCESS_LOAD : ACCESS_STORE};
}

static void make_probes(struct random *random, uint32_t bytes, struct burst_probe *probes)
{
    for (unsigned i = 0; i < LINES; i++)
        probes[i] = (struct burst_probe){.index = random_below(random, BURST),
                                         .address = 0x100000 + random_below(random, bytes),
                                         .width = 1};
}

/* The first of n accesses that touches the probe's line of that size; n: none. */
static uint32_t search(const struct burst_probe *probe, uint32_t line_size, uint32_t n)
{
    uint64_t line = probe->address / line_size;

    for (uint32_t i = 0; i < n; i++)
        if (after[i].address / line_size <= line &&
            (after[i].address + after[i].width - 1) / line_size >= line)
            return i;
    return n;
}

static void follow(const struct burst_probe *probes, uint32_t line_size, uint32_t length)
{
    pursuit_begin(&pursuit, line_size, probes, LINES, BURST, length);
    for (uint32_t i = 0; i < AFTER; i += FED_AT_ONCE)
        pursuit_feed(&pursuit, after + i, AFTER - i < FED_AT_ONCE ? AFTER - i : FED_AT_ONCE);
}

static void check(const struct burst_probe *probes, uint32_t line_size, uint32_t length)
{
    uint32_t last = 0;
    bool all = true;

    follow(probes, line_size, length);
    for (unsigned i = 0; i < LINES; i++) {
        uint32_t ahead = BURST - 1 - probes[i].index;
        struct record_watch_end end = {0};

        pursuit_describe(&pursuit, i, &end);
        for (unsigned size = 0; size < PROBE_LINE_SIZES; size++) {
            uint32_t bytes = probe_line_size(line_size, size);
            uint32_t found = bytes ? search(&probes[i], bytes, length) : length;

            assert_int_equal(end.used[size], found < length ? ahead + found + 1 : REUSE_TIME_NONE);
            if (bytes && found == length)
                all = false;
            if (bytes && found < length && found > last)
                last = found;
            if (size == 0) {
                assert_int_equal(end.reason, found < length ? WATCH_REUSED : WATCH_PURSUIT_ENDED);
                assert_int_equal(end.ip, found < length ? after[found].ip : 0);
                assert_int_equal(end.kind, found < length ? after[found].kind : 0);
            }
        }
    }
    /* It ends with its length, or with the last of its lines. */
    assert_int_equal(pursuit_wants(&pursuit), 0);
    for (unsigned i = 0; i < LINES; i++) {
        struct record_watch_end end = {0};

        pursuit_describe(&pursuit, i, &end);
        assert_int_equal(end.pursued, BURST - 1 - probes[i].index + (all ? last + 1 : length));
    }
}

static void next_uses_are_found(void **state)
{
    struct burst_probe probes[LINES];
    struct random random;

    (void)state;
    random_seed(&random, 3);
    for (unsigned round = 0; round < 40; round++) {
        uint32_t bytes = 5000u << round % 8, line_size = 32u << round % 5;

        make_accesses(&random, bytes);
        make_probes(&random, bytes, probes);
        check(probes, line_size, round % 2 ? 3000 : AFTER);
    }
}

static void a_pursuit_of_nothing_wants_nothing(void **state)
{
    (void)state;
    pursuit_begin(&pursuit, 64, NULL, 0, BURST, 1000);
    assert_int_equal(pursuit_wants(&pursuit), 0);
}

/* Each doubling is reached by half of those that reached the one before. */
static void lengths_halve(void **state)
{
    enum { DRAWS = 64000 };
    uint32_t reached[PURSUIT_DOUBLINGS + 1] = {0};
    struct random random;

    (void)state;
    random_seed(&random, 8);
    for (int i = 0; i < DRAWS; i++) {
        uint32_t length = pursuit_length(&random);

        for (unsigned d = 0; d <= PURSUIT_DOUBLINGS; d++)
            reached[d] += length >= (uint32_t)BURST_ACCESSES << d;
        assert_true(length <= (uint32_t)BURST_ACCESSES << PURSUIT_DOUBLINGS);
    }
    assert_int_equal(reached[0], DRAWS);
    for (unsigned d = 1; d <= PURSUIT_DOUBLINGS; d++) {
        double expected = DRAWS / (double)(1 << d), deviation = sqrt(expected);

        assert_true(fabs(reached[d] - expected) < 5 * deviation);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(next_uses_are_found),
        cmocka_unit_test(a_pursuit_of_nothing_wants_nothing),
        cmocka_unit_test(lengths_halve),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

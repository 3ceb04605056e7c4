/* SPDX-License-Identifier: BSD-3-Clause */
/* What is drawn from a burst, and its markers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/burst_oracle.h"

/* Sum of squared deviations over the expectation; n degrees of freedom: mean n, deviation
 * sqrt(2 n). */
static double chi_square(const uint32_t *seen, uint32_t n, double expected)
{
    double sum = 0;

    for (uint32_t i = 0; i < n; i++)
        sum += ((double)seen[i] - expected) * ((double)seen[i] - expected) / expected;
    return sum;
}

static uint32_t touch_at(const struct burst_probe *probe, uint32_t line_size)
{
    uint32_t i = 0;

    while (oracle.touches[i].access != probe->index ||
           oracle.touches[i].line != probe->address / line_size * line_size)
        i++;
    return i;
}

static void any_probe_is_drawn_alike(void **state)
{
    static uint32_t seen[BRUTE_TOUCHES];
    enum { DRAWS = 100000 };
    struct random random;
    double statistic;

    (void)state;
    random_seed(&random, 5);
    oracle_make_stream(&random, 200, 10, true);
    oracle_feed(&random, 64, false);
    assert_true(oracle.probe_count > 240); /* many accesses touch two lines */
    memset(seen, 0, sizeof seen);
    for (int i = 0; i < DRAWS; i++) {
        struct burst_probe probe = burst_draw(oracle.burst, &random);
        struct burst_probe expected = oracle_probe(touch_at(&probe, 64), 64);

        assert_memory_equal(&probe.address, &expected.address, sizeof probe.address);
        assert_int_equal(probe.width, expected.width);
        assert_int_equal(probe.straddles, expected.straddles);
        seen[touch_at(&probe, 64)]++;
    }
    statistic = chi_square(seen, oracle.probe_count, (double)DRAWS / oracle.probe_count);
    assert_true(statistic < oracle.probe_count + 4 * 25 && statistic > oracle.probe_count - 4 * 25);
}

static void open_probes_are_drawn_alike_and_once(void **state)
{
    static uint32_t seen[BRUTE_TOUCHES], first[BRUTE_TOUCHES];
    enum { DRAWS = 30000, AT_ONCE = 5 };
    struct random random;
    double statistic;

    (void)state;
    random_seed(&random, 6);
    oracle_make_stream(&random, 150, 10, true);
    oracle_feed(&random, 64, false);
    assert_in_range(oracle.open_count, 50, 150);
    memset(seen, 0, sizeof seen);
    memset(first, 0, sizeof first);
    for (int i = 0; i < DRAWS; i++) {
        struct burst_probe drawn[AT_ONCE];
        uint32_t places[AT_ONCE];

        assert_int_equal(burst_draw_open(oracle.burst, &random, AT_ONCE, drawn), AT_ONCE);
        for (int k = 0; k < AT_ONCE; k++) {
            places[k] = touch_at(&drawn[k], 64);
            assert_int_equal(oracle.uses[places[k]].next, 0);
            for (int j = 0; j < k; j++)
                assert_int_not_equal(places[j], places[k]);
            seen[places[k]]++;
        }
        first[places[0]]++;
    }
    for (uint32_t i = 0, n = 0; i < oracle.probe_count; i++)
        if (oracle.uses[i].next == 0) {
            seen[n] = seen[i];
            first[n++] = first[i];
        }
    /* Without replacement the statistic is smaller than with it. */
    statistic = chi_square(seen, oracle.open_count, (double)DRAWS * AT_ONCE / oracle.open_count);
    assert_true(statistic < oracle.open_count + 4 * 17 && statistic > oracle.open_count - 4 * 17);
    statistic = chi_square(first, oracle.open_count, (double)DRAWS / oracle.open_count);
    assert_true(statistic < oracle.open_count + 4 * 17 && statistic > oracle.open_count - 4 * 17);
}

static void all_open_probes_can_be_drawn(void **state)
{
    struct burst_probe drawn[BURST_DRAW_MAX];
    struct random random;

    (void)state;
    random_seed(&random, 7);
    oracle_make_stream(&random, 30, 10, false);
    oracle_feed(&random, 64, false);
    assert_true(oracle.open_count < BURST_DRAW_MAX);
    assert_int_equal(burst_draw_open(oracle.burst, &random, BURST_DRAW_MAX, drawn),
                     oracle.open_count);
    oracle_make_stream(&random, 1000, 60, false);
    oracle_feed(&random, 64, false);
    assert_int_equal(burst_draw_open(oracle.burst, &random, 1000, drawn), BURST_DRAW_MAX);
}

/* ---- markers ---- */

static bool touches_word(const struct access *access, uint64_t word, uint32_t bytes)
{
    return access->address < word + bytes && word < access->address + access->width;
}

/* A word that access i touches and none of those from `from` to it does. */
static bool marks(uint32_t i, uint32_t from, uint64_t word, uint32_t bytes)
{
    if (oracle.stream[i].exclusive || !touches_word(&oracle.stream[i], word, bytes))
        return false;
    for (uint32_t k = from; k < i; k++)
        if (touches_word(&oracle.stream[k], word, bytes))
            return false;
    return true;
}

static bool could_mark(uint32_t i, uint32_t from, uint32_t bytes)
{
    for (uint64_t word = oracle.stream[i].address / bytes * bytes;
         word < oracle.stream[i].address + oracle.stream[i].width; word += bytes)
        if (marks(i, from, word, bytes))
            return true;
    return false;
}

static void markers_trap_first_where_they_are_told_to(void **state)
{
    struct random random;
    unsigned found = 0, none = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        uint32_t bytes = 8u << seed % 3;

        random_seed(&random, 200 + seed);
        oracle_make_stream(&random, 800, 1 + (uint32_t)seed % 6, seed % 2);
        for (uint32_t i = 0; i < oracle.count; i += 5)
            oracle.stream[i].exclusive = true;
        oracle_feed(&random, 64, false);
        for (int round = 0; round < 30; round++) {
            uint32_t after = round % 2 ? random_below(&random, oracle.count)
                                       : oracle.count - 1 - (uint32_t)round;
            uint32_t from = seed % 4 ? 0 : random_below(&random, oracle.count), i;
            struct burst_marker marker;

            i = after + 1 > from ? after + 1 : from;
            while (i < oracle.count && !could_mark(i, from, bytes))
                i++;
            if (!burst_marker_find(oracle.burst, after, from, bytes, &marker)) {
                assert_int_equal(i, oracle.count);
                none++;
                continue;
            }
            found++;
            assert_int_equal(marker.index, i);
            assert_int_equal(marker.ip, oracle.stream[i].ip);
            assert_int_equal(marker.address % bytes, 0);
            assert_true(marks(i, from, marker.address, bytes));
        }
    }
    assert_true(found > 100 && none > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_probe_is_drawn_alike),
        cmocka_unit_test(open_probes_are_drawn_alike_and_once),
        cmocka_unit_test(all_open_probes_can_be_drawn),
        cmocka_unit_test(markers_trap_first_where_they_are_told_to),
    };

    oracle.burst = calloc(1, burst_memory_size());
    return oracle.burst == NULL ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Curves from a hashed sample of the lines against those of all lines. The traces are generated
 * from a fixed seed: an estimate has an error, and the limits below are about twice what is seen.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "reuse/exact_rate.h"
#include "reuse/exact_stack.h"
#include "sampling/random.h"

enum { ACCESSES = 3000000 };

/* Spatial runs in a stream, in uniform places, and in a hot set; by turns. */
static uint64_t next_line(struct random *random, int trace, uint64_t i)
{
    uint64_t pick = random_below(random, 100);
    switch (trace) {
    case 0: /* a stream, eight accesses a line, again and again */
        return i / 8 % 40000;
    case 1: /* uniform over 16 MiB */
        return random_below(random, 1 << 18);
    default: /* three sets of different size */
        return pick < 60   ? random_below(random, 100)
               : pick < 90 ? 1000 + random_below(random, 5000)
                           : 100000 + random_below(random, 100000);
    }
}

static double miss_ratio(const uint64_t *distance, uint64_t cold, uint64_t all, double lines)
{
    double misses = (double)cold;
    for (uint32_t bin = 0; bin < HISTOGRAM_BIN_COUNT; bin++)
        if ((double)histogram_bin_low(bin) >= lines)
            misses += (double)distance[bin];
    return misses / (double)all;
}

static void compare(int trace, uint32_t n, double mean_limit)
{
    struct random random;
    random_seed(&random, 1);
    struct exact_stack whole, part;
    assert_true(exact_stack_create(&whole));
    assert_true(exact_stack_create(&part));
    uint64_t *distance = calloc(HISTOGRAM_BIN_COUNT, sizeof *distance);
    uint64_t *estimate = calloc(HISTOGRAM_BIN_COUNT, sizeof *estimate);
    uint64_t *time = calloc(HISTOGRAM_BIN_COUNT, sizeof *time);
    struct exact_rate_counts *counts = calloc(1, sizeof *counts);
    uint64_t cold = 0, estimated_cold = 0, burst_left = EXACT_RATE_BURST, next_burst = 0;
    struct exact_rate_burst burst = {0};
    exact_rate_burst_begin(&burst, counts, 0);
    for (uint64_t i = 0; i < ACCESSES; i++) {
        uint64_t line = next_line(&random, trace, i);
        struct exact_reuse reuse = exact_stack_use(&whole, line);
        if (reuse.distance == EXACT_STACK_COLD)
            cold++;
        else
            distance[histogram_bin_of(reuse.distance)]++;
        if (burst_left == 0 && i == next_burst) {
            exact_rate_burst_begin(&burst, counts, i);
            burst_left = EXACT_RATE_BURST;
        }
        if (burst_left > 0) {
            exact_rate_burst_use(&burst, counts, line);
            if (--burst_left == 0)
                next_burst = i + 1 + exact_rate_gap(i, &random);
        }
        if (exact_rate_keeps(line, n))
            exact_rate_use(counts, exact_stack_use(&part, line));
        else
            part.clock++;
    }
    exact_rate_burst_end(&burst, counts);
    counts->accesses = ACCESSES;
    struct exact_rate_error error = exact_rate_estimate(counts, n, &estimated_cold, estimate, time);
    assert_true(error.long_share > 0 && error.long_share < 0.05);

    double sum = 0, total = (double)estimated_cold;
    for (uint32_t bin = 0; bin < HISTOGRAM_BIN_COUNT; bin++)
        total += (double)estimate[bin];
    assert_true(fabs(total - ACCESSES) < 0.001 * ACCESSES);
    for (int i = 0; i < 48; i++) {
        double lines = 16 * pow(65536, i / 47.0);
        sum += fabs(miss_ratio(distance, cold, ACCESSES, lines) -
                    miss_ratio(estimate, estimated_cold, ACCESSES, lines));
    }
    print_message("# trace %d, 1/%u of the lines: mean error %.2f pp\n", trace, n, sum / 48 * 100);
    assert_true(sum / 48 * 100 < mean_limit);
    exact_stack_destroy(&whole);
    exact_stack_destroy(&part);
    free(distance);
    free(estimate);
    free(time);
    free(counts);
}

static void curves_agree(void **state)
{
    (void)state;
    compare(0, 10, 0.1);
    compare(0, 100, 0.3);
    compare(1, 10, 0.3);
    compare(1, 100, 0.5);
    /* A hundred lines with 60 % of the accesses: how many of them are followed is a matter of luck,
     * and bursts must make good for it. */
    compare(2, 10, 0.2);
    compare(2, 100, 0.4);
}

/* The hash takes its share of any arithmetic progression of lines. */
static void the_share_is_right(void **state)
{
    (void)state;
    for (uint64_t stride = 1; stride <= 4096; stride *= 4)
        for (uint32_t n = 2; n <= 200; n *= 10) {
            uint64_t kept = 0, lines = 200000;
            for (uint64_t i = 0; i < lines; i++)
                kept += exact_rate_keeps(i * stride, n);
            double expected = (double)lines / n;
            assert_true(fabs((double)kept - expected) < 6 * sqrt(expected));
        }
    assert_true(exact_rate_keeps(12345, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(curves_agree),
        cmocka_unit_test(the_share_is_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

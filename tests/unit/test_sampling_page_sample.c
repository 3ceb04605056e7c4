/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples of distinct pages, against a list of all of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sampling/page_sample.h"
#include "sampling/random.h"

static struct page_sample sample;
static uint64_t pages[PAGE_SAMPLE_MAX];

static uint32_t list_after(uint64_t first, uint64_t step, uint32_t n, uint32_t times)
{
    page_sample_begin(&sample);
    for (uint32_t t = 0; t < times; t++)
        for (uint32_t i = 0; i < n; i++)
            page_sample_add(&sample, first + i * step);
    return page_sample_list(&sample, pages);
}

static void few_pages_are_all_there(void **state)
{
    (void)state;
    for (uint32_t n = 0; n <= PAGE_SAMPLE_MAX; n++) {
        assert_int_equal(list_after(0, 1, n, 3), n);
        assert_int_equal(sample.each, 1);
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(pages[i], i);
    }
    /* Page 0 is one like others, and so is the last one. */
    assert_int_equal(list_after(UINT64_MAX >> 12, 1, 1, 2), 1);
    assert_int_equal(pages[0], UINT64_MAX >> 12);
}

/* However often each was touched: n pages are estimated to be n, about. */
static void many_pages_are_estimated(void **state)
{
    static const uint32_t numbers[] = {PAGE_SAMPLE_MAX + 1, 100, 500, 4096};
    struct random random;

    (void)state;
    random_seed(&random, 7);
    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++) {
        enum { RUNS = 200 };
        double sum = 0;

        for (int run = 0; run < RUNS; run++) {
            uint64_t first = (uint64_t)random_below(&random, UINT32_MAX) << 4;
            uint32_t n = list_after(first, 1 + random_below(&random, 9), numbers[k], 1);

            assert_true(n > 0 && n <= PAGE_SAMPLE_MAX);
            for (uint32_t i = 1; i < n; i++)
                assert_true(pages[i - 1] < pages[i]);
            sum += (double)n * sample.each;
        }
        assert_float_equal(sum / RUNS, numbers[k], 0.06 * numbers[k]);
    }
}

/* One page that is touched all the time does not drive out the others. */
static void touches_do_not_count(void **state)
{
    uint32_t once, often;

    (void)state;
    once = list_after(1000, 3, 300, 1) * sample.each;
    page_sample_begin(&sample);
    for (uint32_t i = 0; i < 300; i++)
        for (uint32_t t = 0; t <= i % 50; t++) {
            page_sample_add(&sample, 1000 + i * 3);
            page_sample_add(&sample, 1000);
        }
    often = page_sample_list(&sample, pages) * sample.each;
    assert_int_equal(once, often);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_pages_are_all_there),
        cmocka_unit_test(many_pages_are_estimated),
        cmocka_unit_test(touches_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

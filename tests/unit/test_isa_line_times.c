/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines that are timed when they are loaded: which ones, and that those in no cache take longer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "isa/line_times.h"
#include "isa/pipeline.h"

enum { LINE = 64, PAGE = 4096, PAGES = LINE_TIMES_MAX + 8 };

static struct pipeline pipeline;
static struct line_times times;
static unsigned char memory[PAGES * PAGE] __attribute__((aligned(PAGE)));

static void begin(void)
{
    memset(&pipeline, 0, sizeof pipeline);
    memset(&times, 0, sizeof times);
    memset(memory, 1, sizeof memory);
    pipeline_begin(&pipeline, pipeline_pace_of((struct pipeline_width){4, 2}),
                   &pipeline_usual_costs);
    times.pipeline = &pipeline;
}

static uint64_t line_of(unsigned page)
{
    return (uint64_t)(uintptr_t)&memory[page * PAGE + page * 5 % 64 * LINE];
}

static void only_scattered_lines_are_timed(void **state)
{
    (void)state;
#ifndef __x86_64__
    skip();
#endif
    begin();
    for (unsigned page = 0; page < 8; page++) {
        line_times_load(&times, line_of(page));
        line_times_load(&times, line_of(page) + 8); /* the same line, before the model knows it */
        pipeline_warm(&pipeline, line_of(page));
        line_times_load(&times, line_of(page) + 16);
        line_times_load(&times, line_of(page) + LINE); /* next to it */
    }
    assert_int_equal(times.count, 8);
}

static void room_is_bounded(void **state)
{
    (void)state;
#ifndef __x86_64__
    skip();
#endif
    begin();
    for (unsigned page = 0; page < PAGES; page++)
        line_times_load(&times, line_of(page));
    assert_int_equal(times.count, LINE_TIMES_MAX);
}

static void ticks_are_bounded(void **state)
{
    (void)state;
#ifndef __x86_64__
    skip();
#endif
    begin();
    line_times_load(&times, line_of(0));
    assert_int_equal(times.count, 1);
    assert_in_range(times.spent, times.ticks[0], UINT32_MAX);
    times.spent = LINE_TIMES_TICKS;
    line_times_load(&times, line_of(1));
    assert_int_equal(times.count, 1);
}

/* Of ticks of half a ns: a cache, just below the limit, at it, memory, and an interrupt. */
static void half_of_a_line_of_memory_tells(void **state)
{
    const struct line_times some = {.count = 5, .ticks = {20, 99, 100, 240, 2000}};
    struct line_times_sum sum = line_times_sum(&some, 0.5, 100);

    (void)state;
    assert_int_equal(sum.timed, 4);
    assert_int_equal(sum.from_memory, 2);
    assert_int_equal(sum.memory_ns, 50 + 120);
}

#ifdef __x86_64__
static int compare(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

    return (a > b) - (a < b);
}

/* Of the lines of half of the pages. */
static uint32_t median_ticks(int flushed)
{
    begin();
    for (unsigned page = 0; flushed && page < PAGES; page++)
        __builtin_ia32_clflush((const void *)(uintptr_t)line_of(page));
    __builtin_ia32_mfence();
    for (unsigned page = 0; page < LINE_TIMES_MAX / 2; page++)
        line_times_load(&times, line_of(page));
    qsort(times.ticks, times.count, sizeof times.ticks[0], compare);
    return times.ticks[times.count / 2];
}
#endif

static void lines_of_memory_take_longer(void **state)
{
    (void)state;
#ifdef __x86_64__
    uint32_t flushed = median_ticks(1), held = median_ticks(0);

    if (flushed < 2 * held + 40)
        fail_msg("%u ticks from memory, %u from a cache", flushed, held);
#else
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_scattered_lines_are_timed),
        cmocka_unit_test(room_is_bounded),
        cmocka_unit_test(ticks_are_bounded),
        cmocka_unit_test(half_of_a_line_of_memory_tells),
        cmocka_unit_test(lines_of_memory_take_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Which instructions of a burst made the loads that were timed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sampling/timed_loads.h"

enum { LINE = 64, FIRST = 3 };

/* Of ticks of half a ns, in which a line of memory takes 100. */
static const struct line_times_scale scale = {0.5, 100};

static const struct access accesses[] = {
    {.ip = 0x10, .address = 0x5000, .width = 8, .kind = ACCESS_LOAD},
    {.ip = 0x20, .address = 0x1000, .width = 8, .kind = ACCESS_LOAD}, /* before it began */
    {.ip = 0x20, .address = 0x1008, .width = 8, .kind = ACCESS_LOAD},
    {.ip = 0x10, .address = 0x2000, .width = 8, .kind = ACCESS_STORE}, /* FIRST */
    {.ip = 0x30, .address = 0x2000, .width = 8, .kind = ACCESS_LOAD},
    {.ip = 0x20, .address = 0x1000, .width = 8, .kind = ACCESS_LOAD},
    {.ip = 0x30, .address = 0x3000, .width = 8, .kind = ACCESS_LOAD},
    {.ip = 0x30, .address = 0x4000, .width = 8, .kind = ACCESS_LOAD},
};

static uint32_t find(const struct line_times *times, struct timed_loads *out)
{
    struct burst *burst = calloc(1, burst_memory_size());
    uint32_t count;

    assert_non_null(burst);
    burst_begin(burst, LINE, false);
    burst_feed(burst, accesses, sizeof accesses / sizeof *accesses);
    count = timed_loads_find(times, scale, burst, FIRST, out);
    free(burst);
    return count;
}

static void loads_have_their_instructions(void **state)
{
    /* Memory, a cache, memory, an interrupt. */
    const struct line_times times = {
        .count = 4, .ticks = {200, 20, 240, 4000}, .address = {0x2000, 0x1000, 0x3000, 0x4000}};
    struct timed_loads out[LINE_TIMES_MAX];

    (void)state;
    assert_int_equal(find(&times, out), 2);
    assert_int_equal(out[0].ip, 0x30);
    assert_int_equal(out[0].timed, 2);
    assert_int_equal(out[0].from_memory, 2);
    assert_int_equal(out[0].memory_ns, 100 + 120);
    assert_int_equal(out[1].ip, 0x20);
    assert_int_equal(out[1].timed, 1);
    assert_int_equal(out[1].from_memory, 0);
    assert_int_equal(out[1].memory_ns, 0);
}

/* 0x5000 was loaded before timing began, 0x9000 by an instruction that was not completed. */
static void loads_without_an_access_are_left_out(void **state)
{
    const struct line_times times = {
        .count = 3, .ticks = {200, 200, 200}, .address = {0x5000, 0x9000, 0x3000}};
    struct timed_loads out[LINE_TIMES_MAX];

    (void)state;
    assert_int_equal(find(&times, out), 1);
    assert_int_equal(out[0].ip, 0x30);
    assert_int_equal(out[0].timed, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_have_their_instructions),
        cmocka_unit_test(loads_without_an_access_are_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

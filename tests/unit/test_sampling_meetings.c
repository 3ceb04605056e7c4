/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines at which bursts meet: what is told of, when, and with which probability. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sampling/meetings.h"

enum { LINE = 64 };

static const uint64_t window = UINT64_C(1) << SHARED_USE_WINDOW_LOG2;

static struct meetings *meetings;
static struct meetings_told told;
static uint64_t bursts;

static int begin(void **state)
{
    (void)state;
    meetings = calloc(1, sizeof *meetings);
    bursts = 0;
    return meetings == NULL;
}

static int end(void **state)
{
    (void)state;
    free(meetings);
    return 0;
}

/* A burst of the thread that uses n lines from `first` on, all of them listed, with ascending
 * ranks. Returns how many uses are told of. */
static unsigned burst(uint32_t thread, uint64_t now_ns, uint64_t first, unsigned n, bool stores,
                      double next_rank)
{
    static struct burst_lines lines;

    memset(&lines, 0, sizeof lines);
    lines.count = n;
    lines.next_rank = next_rank;
    for (unsigned i = 0; i < n; i++) {
        struct burst_line *line = &lines.lines[i];

        line->uses = 1;
        line->rank = (next_rank < 1 ? next_rank : 1) * (i + 1) / (n + 1);
        line->use.line = first + (uint64_t)i * LINE;
        line->use.read = 1;
        line->use.loads = 1;
        line->use.written = stores;
        line->use.stores = stores;
    }
    meetings_note(meetings, &lines, thread, ++bursts, now_ns, &told);
    return told.count;
}

/* The other thread's last use is told of together with the one that meets it. */
static void both_uses_are_told(void **state)
{
    (void)state;
    assert_int_equal(burst(1, window, 0x1000, 1, true, 2), 0);
    assert_int_equal(burst(1, window + 5, 0x1000, 1, true, 2), 0);
    assert_int_equal(burst(2, window + 9, 0x1000, 1, false, 2), 2);
    assert_int_equal(told.uses[0].burst_id, 2);
    assert_int_equal(told.uses[0].earlier, 1);
    assert_int_equal(told.uses[1].burst_id, 3);
    assert_int_equal(told.uses[1].earlier, 0);
    assert_true(told.uses[0].share == 1 && told.uses[1].share == 1);
    /* From then on each one is, once. */
    assert_int_equal(burst(2, window + 10, 0x1000, 1, false, 2), 1);
    assert_int_equal(burst(1, window + 11, 0x1000, 1, false, 2), 1);
    assert_int_equal(told.uses[0].burst_id, 5);
}

/* One that began before another may be complete after it. */
static void the_order_of_beginnings_does_not_matter(void **state)
{
    (void)state;
    burst(1, window + 100, 0x1000, 1, true, 2);
    assert_int_equal(burst(2, window + 50, 0x1000, 1, true, 2), 2);
    assert_int_equal(burst(1, window + 40, 0x1000, 1, true, 2), 1);
}

static void only_what_is_stored_to(void **state)
{
    (void)state;
    assert_int_equal(burst(1, window, 0x1000, 1, false, 2), 0);
    assert_int_equal(burst(2, window + 1, 0x1000, 1, false, 2), 0);
    assert_int_equal(burst(1, window + 2, 0x1000, 1, false, 2), 0);
    /* One of the two that have read it stores: both are told of. */
    assert_int_equal(burst(2, window + 3, 0x1000, 1, true, 2), 2);
    /* Lines of a thread alone never are. */
    for (unsigned i = 0; i < 10; i++)
        assert_int_equal(burst(1, window + 4 + i, 0x9000, 8, true, 2), 0);
}

/* Who was there more than two windows ago is no longer; lines that may not be listed in another
 * window do not meet across its limit. */
static void meetings_do_not_last(void **state)
{
    (void)state;
    burst(1, window, 0x1000, 1, true, 2);
    assert_int_equal(burst(2, 2 * window + 1, 0x1000, 1, true, 2), 2);
    assert_int_equal(burst(1, 9 * window, 0x1000, 1, true, 2), 0);
    burst(1, 10 * window, 0x2000, 1, true, 0.5);
    assert_int_equal(burst(2, 10 * window + 7, 0x2000, 1, true, 0.25), 2);
    assert_true(told.uses[0].share == 0.25 && told.uses[1].share == 0.25);
    assert_int_equal(burst(1, 11 * window, 0x2000, 1, true, 0.5), 0);
}

/* Of many the ones with the lowest ranks are told, with the probability that this leaves. */
static void not_more_than_there_is_room_for(void **state)
{
    (void)state;
    burst(1, window, 0x1000, 40, true, 0.5);
    assert_int_equal(burst(2, window + 1, 0x1000, 40, true, 0.5), 2 * MEETINGS_TOLD_MAX);
    for (unsigned i = 0; i < told.count; i++) {
        assert_true(told.uses[i].line < 0x1000 + MEETINGS_TOLD_MAX * LINE);
        assert_true(told.uses[i].share == 0.5 * (MEETINGS_TOLD_MAX + 1) / 41);
    }
}

/* Lines of one thread alone go first; what several use is kept, as long as there is room. */
static void the_table_is_bounded(void **state)
{
    (void)state;
    burst(1, window, 0x100, 1, true, 2);
    burst(2, window + 1, 0x100, 1, true, 2);
    for (uint64_t i = 0; i < 2 * MEETING_LINES / 64; i++)
        burst(3, window + 2 + i, 0x100000 + i * 64 * LINE, 64, true, 2);
    assert_int_equal(burst(1, window + 999999, 0x100, 1, true, 2), 1);
    assert_int_equal(burst(2, window + 999999, 0x100000, 64, true, 2), 0); /* given up */
    assert_true(burst(2, window + 999999,
                      0x100000 + UINT64_C(64) * LINE * (2 * MEETING_LINES / 64 - 1), 64, true,
                      2) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(both_uses_are_told, begin, end),
        cmocka_unit_test_setup_teardown(the_order_of_beginnings_does_not_matter, begin, end),
        cmocka_unit_test_setup_teardown(only_what_is_stored_to, begin, end),
        cmocka_unit_test_setup_teardown(meetings_do_not_last, begin, end),
        cmocka_unit_test_setup_teardown(not_more_than_there_is_room_for, begin, end),
        cmocka_unit_test_setup_teardown(the_table_is_bounded, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

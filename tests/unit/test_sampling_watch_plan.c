/* SPDX-License-Identifier: BSD-3-Clause */
/* Which word is watched for a sample, what visits tell, and runs of accesses without a burst. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "profile/format.h"
#include "sampling/access_run.h"
#include "sampling/line_visit.h"
#include "sampling/watch_plan.h"

static void a_plan_watches_the_accessed_or_another_word(void **state)
{
    unsigned accessed = 0, other[8] = {0};
    struct random random;
    enum { DRAWS = 8000 };

    (void)state;
    random_seed(&random, 17);
    for (int i = 0; i < DRAWS; i++) {
        struct record_sample sample = {.address = 0x10010, .width = 8};

        watch_plan_make(&sample, &random, WATCH_WORD, 64);
        assert_int_equal(sample.words_accessed, 1);
        assert_int_equal(sample.watch_length, WATCH_WORD);
        assert_int_equal(sample.watch_address % 8, 0);
        assert_int_equal(sample.watch_address / 64, 0x10000 / 64);
        if (sample.watch_mode == WATCH_ACCESSED) {
            accessed++;
            assert_int_equal(sample.watch_address, 0x10010);
        } else {
            assert_int_equal(sample.watch_mode, WATCH_OTHER);
            assert_true(sample.watch_address != 0x10010);
            other[(sample.watch_address - 0x10000) / 8]++;
        }
    }
    /* 4.5 standard deviations. */
    assert_in_range(accessed, DRAWS / 2 - 200, DRAWS / 2 + 200);
    for (int i = 0; i < 8; i++)
        if (i != 2)
            assert_in_range(other[i], DRAWS / 14 - 110, DRAWS / 14 + 110);
}

static void a_line_without_other_words_is_watched_where_accessed(void **state)
{
    unsigned seen = 0;
    struct random random;

    (void)state;
    random_seed(&random, 3);
    for (int i = 0; i < 200; i++) {
        struct record_sample sample = {.address = 0x10000, .width = 64};

        watch_plan_make(&sample, &random, WATCH_WORD, 64);
        assert_int_equal(sample.watch_mode, WATCH_ACCESSED);
        assert_int_equal(sample.words_accessed, 8);
        seen |= 1u << (sample.watch_address - 0x10000) / 8;
    }
    assert_int_equal(seen, 0xff);
}

static void a_wide_register_covers_several_words(void **state)
{
    struct random random;

    (void)state;
    random_seed(&random, 4);
    for (int i = 0; i < 100; i++) {
        struct record_sample sample = {.address = 0x1001c, .width = 8};

        watch_plan_make(&sample, &random, 32, 64);
        assert_int_equal(sample.words_accessed, 2);
        assert_int_equal(sample.watch_mode, WATCH_ACCESSED);
        assert_int_equal(sample.watch_length, 32);
        assert_int_equal(sample.watch_address % 32, 0);
    }
}

static void any_word_of_the_line_may_be_watched_for_others(void **state)
{
    unsigned seen = 0;
    struct random random;

    (void)state;
    random_seed(&random, 5);
    for (int i = 0; i < 200; i++)
        seen |= 1u << (watch_plan_any_word(0x12345, &random, 64) - 0x12340) / 8;
    assert_int_equal(seen, 0xff);
    assert_true(watch_plan_suits_all_threads(&(struct access){.read_modify_write = true}));
    assert_false(watch_plan_suits_all_threads(&(struct access){.exclusive = true}));
}

static void a_visit_tells_what_it_touches_after_the_trap(void **state)
{
    struct visit visit;
    const struct access after[] = {
        {.address = 0x2000 - 4, .width = 8}, /* reaches into word 0 */
        {.address = 0x2018, .width = 16},    /* words 3 and 4 */
        {.address = 0x2028, .width = 8},     /* the trapped word itself */
        {.address = 0x2040, .width = 8},     /* the next line */
    };

    (void)state;
    visit_begin(&visit, 0x2008, 0x2028, WATCH_WORD, 64);
    visit_feed(&visit, after, 4);
    assert_int_equal(visit_words_after(&visit), 3);
    assert_false(visit_touches_sampled(&visit));
    visit_feed(&visit, &(struct access){.address = 0x200c, .width = 1}, 1);
    assert_true(visit_touches_sampled(&visit));
    assert_int_equal(visit_words_after(&visit), 4);
}

/* ---- runs ---- */

static void one_of_the_lines_of_an_access_is_the_sample(void **state)
{
    const struct access wide = {.ip = 5, .address = 0x103c, .width = 64, .kind = ACCESS_STORE};
    unsigned seen[3] = {0};
    struct random random;

    (void)state;
    random_seed(&random, 6);
    for (int i = 0; i < 3000; i++) {
        static const uint8_t widths[] = {4, 32, 28};
        struct access_run run = access_run_at(&wide, 1, 0, 32, &random);
        unsigned line = (unsigned)(run.sample.address / 32 - 0x1020 / 32);

        assert_true(run.straddles);
        assert_true(line < 3);
        assert_int_equal(run.sample.width, widths[line]);
        assert_int_equal(run.sample.address, line == 0 ? 0x103c : 0x1020 + 32 * line);
        assert_int_equal(run.sample.kind, ACCESS_STORE);
        seen[line]++;
    }
    /* Five standard deviations. */
    for (int i = 0; i < 3; i++)
        assert_in_range(seen[i], 870, 1130);
    assert_false(access_run_at(&wide, 1, 0, 128, &random).straddles);
    assert_int_equal(access_run_at(&wide, 1, 0, 128, &random).sample.width, 64);
}

static void a_run_describes_its_sample(void **state)
{
    const struct access accesses[] = {
        {.ip = 1, .address = 0x1000, .width = 8, .kind = ACCESS_STORE},
        {.ip = 2, .address = 0x1008, .width = 8, .kind = ACCESS_LOAD},
        {.ip = 3, .address = 0x10c0, .width = 8, .kind = ACCESS_LOAD},
        {.ip = 4, .address = 0x1038, .width = 8, .kind = ACCESS_LOAD},
        {.ip = 5, .address = 0x1018, .width = 8, .kind = ACCESS_LOAD},
    };
    static const uint32_t expected[LINE_SIZE_COUNT] = {3, 2, 2, 1, 1, 1, 1, 1};
    struct record_sample sample = {.flags = SAMPLE_TURN};
    struct access_run run;
    struct random random;

    (void)state;
    random_seed(&random, 7);
    run = access_run_at(accesses, 5, 1, 64, &random);
    access_run_describe(&run, &sample);
    assert_int_equal(sample.ip, 2);
    assert_int_equal(sample.address, 0x1008);
    assert_int_equal(sample.width, 8);
    assert_int_equal(sample.kind, ACCESS_LOAD);
    assert_int_equal(sample.flags, SAMPLE_TURN);
    assert_int_equal(sample.accesses_ahead, 3);
    assert_int_equal(sample.lines_ahead, 0);
    assert_int_equal(sample.reuse_ip, 4);
    for (int i = 0; i < LINE_SIZE_COUNT; i++)
        assert_int_equal(sample.reuse_time[i], expected[i]);
}

static void those_ahead_are_of_the_instruction_and_the_word(void **state)
{
    const struct access accesses[] = {
        {.ip = 1, .address = 0x1008, .width = 1, .kind = ACCESS_STORE},
        {.ip = 1, .address = 0x1009, .width = 1, .kind = ACCESS_STORE},
        {.ip = 1, .address = 0x1007, .width = 1, .kind = ACCESS_STORE}, /* the word before */
        {.ip = 2, .address = 0x100a, .width = 1, .kind = ACCESS_STORE}, /* another instruction */
        {.ip = 1, .address = 0x1004, .width = 8, .kind = ACCESS_STORE}, /* reaches into it */
        {.ip = 1, .address = 0x1008, .width = 8, .kind = ACCESS_LOAD},
        {.ip = 1, .address = 0x100f, .width = 1, .kind = ACCESS_STORE},
        {.ip = 1, .address = 0x100f, .width = 1, .kind = ACCESS_STORE},
    };
    struct access_run run = {
        .accesses = accesses, .count = 8, .sampled = 6, .sample = accesses[6], .line_size = 64};

    (void)state;
    assert_int_equal(access_run_ahead(&run, 8), 3);
    run.from = 1; /* what has been executed comes no more */
    assert_int_equal(access_run_ahead(&run, 8), 2);
    assert_int_equal(access_run_ahead(&run, 1), 0);
    assert_int_equal(access_run_ahead(&run, 64), 3);
}

static void an_own_visit_is_what_came_before_and_the_next_store(void **state)
{
    const struct access accesses[] = {
        {.address = 0x1000, .width = 8, .kind = ACCESS_STORE},
        {.address = 0x1050, .width = 8, .kind = ACCESS_STORE},
        {.address = 0x1008, .width = 8, .kind = ACCESS_LOAD},
        {.address = 0x103c, .width = 8, .kind = ACCESS_STORE}, /* the sample, its first half */
        {.address = 0x1010, .width = 8, .kind = ACCESS_LOAD},
        {.address = 0x1010, .width = 8, .kind = ACCESS_STORE},
    };
    struct access_run run;
    struct own_visit visit;
    struct record_sample sample = {0};
    struct random random;

    (void)state;
    random_seed(&random, 8);
    do
        run = access_run_at(accesses, 6, 3, 64, &random);
    while (run.sample.address != 0x103c);
    own_visit_begin(&visit, &run);
    assert_true(own_visit_feed(&visit, accesses + 4, 2));
    own_visit_end(&visit, &sample);
    assert_int_equal(sample.visit_accessed, UINT64_C(0xf00000000000ffff));
    assert_int_equal(sample.visit_written, UINT64_C(0xf0000000000000ff));
    assert_int_equal(sample.next_store, 2);
    assert_int_equal(sample.flags, SAMPLE_LINE_VISIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_watches_the_accessed_or_another_word),
        cmocka_unit_test(a_line_without_other_words_is_watched_where_accessed),
        cmocka_unit_test(a_wide_register_covers_several_words),
        cmocka_unit_test(any_word_of_the_line_may_be_watched_for_others),
        cmocka_unit_test(a_visit_tells_what_it_touches_after_the_trap),
        cmocka_unit_test(one_of_the_lines_of_an_access_is_the_sample),
        cmocka_unit_test(a_run_describes_its_sample),
        cmocka_unit_test(those_ahead_are_of_the_instruction_and_the_word),
        cmocka_unit_test(an_own_visit_is_what_came_before_and_the_next_store),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The look-ahead window, watch plans and visits, against brute force on random access streams. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "profile/format.h"
#include "sampling/watch_plan.h"
#include "sampling/window.h"

enum { STREAM = 4000, LENGTH = 2000 };

static struct access stream[STREAM];
static struct window window;

/* Accesses clustered enough that every line size sees reuses. */
static void make_stream(struct random *random)
{
    static const uint8_t widths[] = {1, 2, 4, 8, 16, 32, 64};

    for (int i = 0; i < STREAM; i++) {
        uint64_t page = random_below(random, 40), place = random_below(random, 1 << 14);

        stream[i] = (struct access){
            .ip = 0x1000 + random_below(random, 50) * 4,
            .address = 0x7f0000000000 + page * 16384 + place,
            .width = widths[random_below(random, 7)],
            .kind = ACCESS_LOAD + random_below(random, 2),
        };
    }
}

/* By definition: first later access that touches a line that the sample's nearest byte is in. */
static uint32_t brute_reuse(int sampled, int last, uint32_t line)
{
    const struct access *s = window_sample(&window);

    for (int i = sampled + 1; i <= last; i++) {
        const struct access *a = &stream[i];

        for (uint64_t x = a->address / line; x <= (a->address + a->width - 1) / line; x++)
            for (uint64_t y = s->address / line; y <= (s->address + s->width - 1) / line; y++)
                if (x == y)
                    return (uint32_t)(i - sampled);
    }
    return REUSE_TIME_NONE;
}

/* By definition: lines that accesses `sampled` + 1 .. last touch, without the sample's own. */
static uint32_t brute_distance(int sampled, int last, uint32_t line)
{
    static uint64_t lines[2 * STREAM];
    const struct access *s = window_sample(&window);
    uint32_t n = 0;

    for (int i = sampled + 1; i <= last; i++) {
        const struct access *a = &stream[i];

        for (uint64_t x = a->address / line; x <= (a->address + a->width - 1) / line; x++) {
            uint32_t known = 0;

            while (known < n && lines[known] != x)
                known++;
            if (known == n && x != s->address / line)
                lines[n++] = x;
        }
    }
    return n;
}

static void feed(struct random *random, size_t batch)
{
    size_t at = 0;

    window_begin(&window, random, LENGTH, 64);
    while (at < STREAM) {
        size_t n = batch < STREAM - at ? batch : STREAM - at;

        if (window_feed(&window, stream + at, n))
            break;
        at += n;
    }
    assert_true(window_end(&window, random));
}

static void reuse_in_the_window_is_found_at_every_line_size(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct random random;
        int sampled;

        random_seed(&random, seed);
        make_stream(&random);
        feed(&random, 1 + random_below(&random, 300));
        assert_true(window.chosen);
        assert_false(window.short_skip);
        sampled = (int)window.sampled;
        assert_int_equal(window_sample(&window)->ip, stream[sampled].ip);
        for (uint32_t line = LINE_SIZE_MIN; line <= LINE_SIZE_MAX; line *= 2) {
            uint32_t expected = brute_reuse(sampled, sampled + LENGTH, line);

            if (window.reuse[line_size_index(line)] != expected)
                print_error("seed %llu line %u\n", (unsigned long long)seed, line);
            assert_int_equal(window.reuse[line_size_index(line)], expected);
            if (line == 64 && expected != REUSE_TIME_NONE)
                assert_int_equal(window.reuse_ip, stream[sampled + (int)expected].ip);
            if (line == 64 && expected == REUSE_TIME_NONE)
                assert_int_equal(window.reuse_ip, 0);
        }
    }
}

static void lines_until_the_reuse_are_counted(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct random random;
        int sampled, last;
        uint32_t reuse;

        random_seed(&random, seed);
        make_stream(&random);
        feed(&random, 1 + random_below(&random, 300));
        sampled = (int)window.sampled;
        reuse = brute_reuse(sampled, sampled + LENGTH, 64);
        last = reuse == REUSE_TIME_NONE ? sampled + LENGTH : sampled + (int)reuse - 1;
        if (window.distance != brute_distance(sampled, last, 64))
            print_error("seed %llu\n", (unsigned long long)seed);
        assert_int_equal(window.distance, brute_distance(sampled, last, 64));
    }
}

static void counting_of_lines_survives_thousands_of_windows(void **state)
{
    struct random random;

    (void)state;
    random_seed(&random, 8);
    for (int i = 0; i < 5000; i++) {
        window_begin_after(&window, &random, &(struct access){.address = 0x1000, .width = 8}, 40,
                           64);
        for (uint64_t k = 1; k <= 40; k++)
            window_feed(&window, &(struct access){.address = 0x1000 + 64 * (k % 9), .width = 8}, 1);
        /* The ninth is the sample's own again. */
        assert_int_equal(window.distance, 8);
    }
}

static void too_many_lines_are_not_counted(void **state)
{
    struct random random;

    (void)state;
    random_seed(&random, 8);
    window_begin_after(&window, &random, &(struct access){.address = 0, .width = 8}, 10000, 64);
    for (uint64_t k = 1; k <= 10000; k++)
        window_feed(&window, &(struct access){.address = 64 * k, .width = 8}, 1);
    assert_true(window.done);
    assert_int_equal(window.distance, WINDOW_DISTANCE_MAX);
}

/* An access to two lines is two accesses: the sample is one of them. */
static void a_straddling_access_is_one_of_its_lines(void **state)
{
    const struct access access = {.ip = 1, .address = 0x103d, .width = 8, .kind = ACCESS_LOAD};
    struct random random;
    unsigned second = 0;

    (void)state;
    random_seed(&random, 21);
    for (int i = 0; i < 1000; i++) {
        const struct access *sample = window_sample(&window);

        random_next(&random);
        window_begin_after(&window, &random, &access, 10, 64);
        assert_true(window.straddles);
        if (sample->address == 0x1040) {
            second++;
            assert_int_equal(sample->width, 5);
        } else {
            assert_int_equal(sample->address, 0x103d);
            assert_int_equal(sample->width, 3);
        }
        /* The other line's next use is not the sample's. */
        window_feed(
            &window,
            &(struct access){.address = sample->address == 0x1040 ? 0x1000 : 0x1078, .width = 8},
            1);
        assert_int_equal(window.reuse[line_size_index(64)], REUSE_TIME_NONE);
        assert_int_equal(window.distance, 1);
    }
    assert_in_range(second, 420, 580); /* five standard deviations */
    window_begin_after(&window, &random, &(struct access){.address = 0x1038, .width = 8}, 10, 64);
    assert_false(window.straddles);
}

static void a_late_record_only_tells_the_time(void **state)
{
    const struct access recorded = {.ip = 1, .address = 0x5000, .width = 8, .kind = ACCESS_LOAD};
    struct random random;

    (void)state;
    random_seed(&random, 4);
    window_begin_for_record(&window, &random, &recorded, 0, 10, 64);
    assert_true(window.executed);
    assert_int_equal(window_sample(&window)->address, 0x5000);
    window_begin_for_record(&window, &random, &recorded, 3, 10, 64);
    assert_false(window.chosen);
    for (uint64_t k = 0; !window.chosen; k++)
        window_feed(&window, &(struct access){.address = 64 * k, .width = 8}, 1);
    assert_int_not_equal(window_sample(&window)->address, 0x5000);
}

static void every_access_is_equally_likely_to_be_sampled(void **state)
{
    /* 64 classes of skips, 200 expected in each: a chi-square of 63 degrees of freedom stays below
     * 120 but for one seed in 50 000. */
    enum { CLASSES = 64, DRAWS = 12800 };
    unsigned counts[CLASSES] = {0};
    double chi_square = 0;
    struct random random;

    (void)state;
    random_seed(&random, 99);
    make_stream(&random);
    for (int i = 0; i < DRAWS; i++) {
        feed(&random, 512);
        counts[window.sampled * CLASSES / WINDOW_SKIP_MAX]++;
    }
    for (int i = 0; i < CLASSES; i++) {
        double expected = (double)DRAWS / CLASSES, d = counts[i] - expected;

        chi_square += d * d / expected;
    }
    assert_true(chi_square < 120);
}

static void a_short_stream_gives_a_sample_of_what_there_is(void **state)
{
    unsigned seen[10] = {0};
    struct random random;

    (void)state;
    random_seed(&random, 5);
    make_stream(&random);
    for (int i = 0; i < 3000; i++) {
        window_begin(&window, &random, LENGTH, 64);
        window_feed(&window, stream, 10);
        assert_true(window_end(&window, &random));
        assert_true(window.sampled < 10);
        seen[window.sampled]++;
        if (window.short_skip) {
            int last = 9, sampled = (int)window.sampled;

            assert_true(window.done || window.examined == (uint32_t)(last - sampled));
            for (uint32_t line = LINE_SIZE_MIN; line <= LINE_SIZE_MAX; line *= 2)
                assert_int_equal(window.reuse[line_size_index(line)],
                                 brute_reuse(sampled, last, line));
        }
    }
    for (int i = 0; i < 10; i++)
        assert_in_range(seen[i], 220, 390); /* 300 expected, sigma 16 */
    window_begin(&window, &random, LENGTH, 64);
    assert_false(window_end(&window, &random));
}

static void a_long_window_ends_where_the_code_is_slow_not_the_look_ahead(void **state)
{
    const uint64_t usual = 30000, long_since = 70000, too_long = 700000;
    struct window slow = {.examined = 400};

    (void)state;
    assert_false(window_may_end(&slow, usual, 0.01));
    assert_true(window_may_end(&slow, long_since, 0.01));
    assert_false(window_may_end(&slow, long_since, 2));
    assert_false(window_may_end(&slow, long_since, HUGE_VAL));
    assert_true(window_may_end(&slow, too_long, HUGE_VAL));
    slow.examined = 100;
    assert_false(window_may_end(&slow, too_long, 0.001));
}

static void a_plan_watches_the_accessed_or_another_word(void **state)
{
    unsigned accessed = 0, other[8] = {0};
    struct random random;
    enum { DRAWS = 8000 };

    (void)state;
    random_seed(&random, 17);
    make_stream(&random);
    stream[0] = (struct access){.address = 0x10000 + 16, .width = 8, .kind = ACCESS_LOAD};
    for (int i = 0; i < DRAWS; i++) {
        struct watch_plan plan;

        window_begin(&window, &random, LENGTH, 64);
        window.skip = 0;
        window_feed(&window, stream, 1);
        watch_plan_make(&window, &random, WATCH_WORD, &plan);
        assert_int_equal(plan.words_accessed, 1);
        assert_int_equal(plan.address % 8, 0);
        assert_int_equal(plan.address / 64, 0x10000 / 64);
        if (plan.mode == WATCH_ACCESSED) {
            accessed++;
            assert_int_equal(plan.address, 0x10010);
            assert_int_equal(plan.traps_before, 1);
        } else {
            assert_int_equal(plan.mode, WATCH_OTHER);
            assert_true(plan.address != 0x10010);
            assert_int_equal(plan.traps_before, 0);
            other[(plan.address - 0x10000) / 8]++;
        }
    }
    assert_in_range(accessed, DRAWS / 2 - 200, DRAWS / 2 + 200);
    for (int i = 0; i < 8; i++)
        if (i != 2)
            assert_in_range(other[i], DRAWS / 14 - 110, DRAWS / 14 + 110);
}

static void a_line_without_other_words_is_watched_where_accessed(void **state)
{
    struct random random;
    struct watch_plan plan;

    (void)state;
    random_seed(&random, 3);
    stream[0] = (struct access){.address = 0x10000, .width = 64, .kind = ACCESS_STORE};
    for (int i = 0; i < 100; i++) {
        window_begin(&window, &random, LENGTH, 64);
        window.skip = 0;
        window_feed(&window, stream, 1);
        watch_plan_make(&window, &random, WATCH_WORD, &plan);
        assert_int_equal(plan.mode, WATCH_ACCESSED);
        assert_int_equal(plan.words_accessed, 8);
    }
}

/* A watch of what the third access of the stream, the sample, touches itself. */
static struct watch_plan plan_of_third(void)
{
    struct random random;
    struct watch_plan plan;

    random_seed(&random, 3);
    do {
        window_begin(&window, &random, LENGTH, 64);
        window.skip = 2;
        window_feed(&window, stream, 3);
        watch_plan_make(&window, &random, WATCH_WORD, &plan);
    } while (plan.mode != WATCH_ACCESSED);
    return plan;
}

static void a_read_modify_write_traps_once(void **state)
{
    struct watch_plan plan;

    (void)state;
    stream[0] = (struct access){
        .ip = 1, .address = 0x1000, .width = 8, .kind = ACCESS_LOAD, .read_modify_write = true};
    stream[1] = stream[0];
    stream[1].kind = ACCESS_STORE;
    stream[2] = (struct access){.ip = 2, .address = 0x1000, .width = 4, .kind = ACCESS_LOAD};
    plan = plan_of_third();
    assert_int_equal(plan.traps_before, 2);
    assert_true(watch_plan_suits_all_threads(&window));
}

/* The pair is stepped over as a whole, so the sampled store is awaited at its load. */
static void an_exclusive_pair_traps_once(void **state)
{
    struct watch_plan plan;

    (void)state;
    stream[0] = (struct access){.ip = 1, .address = 0x1000, .width = 8, .kind = ACCESS_STORE};
    stream[1] = (struct access){
        .ip = 2, .address = 0x1000, .width = 8, .kind = ACCESS_LOAD, .exclusive = true};
    stream[2] = (struct access){
        .ip = 3, .address = 0x1000, .width = 8, .kind = ACCESS_STORE, .exclusive = true};
    plan = plan_of_third();
    assert_int_equal(plan.traps_before, 2);
    assert_int_equal(plan.trap_ip, 2);
    assert_false(watch_plan_suits_all_threads(&window));
}

/* The watched word may be touched before the sampled access by another instruction. */
static void the_last_trap_is_awaited_where_it_will_be(void **state)
{
    struct random random;
    struct watch_plan plan;

    (void)state;
    random_seed(&random, 3);
    stream[0] = (struct access){.ip = 1, .address = 0x1008, .width = 8, .kind = ACCESS_LOAD};
    stream[1] = (struct access){.ip = 2, .address = 0x1000, .width = 8, .kind = ACCESS_LOAD};
    for (unsigned accessed = 0, other = 0; accessed == 0 || other == 0;) {
        window_begin(&window, &random, LENGTH, 64);
        window.skip = 1;
        window_feed(&window, stream, 2);
        watch_plan_make(&window, &random, WATCH_WORD, &plan);
        assert_int_equal(plan.traps_before,
                         plan.address == 0x1000 || plan.address == 0x1008 ? 1 : 0);
        if (plan.address == 0x1000)
            assert_int_equal(plan.trap_ip, 2);
        if (plan.address == 0x1008)
            assert_int_equal(plan.trap_ip, 1);
        accessed += plan.address == 0x1000;
        other += plan.address == 0x1008;
    }
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reuse_in_the_window_is_found_at_every_line_size),
        cmocka_unit_test(lines_until_the_reuse_are_counted),
        cmocka_unit_test(counting_of_lines_survives_thousands_of_windows),
        cmocka_unit_test(too_many_lines_are_not_counted),
        cmocka_unit_test(a_straddling_access_is_one_of_its_lines),
        cmocka_unit_test(a_late_record_only_tells_the_time),
        cmocka_unit_test(every_access_is_equally_likely_to_be_sampled),
        cmocka_unit_test(a_short_stream_gives_a_sample_of_what_there_is),
        cmocka_unit_test(a_plan_watches_the_accessed_or_another_word),
        cmocka_unit_test(a_long_window_ends_where_the_code_is_slow_not_the_look_ahead),
        cmocka_unit_test(a_line_without_other_words_is_watched_where_accessed),
        cmocka_unit_test(a_read_modify_write_traps_once),
        cmocka_unit_test(an_exclusive_pair_traps_once),
        cmocka_unit_test(the_last_trap_is_awaited_where_it_will_be),
        cmocka_unit_test(a_visit_tells_what_it_touches_after_the_trap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

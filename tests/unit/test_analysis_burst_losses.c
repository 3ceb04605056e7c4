/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that runs slowly after each burst, at one access per nanosecond else: watches tell the
 * accesses all the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/profile_builder.h"
#include "support/reuse_octave.h"

enum { BURSTS = 40, ACCESSES = 4096, TO_MARKER = 4000 };

struct way {
    uint64_t before_ns; /* lost on the way to the marker */
    uint64_t after_ns;  /* and from there to the next use */
    uint16_t stops;     /* calls of the system on the way */
};

/* One burst of one open line, which is used again 3000 accesses after the marker. */
static void add(struct profile_builder *builder, uint32_t thread, uint64_t app_ns,
                const struct way *way)
{
    struct probe_count count = {
        probe_code(true, probe_distance_bin(500), probe_time_bin(ACCESSES - 1)), 1};
    struct record_sample sample = profile_builder_default_sample(thread, 0);
    struct builder_group group = {
        .probe = {.ip = sample.ip, .kind = ACCESS_LOAD, .width = 8, .place = sample.address},
        .counts = &count,
        .sizes = {1}};
    struct record_burst burst = {.thread_id = thread,
                                 .app_ns = app_ns,
                                 .weight_ns = 1000000,
                                 .loop = sample.loop,
                                 .accesses = ACCESSES,
                                 .stops = way->stops,
                                 .probes = 1};

    sample.burst_id = profile_builder_burst(builder, &burst, &group, 1);
    sample.flags |= SAMPLE_OPEN;
    sample.app_ns = app_ns + TO_MARKER + 1 + way->before_ns;
    sample.accesses_ahead = ACCESSES - 1;
    sample.marker_accesses = TO_MARKER;
    sample.watch_mode = WATCH_ACCESSED;
    sample.words_accessed = 8; /* the whole line: it has no other words */
    sample.watch_length = 8;
    profile_builder_sample(builder, &sample);
    profile_builder_watch_end(builder, &sample, WATCH_REUSED, 3000 + way->after_ns);
}

/* The part of reuses from 4096 to 8191 accesses, where all of them are; the ways in turn. */
static double part_in_octave(const struct way *ways, size_t count)
{
    static struct profile_builder builder;
    char path[] = "/tmp/reuse-losses-XXXXXX";
    int descriptor = mkstemp(path);
    uint32_t thread;

    assert_true(descriptor >= 0);
    close(descriptor);
    profile_builder_begin(&builder, path);
    profile_builder_defaults(&builder);
    thread = profile_builder_thread(&builder, 1, "one");
    for (int i = 0; i < 20; i++)
        profile_builder_rate(&builder, thread, 0, 1, 1000000, 1000000);
    for (size_t i = 0; i < BURSTS; i++)
        add(&builder, thread, (i + 1) * 10000000, &ways[i % count]);
    profile_builder_finish(&builder);

    return reuse_octave_part(path, 4096);
}

static void nothing_is_lost(void **state)
{
    const struct way none = {0};

    (void)state;
    assert_true(part_in_octave(&none, 1) > 0.99);
}

static void as_much_before_as_after(void **state)
{
    const struct way slow = {.before_ns = 12000, .after_ns = 12000};
    const struct way late = {.after_ns = 12000};

    (void)state;
    assert_true(part_in_octave(&slow, 1) > 0.99);
    /* What was not lost before is none of it. */
    assert_true(part_in_octave(&late, 1) < 0.01);
}

/* The time of a system call is no loss: what others lost stands for it. */
static void calls_on_the_way(void **state)
{
    const struct way ways[] = {{.before_ns = 8000, .after_ns = 8000},
                               {.before_ns = 90000, .after_ns = 8000, .stops = 1}};

    (void)state;
    assert_true(part_in_octave(ways, 2) > 0.99);
}

/* An interrupt on the way to the marker takes nothing from what came after. */
static void an_interrupt(void **state)
{
    const struct way ways[] = {{.before_ns = 2000, .after_ns = 2000},
                               {.before_ns = 2000, .after_ns = 2000},
                               {.before_ns = 2000, .after_ns = 2000},
                               {.before_ns = 500000, .after_ns = 40000}};

    (void)state;
    /* That one is used again after 47000 accesses, not before 8192. */
    assert_float_equal(part_in_octave(ways, 4), 0.75, 0.02);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_lost),
        cmocka_unit_test(as_much_before_as_after),
        cmocka_unit_test(calls_on_the_way),
        cmocka_unit_test(an_interrupt),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

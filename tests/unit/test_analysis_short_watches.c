/* SPDX-License-Identifier: BSD-3-Clause */
/* Watches of a few microseconds, whose ends are known to 0.7: those that are alike are alike again,
 * those that differ still do. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sampling/random.h"
#include "support/profile_builder.h"
#include "support/reuse_octave.h"

enum { SAMPLES = 400, TERMS = 12 };

static struct random generator;

/* From 0 to 1. */
static double uniform(void)
{
    return random_below(&generator, 1 << 24) / (double)(1 << 24);
}

/* Of mean 0 and deviation 1: a sum of uniform ones. */
static double normal(void)
{
    double sum = -TERMS / 2.;

    for (int i = 0; i < TERMS; i++)
        sum += uniform();
    return sum;
}

/* The part of reuses from 2048 to 4095 accesses, at one access per nanosecond, where lines come
 * back after mean +- spread nanoseconds. */
static double part_in_octave(double mean, double spread, uint64_t seed)
{
    static struct profile_builder builder;
    char path[] = "/tmp/reuse-short-XXXXXX";
    int descriptor = mkstemp(path);
    uint64_t app_ns = 0;

    assert_true(descriptor >= 0);
    close(descriptor);
    random_seed(&generator, seed);
    profile_builder_begin(&builder, path);
    profile_builder_defaults(&builder);
    uint32_t thread = profile_builder_thread(&builder, 1, "one");
    for (int i = 0; i < 20; i++)
        profile_builder_rate(&builder, thread, 0, 1, 1000000, 1000000);
    for (int i = 0; i < SAMPLES; i++) {
        struct record_sample sample = profile_builder_default_sample(thread, 0);
        double elapsed = mean + spread * (2 * uniform() - 1) + 700 * normal();
        sample.app_ns = app_ns += 1000000;
        sample.accesses_ahead = 200;
        sample.watch_mode = WATCH_ACCESSED;
        sample.words_accessed = 8; /* the whole line: it has no other words */
        sample.watch_length = 8;
        profile_builder_lone_burst(&builder, &sample);
        profile_builder_sample(&builder, &sample);
        profile_builder_watch_end(&builder, &sample, WATCH_REUSED,
                                  (uint64_t)(int64_t)fmax(elapsed, 0));
    }
    profile_builder_finish(&builder);
    return reuse_octave_part(path, 2048);
}

static void alike_again(void **state)
{
    (void)state;
    /* As they stand 85 % of them would lie there. */
    for (uint64_t seed = 1; seed <= 5; seed++)
        assert_true(part_in_octave(3000, 0, seed) > 0.95);
}

static void still_different(void **state)
{
    (void)state;
    /* 2048 of the 5000 that they are spread over; 400 of them, so 2.5 points of deviation. */
    for (uint64_t seed = 1; seed <= 5; seed++)
        assert_true(fabs(part_in_octave(3500, 2500, seed) - 2048 / 5000.) < 0.09);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alike_again),
        cmocka_unit_test(still_different),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

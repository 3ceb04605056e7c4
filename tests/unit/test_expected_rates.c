/* SPDX-License-Identifier: BSD-3-Clause */
/* What is expected of code whose words other threads move: that it waits, and how long is not
 * known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/rates/expected_rates.h"
#include "interpreter_stop.h"
#include "support/profile_builder.h"

static const struct program_line_sources usual_sources = {.rest = {.5, .2, .05}};

enum { BURSTS = 20 };

/* A loop of which others move a word while `shared` of its bursts are looked at. */
static void expect(int shared, double *expected, double *variance)
{
    char path[] = "/tmp/reuse-expected-XXXXXX";
    uint32_t burst_groups[1] = {0}, progress_groups[BURSTS] = {0};
    struct rate_evidence evidence = {.groups = 1, .share = {1}};
    struct kernel_demand demand[RATE_GROUPS_MAX];
    struct profile_builder builder;
    struct profile *profile;

    close(mkstemp(path));
    profile_builder_begin(&builder, path);
    profile_builder_defaults(&builder);
    profile_builder_thread(&builder, 1, "one");
    for (int b = 0; b < BURSTS; b++) {
        struct progress_variable word = {.place = 0x1000,
                                         .kind = PROGRESS_WORD,
                                         .width = 8,
                                         .flags =
                                             PROGRESS_SINCE | (b < shared ? PROGRESS_SHARED : 0),
                                         .accesses = 4096,
                                         .within = 5};

        profile_builder_variable(&builder,
                                 (struct record_progress){.thread_id = 1, .loop = 0x10000}, &word);
    }
    profile_builder_finish(&builder);
    profile = profile_builder_load(path);
    unlink(path);
    assert_int_equal(profile->progress.count, BURSTS);
    expected_rates(profile, 0, &usual_sources, burst_groups, progress_groups, &evidence, demand);
    *expected = evidence.expected[0];
    *variance = evidence.own_variance[0];
    profile_free(profile);
}

static void who_shares_words_waits(void **state)
{
    double alone, half, all, variance[3];

    (void)state;
    expect(0, &alone, &variance[0]);
    expect(BURSTS / 2, &half, &variance[1]);
    expect(BURSTS, &all, &variance[2]);
    assert_float_equal(alone - all, 1, 1e-9);
    assert_float_equal(alone - half, 0.5, 1e-9);
    /* Thirty times slower is within two standard deviations. */
    assert_true(2 * sqrt(variance[2] - variance[0]) > log(30) - 1);
    assert_true(variance[0] < variance[1] && variance[1] < variance[2]);
}

/* Six accesses in so many instructions: some ten microseconds, not a few nanoseconds. */
static void who_seldom_accesses_memory_makes_few(void **state)
{
    const struct probe_count closed = {probe_code(false, 3, 1), 6};
    const struct builder_group group = {.probe = {.ip = 0x10010}, .counts = &closed, .sizes = {1}};
    char path[] = "/tmp/reuse-expected-XXXXXX";
    uint32_t groups[1] = {0};
    struct rate_evidence evidence = {.groups = 1, .share = {1}};
    struct kernel_demand demand[RATE_GROUPS_MAX];
    struct progress_variable calls = {.kind = PROGRESS_SYSTEM_CALLS, .accesses = 6};
    struct profile_builder builder;
    struct record_burst burst;
    struct profile *profile;

    (void)state;
    close(mkstemp(path));
    profile_builder_begin(&builder, path);
    profile_builder_defaults(&builder);
    burst = profile_builder_default_burst(profile_builder_thread(&builder, 1, "one"), 0);
    burst.stop = INTERPRETER_BUDGET;
    burst.accesses = burst.probes = 6;
    profile_builder_burst(&builder, &burst, &group, 1);
    profile_builder_variable(
        &builder,
        (struct record_progress){.thread_id = 1, .loop = 0x10000, .burst_id = burst.burst_id},
        &calls);
    profile_builder_finish(&builder);
    profile = profile_builder_load(path);
    unlink(path);
    assert_int_equal(profile->bursts.count, 1);
    expected_rates(profile, 0, &usual_sources, groups, groups, &evidence, demand);
    assert_float_equal(evidence.expected[0], log(6 / (0.17 * BURST_INSTRUCTIONS_MAX)), 1e-9);
    profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_shares_words_waits),
        cmocka_unit_test(who_seldom_accesses_memory_makes_few),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

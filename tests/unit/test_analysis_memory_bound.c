/* SPDX-License-Identifier: BSD-3-Clause */
/* What the memory of processes says of caches that hold all of it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/curves/memory_bound.h"
#include "support/profile_builder.h"

#define MIB 1048576.0

enum {
    LINE = 64,
    /* With the builder's 4 CPUs and pages of 4 KiB: 32 pages on each may not be told yet. */
    NOT_TOLD = 4 * 32 * 4096,
};

static struct profile_builder builder;
static char path[40];

static void begin(void)
{
    strcpy(path, "/tmp/reuse-memory-XXXXXX");
    int descriptor = mkstemp(path);

    assert_true(descriptor >= 0);
    close(descriptor);
    profile_builder_begin(&builder, path);
    profile_builder_defaults(&builder);
}

static struct profile *end(void)
{
    profile_builder_finish(&builder);
    struct profile *profile = profile_builder_load(path);

    unlink(path);
    return profile;
}

static void tell(double peak, uint64_t faults)
{
    profile_builder_run_number(&builder, "peak_memory_bytes", (uint64_t)peak);
    profile_builder_run_number(&builder, "page_faults", faults);
}

static struct memory_bound bound_of(const struct profile *const *profiles, size_t n, bool in_groups)
{
    struct cache_groups groups = {0};
    struct analysis analysis = {.profiles = (const struct profile **)profiles,
                                .profile_count = n,
                                .line_size = LINE,
                                .options.groups = in_groups ? &groups : NULL};

    return memory_bound_of(&analysis);
}

static void the_peak_or_what_faults_brought_bounds(void **state)
{
    static const struct {
        double peak;
        uint64_t faults;
        double bytes;
    } cases[] = {{3 * MIB, 100, 3 * MIB + NOT_TOLD},
                 {3 * MIB, 1, 3 * MIB + 16 * 4096},
                 {3 * MIB, 2560, 10 * MIB},
                 {0, 0, INFINITY}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin();
        if (cases[i].peak > 0)
            tell(cases[i].peak, cases[i].faults);
        const struct profile *profile = end();
        struct memory_bound bound = bound_of(&profile, 1, false);

        assert_true(bound.reach == cases[i].bytes / LINE);
        assert_true(bound.first_uses == cases[i].bytes / LINE);
        profile_free((struct profile *)profile);
    }
}

/* Each thread has first uses of its own. A thread has the memory of its process; a group has that
 * of all. */
static void processes_and_threads_add_up_where_they_do(void **state)
{
    const struct profile *profiles[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        begin();
        tell((i + 1) * MIB - NOT_TOLD, 10);
        for (int thread = 0; thread < 3; thread++)
            profile_builder_thread(&builder, 10 + thread, "thread");
        profiles[i] = end();
    }
    struct memory_bound threads = bound_of(profiles, 2, false), group = bound_of(profiles, 2, true);

    assert_true(threads.reach == 2 * MIB / LINE);
    assert_true(group.reach == 3 * MIB / LINE);
    assert_true(threads.first_uses == 3 * 3 * MIB / LINE);
    for (int i = 0; i < 2; i++)
        profile_free((struct profile *)profiles[i]);
}

static void a_merged_profile_is_bounded_by_its_origins(void **state)
{
    static const char known[] =
        "cpus\0004\0page_size\0004096\0peak_memory_bytes\0001048576\0page_faults\00050\0";

    (void)state;
    for (int unknown = 0; unknown <= 1; unknown++) {
        begin();
        for (uint32_t id = 1; id <= 2; id++) {
            struct record_origin origin = {.origin_id = id};
            bool tells = id == 1 || !unknown;

            profile_builder_record_with_tail(&builder, RECORD_ORIGIN, &origin, sizeof origin,
                                             tells ? known : "", tells ? sizeof known : 1);
        }
        const struct profile *profile = end();
        double reach = bound_of(&profile, 1, false).reach;

        assert_true(unknown ? isinf(reach) : reach == (MIB + NOT_TOLD) / LINE);
        profile_free((struct profile *)profile);
    }
}

static void unseen_distances_are_alike_in_each_octave(void **state)
{
    const struct memory_bound known = {.reach = 4096}, unknown = {.reach = INFINITY};

    (void)state;
    assert_float_equal(memory_bound_farther(&known, 16, 16), 1, 1e-12);
    assert_float_equal(memory_bound_farther(&known, 16, 256), 0.5, 1e-12);
    assert_float_equal(memory_bound_farther(&known, 0, 2048), 1.0 / 12, 1e-12);
    /* What is left there was not used again at all. */
    assert_float_equal(memory_bound_farther(&known, 16, 4096), 1, 1e-12);
    assert_float_equal(memory_bound_farther(&unknown, 16, 256), 1, 1e-12);
}

static void curve_of_unwatched_lines(bool told, const double *sizes, size_t n,
                                     struct curve_point *points)
{
    char message[256];

    begin();
    if (told)
        tell(2 * MIB - NOT_TOLD, 10);
    uint32_t thread = profile_builder_thread(&builder, 10, "thread");
    for (int i = 0; i < 30; i++) {
        struct record_sample sample = profile_builder_default_sample(thread, 0);

        sample.weight_ns = 100000000;
        profile_builder_lone_burst(&builder, &sample);
        profile_builder_sample(&builder, &sample);
    }
    const struct profile *profile = end();
    struct analysis *analysis = analysis_create(&profile, 1, NULL, message, sizeof message);

    assert_non_null(analysis);
    analysis_miss_ratio_curve(analysis, (struct subset){0}, sizes, n, points);
    assert_true(told ? analysis_farthest_reuse(analysis) == 2 * MIB
                     : isinf(analysis_farthest_reuse(analysis)));
    analysis_free(analysis);
    profile_free((struct profile *)profile);
}

static void what_nobody_watched_hits_in_a_cache_of_all_memory(void **state)
{
    const double sizes[] = {1 * MIB, 2 * MIB, 16 * MIB};
    struct curve_point told[3], untold[3];

    (void)state;
    curve_of_unwatched_lines(true, sizes, 3, told);
    curve_of_unwatched_lines(false, sizes, 3, untold);
    for (int i = 0; i < 3; i++) {
        assert_true(untold[i].beyond);
        assert_float_equal(untold[i].miss_ratio.value, 1, 1e-9);
    }
    assert_true(told[0].beyond);
    assert_true(told[0].miss_ratio.lo == 0 && told[0].miss_ratio.hi == 1);
    assert_true(told[0].miss_ratio.value > 0 && told[0].miss_ratio.value < 1);
    for (int i = 1; i < 3; i++) {
        /* 2^15 lines, of some 10^8 accesses. */
        assert_false(told[i].beyond);
        assert_true(told[i].miss_ratio.hi > 0 && told[i].miss_ratio.hi < 0.02);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_peak_or_what_faults_brought_bounds),
        cmocka_unit_test(processes_and_threads_add_up_where_they_do),
        cmocka_unit_test(a_merged_profile_is_bounded_by_its_origins),
        cmocka_unit_test(unseen_distances_are_alike_in_each_octave),
        cmocka_unit_test(what_nobody_watched_hits_in_a_cache_of_all_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

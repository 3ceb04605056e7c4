/* SPDX-License-Identifier: BSD-3-Clause */
/* The same questions answered from histograms of every access. */
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

#include "analysis/analysis.h"
#include "profile/histogram_bin.h"
#include "support/profile_builder.h"

/*
 * 1000 accesses: 100 cold, 600 at distance 0, 240 at 50 (40 of them invalidated meanwhile), 60 in
 * the bin of 1000. Half of it is thread 1, which has no coherence misses.
 */
static struct profile *make_profile(bool with_burst)
{
    char path[] = "/tmp/reuse-exact-XXXXXX";
    int descriptor = mkstemp(path);
    struct profile_builder builder;

    assert_true(descriptor >= 0);
    close(descriptor);
    profile_builder_begin(&builder, path);
    profile_builder_defaults(&builder);
    uint32_t thread = profile_builder_thread(&builder, 1, "one");
    struct histogram_bin distances[] = {{.bin = histogram_bin_of(0), .count = 600},
                                        {.bin = histogram_bin_of(50), .count = 240},
                                        {.bin = histogram_bin_of(1000), .count = 60}};
    struct histogram_bin coherence[] = {{.bin = histogram_bin_of(50), .count = 40}};
    struct histogram_bin times[] = {{.bin = histogram_bin_of(1), .count = 600},
                                    {.bin = histogram_bin_of(700), .count = 240},
                                    {.bin = histogram_bin_of(5000), .count = 60}};
    struct histogram_bin half[] = {{.bin = histogram_bin_of(0), .count = 400}};
    struct record_histogram histogram = {.scope = SCOPE_PROCESS,
                                         .measure = MEASURE_STACK_DISTANCE,
                                         .line_size = 64,
                                         .accesses = 1000,
                                         .cold = 100,
                                         .bin_count = 3,
                                         .rate_denominator = 1};
    profile_builder_histogram(&builder, &histogram, distances);
    histogram.measure = MEASURE_REUSE_TIME;
    profile_builder_histogram(&builder, &histogram, times);
    histogram.measure = MEASURE_COHERENCE;
    histogram.bin_count = 1;
    profile_builder_histogram(&builder, &histogram, coherence);
    /* 150 stores: 50 first ones, 70 with the line at most 50 others away meanwhile, 30 at 1000. */
    struct histogram_bin dirty[] = {{.bin = histogram_bin_of(50), .count = 70},
                                    {.bin = histogram_bin_of(1000), .count = 30}};
    struct record_histogram stores = histogram;
    stores.measure = MEASURE_DIRTY;
    stores.accesses = 150;
    stores.cold = 50;
    stores.bin_count = 2;
    profile_builder_histogram(&builder, &stores, dirty);
    histogram.measure = MEASURE_STACK_DISTANCE;
    histogram.scope = SCOPE_THREAD;
    histogram.key = thread;
    histogram.accesses = 500;
    profile_builder_histogram(&builder, &histogram, half);
    if (with_burst) {
        struct record_sample sample = profile_builder_default_sample(thread, 0);
        profile_builder_lone_burst(&builder, &sample);
        profile_builder_sample(&builder, &sample);
    }
    profile_builder_finish(&builder);
    struct profile *profile = profile_builder_load(path);
    unlink(path);
    return profile;
}

static struct analysis *analyse(const struct profile *profile, struct analysis_options options)
{
    char message[256];
    struct analysis *analysis = analysis_create(&profile, 1, &options, message, sizeof message);

    if (!analysis)
        fail_msg("%s", message);
    return analysis;
}

static void write_backs(void **state)
{
    (void)state;
    struct profile *profile = make_profile(false);
    struct analysis *analysis = analyse(profile, (struct analysis_options){0});
    double bytes[] = {32 * 64, 100 * 64, 4096 * 64};
    struct estimate back[3];

    analysis_write_backs(analysis, (struct subset){0}, bytes, 3, back);
    assert_float_equal(back[0].value, 0.150, 1e-9);
    assert_float_equal(back[1].value, 0.080, 1e-9);
    assert_float_equal(back[2].value, 0.050, 1e-9);
    assert_float_equal(back[1].lo, back[1].hi, 0);
    analysis_free(analysis);
    /* The thread's histograms hold no stores: not known, rather than none. */
    analysis = analyse(profile, (struct analysis_options){.thread_id = 1});
    analysis_write_backs(analysis, (struct subset){0}, bytes, 3, back);
    assert_true(isnan(back[0].value) && isnan(back[0].lo) && isnan(back[0].hi));
    analysis_free(analysis);
    profile_free(profile);
}

static void curve_and_split(void **state)
{
    (void)state;
    struct profile *profile = make_profile(false);
    struct analysis *analysis = analyse(profile, (struct analysis_options){0});
    assert_true(analysis_is_exact(analysis));
    assert_int_equal(analysis_sample_count(analysis), 0);
    assert_float_equal(analysis_accesses(analysis).value, 1000, 0);
    double bytes[] = {64, 50 * 64, 51 * 64, 1 << 20};
    struct curve_point points[4];
    analysis_miss_ratio_curve(analysis, (struct subset){0}, bytes, 4, points);
    /* One line: everything but distance 0. */
    assert_float_equal(points[0].miss_ratio.value, 0.40, 1e-9);
    assert_float_equal(points[1].miss_ratio.value, 0.40, 1e-9);
    assert_float_equal(points[2].miss_ratio.value, 0.20, 1e-9);
    assert_float_equal(points[3].miss_ratio.value, 0.14, 1e-9);
    assert_float_equal(points[3].miss_ratio.lo, points[3].miss_ratio.hi, 0);
    struct miss_split misses = analysis_misses(analysis, (struct subset){0}, 51 * 64);
    assert_float_equal(misses.cold.value, 0.1, 1e-9);
    assert_float_equal(misses.capacity.value, 0.06, 1e-9);
    assert_float_equal(misses.coherence.value, 0.04, 1e-9);
    misses = analysis_misses(analysis, (struct subset){0}, 64);
    assert_float_equal(misses.capacity.value, 0.3, 1e-9);
    assert_float_equal(misses.coherence.value, 0, 1e-9);
    struct access_rate_summary rate = analysis_access_rate(analysis);
    assert_true(rate.size_axis_low == 1 && rate.size_axis_high == 1);
    analysis_free(analysis);
    profile_free(profile);
}

/* A count that stands for several bins lies anywhere in them. */
static void wide_bins(void **state)
{
    (void)state;
    char path[] = "/tmp/reuse-exact-XXXXXX";
    int descriptor = mkstemp(path);
    struct profile_builder builder;

    assert_true(descriptor >= 0);
    close(descriptor);
    profile_builder_begin(&builder, path);
    profile_builder_defaults(&builder);
    uint32_t first = histogram_bin_of(1024), end = histogram_bin_of(1152);
    struct histogram_bin bin = {.bin = first, .more = end - first - 1, .count = 100};
    struct record_histogram histogram = {.scope = SCOPE_PROCESS,
                                         .measure = MEASURE_STACK_DISTANCE,
                                         .line_size = 64,
                                         .accesses = 100,
                                         .bin_count = 1,
                                         .rate_denominator = 1};
    profile_builder_histogram(&builder, &histogram, &bin);
    profile_builder_finish(&builder);
    struct profile *profile = profile_builder_load(path);
    unlink(path);
    struct analysis *analysis = analyse(profile, (struct analysis_options){0});
    double bytes[] = {1024 * 64, 1056 * 64, 1088 * 64, 1152 * 64};
    struct curve_point points[4];

    analysis_miss_ratio_curve(analysis, (struct subset){0}, bytes, 4, points);
    assert_float_equal(points[0].miss_ratio.value, 1, 1e-9);
    assert_float_equal(points[1].miss_ratio.value, 0.75, 1e-9);
    assert_float_equal(points[2].miss_ratio.value, 0.5, 1e-9);
    assert_float_equal(points[3].miss_ratio.value, 0, 1e-9);
    analysis_free(analysis);
    profile_free(profile);
}

static void histograms(void **state)
{
    (void)state;
    struct profile *profile = make_profile(false);
    struct analysis *analysis = analyse(profile, (struct analysis_options){0});
    struct histogram_share *bins;
    size_t n = analysis_stack_distance_histogram(analysis, (struct subset){0}, &bins);
    double sum = 0;
    assert_true(n > 2);
    for (size_t i = 0; i < n; i++) {
        sum += bins[i].share.value;
        assert_true(i == 0 || bins[i].lo == bins[i - 1].hi);
        if (bins[i].lo <= 50 && bins[i].hi > 50)
            assert_float_equal(bins[i].share.value, 0.24, 1e-9);
    }
    assert_float_equal(sum, 1, 1e-9);
    assert_float_equal(bins[0].share.value, 0.6, 1e-9);
    assert_true(isinf(bins[n - 1].hi));
    assert_float_equal(bins[n - 1].share.value, 0.1, 1e-9);
    free(bins);
    n = analysis_reuse_time_histogram(analysis, (struct subset){0}, &bins);
    assert_float_equal(bins[0].lo, 1, 0);
    assert_float_equal(bins[0].share.value, 0.6, 1e-9);
    assert_float_equal(bins[n - 1].share.value, 0.1, 1e-9);
    free(bins);
    analysis_free(analysis);
    profile_free(profile);
}

static void one_thread_and_labels(void **state)
{
    (void)state;
    struct profile *profile = make_profile(false);
    struct analysis *analysis = analyse(profile, (struct analysis_options){.thread_id = 1});
    double bytes = 64;
    struct curve_point point;
    analysis_miss_ratio_curve(analysis, (struct subset){0}, &bytes, 1, &point);
    assert_float_equal(point.miss_ratio.value, 0.2, 1e-9);
    assert_float_equal(analysis_thread_accesses(analysis, 0, 1).value, 500, 0);
    size_t n = analysis_histogram_count(analysis);
    uint32_t *groups = calloc(n, sizeof *groups);
    assert_non_null(groups);
    for (size_t i = 0; i < n; i++)
        groups[i] = analysis_histogram(analysis, i, NULL)->scope == SCOPE_PROCESS;
    analysis_miss_ratio_curve(analysis, (struct subset){.groups = groups, .group = 1}, &bytes, 1,
                              &point);
    assert_float_equal(point.miss_ratio.value, 0.4, 1e-9);
    analysis_miss_ratio_curve(analysis, (struct subset){.groups = groups, .group = 9}, &bytes, 1,
                              &point);
    assert_true(point.beyond);
    free(groups);
    analysis_free(analysis);
    profile_free(profile);
}

static void refused(void **state)
{
    (void)state;
    struct profile *profile = make_profile(false), *sampled = make_profile(true);
    char message[256] = "";
    const struct profile *one[] = {profile};
    assert_null(analysis_create(one, 1, &(struct analysis_options){.line_size = 128}, message,
                                sizeof message));
    assert_non_null(strstr(message, "128"));
    assert_null(analysis_create(one, 1, &(struct analysis_options){.line_size = 100}, message,
                                sizeof message));
    assert_non_null(strstr(message, "100"));
    assert_null(analysis_create(NULL, 0, NULL, message, sizeof message));
    const struct profile *mixed[] = {profile, sampled};
    assert_null(analysis_create(mixed, 2, NULL, message, sizeof message));
    assert_non_null(strstr(message, "exact"));
    profile_free(profile);
    profile_free(sampled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(curve_and_split),
        cmocka_unit_test(write_backs),
        cmocka_unit_test(wide_bins),
        cmocka_unit_test(histograms),
        cmocka_unit_test(one_thread_and_labels),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

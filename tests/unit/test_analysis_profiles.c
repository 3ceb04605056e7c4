/* SPDX-License-Identifier: BSD-3-Clause */
/* Odd profiles: empty, cut short, bursts cut short, no registers, freed blocks; histograms; seeds.
 */
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
#include "sampling/random.h"
#include "support/profile_builder.h"
#include "support/trace_generators.h"

static struct profile_builder builder;
static char path[32];
static uint64_t app_ns;

static uint32_t begin(void)
{
    strcpy(path, "/tmp/reuse-odd-XXXXXX");
    int descriptor = mkstemp(path);

    assert_true(descriptor >= 0);
    close(descriptor);
    profile_builder_begin(&builder, path);
    profile_builder_defaults(&builder);
    app_ns = 0;
    uint32_t thread = profile_builder_thread(&builder, 1, "one");
    for (int i = 0; i < 20; i++)
        profile_builder_rate(&builder, thread, 0, 1, 1000000, 1000000);
    return thread;
}

static struct record_sample sample_of(uint32_t thread, bool reused)
{
    struct record_sample sample = profile_builder_default_sample(thread, 0);

    sample.app_ns = app_ns += 1000000;
    for (int k = 0; k < LINE_SIZE_COUNT && reused; k++)
        sample.reuse_time[k] = 3;
    return sample;
}

static struct analysis *analyse(const struct profile *profile, uint64_t seed)
{
    char message[256];
    struct analysis_options options = {.seed = seed};
    struct analysis *analysis = analysis_create(&profile, 1, &options, message, sizeof message);

    if (!analysis)
        fail_msg("%s", message);
    return analysis;
}

static struct profile *load(bool complete)
{
    if (complete)
        profile_builder_finish(&builder);
    else
        profile_builder_cut(&builder);
    struct profile *profile = profile_builder_load(path);
    unlink(path);
    return profile;
}

static struct curve_point point_of(const struct analysis *analysis, double bytes)
{
    struct curve_point point;

    analysis_miss_ratio_curve(analysis, (struct subset){0}, &bytes, 1, &point);
    return point;
}

static void no_samples(void **state)
{
    (void)state;
    begin();
    struct profile *profile = load(true);
    struct analysis *analysis = analyse(profile, 1);
    struct curve_point point = point_of(analysis, 4096);
    assert_true(point.beyond && point.miss_ratio.lo <= 0 && point.miss_ratio.hi >= 1);
    assert_true(analysis_misses(analysis, (struct subset){0}, 4096).beyond);
    assert_float_equal(analysis_accesses(analysis).value, 0, 0);
    struct histogram_share *bins;
    size_t n = analysis_reuse_time_histogram(analysis, (struct subset){0}, &bins);
    assert_int_equal(n, 1);
    assert_float_equal(bins[0].share.value, 1, 1e-9);
    free(bins);
    analysis_free(analysis);
    profile_free(profile);
}

/* A quarter of the bursts stopped after 100 accesses; all else is reused at once. */
static void stopped_bursts_and_missing_registers(void **state)
{
    (void)state;
    uint32_t thread = begin();
    for (int i = 0; i < 400; i++) {
        struct record_sample sample = sample_of(thread, i % 4 != 0);
        if (i % 4 == 0) {
            sample.stop = 2;
            sample.accesses_ahead = 100;
            sample.lines_ahead = 1 + 99;
            sample.flags = SAMPLE_ARM_FAILED;
        }
        profile_builder_lone_burst(&builder, &sample);
        profile_builder_sample(&builder, &sample);
    }
    struct profile *profile = load(true);
    struct analysis *analysis = analyse(profile, 1);
    struct curve_point small = point_of(analysis, 64 * 20), large = point_of(analysis, 1 << 20);
    assert_float_equal(small.miss_ratio.value, 0.25, 1e-6);
    assert_false(small.beyond);
    assert_true(large.beyond);
    assert_true(large.miss_ratio.lo == 0);
    assert_true(large.miss_ratio.hi >= 0.25);
    analysis_free(analysis);
    profile_free(profile);
}

static struct profile *with_watches(bool complete, enum watch_end reason, uint64_t object_size,
                                    bool write_end)
{
    uint32_t thread = begin();

    for (int i = 0; i < 400; i++) {
        struct record_sample sample = sample_of(thread, i % 2 != 0);
        sample.object_size = object_size;
        if (i % 2 == 0) {
            sample.watch_mode = i % 4 ? WATCH_OTHER : WATCH_ACCESSED;
            sample.watch_address = sample.address + (i % 4 ? 8 : 0);
            sample.lines_ahead = 1 + 1000;
        }
        profile_builder_lone_burst(&builder, &sample);
        profile_builder_sample(&builder, &sample);
        if (i % 2 == 0 && write_end)
            profile_builder_watch_end(&builder, &sample, reason, 10000000);
    }
    return load(complete);
}

static void freed_blocks(void **state)
{
    (void)state;
    /* Large blocks are gone for ever; small ones are handed out again: their lines' fate is open.
     */
    struct profile *profile = with_watches(true, WATCH_FREED, 1 << 24, true);
    struct analysis *analysis = analyse(profile, 1);
    struct curve_point point = point_of(analysis, 1 << 30);
    assert_false(point.beyond);
    assert_float_equal(point.miss_ratio.value, 0.5, 1e-6);
    struct miss_split misses = analysis_misses(analysis, (struct subset){0}, 1 << 30);
    assert_float_equal(misses.cold.value, 0.5, 1e-6);
    assert_float_equal(misses.capacity.value, 0, 1e-6);
    analysis_free(analysis);
    profile_free(profile);
    profile = with_watches(true, WATCH_FREED, 100, true);
    analysis = analyse(profile, 1);
    assert_true(point_of(analysis, 1 << 30).beyond);
    assert_true(point_of(analysis, 1 << 30).miss_ratio.lo == 0);
    analysis_free(analysis);
    profile_free(profile);
}

static void cut_short(void **state)
{
    (void)state;
    /* Watches without an end: after a kill they were armed until the last sign of life; in a
     * profile that ended in order their ends were lost. */
    struct profile *profile = with_watches(false, 0, 0, false);
    struct analysis *analysis = analyse(profile, 1);
    assert_false(point_of(analysis, 64 * 10000).beyond);
    analysis_free(analysis);
    profile_free(profile);
    profile = with_watches(true, 0, 0, false);
    analysis = analyse(profile, 1);
    assert_true(point_of(analysis, 64 * 10000).beyond);
    analysis_free(analysis);
    profile_free(profile);
}

static void lost_expiries_stand_for_time(void **state)
{
    (void)state;
    uint32_t thread = begin();
    for (int i = 0; i < 200; i++) {
        struct record_sample sample = sample_of(thread, true);
        profile_builder_lone_burst(&builder, &sample);
        profile_builder_sample(&builder, &sample);
    }
    struct record_totals totals = {.thread_id = thread,
                                   .samples = 200,
                                   .bursts = 200,
                                   .expirations = 300,
                                   .lost = {[LOSS_UNREADABLE] = 50, [LOSS_IN_RUNTIME] = 50}};
    profile_builder_record(&builder, RECORD_TOTALS, &totals, sizeof totals);
    struct profile *profile = load(true);
    struct analysis *analysis = analyse(profile, 1);
    /* Also those in our wrappers, which are part of the time that rates refer to. */
    assert_float_equal(analysis_accesses(analysis).value, 300e6, 3e6);
    analysis_free(analysis);
    profile_free(profile);
}

/* The histograms of a sweep have all of their mass where it belongs, and shares add up to one. */
static void histograms_of_a_sweep(void **state)
{
    (void)state;
    struct trace trace = {0};
    struct random random;
    random_seed(&random, 1);
    trace_sweep(&trace, &random);
    const struct trace *traces[] = {&trace};
    struct sampling sampling = {
        .seed = 1, .period_ns = trace.now_ns / 300, .slots = 3, .readings = 8};
    struct profile *profile = simulate(traces, 1, &sampling);
    struct analysis *analysis = analyse(profile, 1);
    for (int measure = 0; measure < 2; measure++) {
        struct histogram_share *bins;
        size_t n = measure ? analysis_stack_distance_histogram(analysis, (struct subset){0}, &bins)
                           : analysis_reuse_time_histogram(analysis, (struct subset){0}, &bins);
        /* 7 of 8 at once; the others at 32768 accesses less 7, 4095 lines. */
        double sum = 0, near = 0, far = 0, where = measure ? 4095 : 32760;
        for (size_t i = 0; i < n; i++) {
            sum += bins[i].share.value;
            assert_true(bins[i].share.lo <= bins[i].share.value);
            assert_true(bins[i].share.hi >= bins[i].share.value);
            assert_true(i == 0 || bins[i].lo == bins[i - 1].hi);
            near += bins[i].hi <= 4 ? bins[i].share.value : 0;
            far +=
                bins[i].lo <= where * 1.05 && bins[i].hi >= where * 0.95 ? bins[i].share.value : 0;
        }
        assert_float_equal(sum, 1, 1e-6);
        assert_float_equal(near, 0.875, 0.03);
        assert_float_equal(far, 0.125, 0.03);
        assert_true(isinf(bins[n - 1].hi));
        free(bins);
    }
    analysis_free(analysis);
    profile_free(profile);
    trace_free(&trace);
}

static void results_follow_from_the_seed(void **state)
{
    (void)state;
    struct trace trace = {0};
    struct random random;
    random_seed(&random, 4);
    trace_hot_and_cold(&trace, &random);
    const struct trace *traces[] = {&trace};
    struct sampling sampling = {
        .seed = 1, .period_ns = trace.now_ns / 200, .slots = 3, .readings = 4};
    struct profile *profile = simulate(traces, 1, &sampling);
    struct curve_point points[3];
    for (int i = 0; i < 3; i++) {
        struct analysis *analysis = analyse(profile, i == 2 ? 8 : 7);
        if (i == 1) /* other questions first */
            (void)point_of(analysis, 12345);
        points[i] = point_of(analysis, 1 << 14);
        analysis_free(analysis);
    }
    assert_true(points[0].miss_ratio.value == points[1].miss_ratio.value);
    assert_true(points[0].miss_ratio.lo == points[1].miss_ratio.lo);
    assert_true(points[0].miss_ratio.hi == points[1].miss_ratio.hi);
    assert_true(points[0].miss_ratio.value == points[2].miss_ratio.value);
    assert_true(points[0].miss_ratio.lo != points[2].miss_ratio.lo);
    profile_free(profile);
    trace_free(&trace);
}

static void several_profiles_are_one(void **state)
{
    (void)state;
    struct profile *a = with_watches(true, WATCH_REUSED, 0, true);
    struct profile *b = with_watches(true, WATCH_REUSED, 0, true);
    const struct profile *both[] = {a, b};
    char message[200];
    struct analysis *analysis = analysis_create(both, 2, NULL, message, sizeof message);
    assert_non_null(analysis);
    assert_int_equal(analysis_burst_count(analysis, (struct subset){0}), 800);
    assert_int_equal(analysis_watch_count(analysis), 400);
    assert_float_equal(analysis_accesses(analysis).value, 800e6, 8e6);
    size_t which = 9;
    analysis_probe(analysis, 799, &which);
    assert_int_equal(which, 1);
    assert_float_equal(analysis_thread_accesses(analysis, 1, 1).value, 400e6, 4e6);
    analysis_free(analysis);
    profile_free(a);
    profile_free(b);
}

/* A number of any magnitude, small and extreme ones often. */
static uint64_t anything(struct random *random)
{
    uint64_t value = random_next(random);

    switch (random_below(random, 4)) {
    case 0:
        return value % 4;
    case 1:
        return value >> random_below(random, 64);
    case 2:
        return UINT64_MAX - value % 4;
    default:
        return value % 1000000;
    }
}

/* Of up to four groups, at all line sizes or one. */
static uint64_t add_random_burst(struct random *random, const struct record_sample *sample)
{
    struct probe_count counts[4][PROBE_LINE_SIZES];
    struct builder_group groups[4];
    size_t n = random_below(random, 5);
    struct record_burst burst = {.thread_id = sample->thread_id,
                                 .app_ns = anything(random),
                                 .weight_ns = anything(random),
                                 .loop = sample->loop,
                                 .accesses = (uint32_t)anything(random),
                                 .probes = (uint32_t)anything(random),
                                 .stops = (uint16_t)anything(random),
                                 .flags = random_below(random, 2) ? BURST_WIDE : 0};

    for (size_t i = 0; i < n; i++) {
        for (unsigned s = 0; s < PROBE_LINE_SIZES; s++)
            counts[i][s] = (struct probe_count){
                (uint16_t)random_below(random, 8192) %
                    probe_code(true, PROBE_DISTANCE_BINS - 1, PROBE_TIME_BINS - 1),
                1 + random_below(random, 2000)};
        groups[i] =
            (struct builder_group){.probe = {.ip = anything(random), .reuse_ip = anything(random)},
                                   .counts = counts[i],
                                   .sizes = {1, 1, 1, 1}};
    }
    return profile_builder_burst(&builder, &burst, groups, n);
}

static void add_random_records(struct random *random, uint32_t thread)
{
    struct record_sample sample = profile_builder_default_sample(thread, 0);
    sample.thread_id = random_below(random, 8) ? thread : (uint32_t)anything(random);
    sample.app_ns = anything(random);
    sample.weight_ns = anything(random);
    sample.ip = anything(random);
    sample.loop = anything(random);
    sample.address = anything(random);
    sample.object_size = anything(random);
    sample.accesses_ahead = (uint32_t)anything(random);
    sample.words_accessed = (uint8_t)anything(random);
    sample.watch_mode = (uint8_t)random_below(random, 3);
    sample.watch_address = sample.address ^ random_below(random, 128);
    sample.invalidation_address = random_below(random, 2) ? sample.address : 0;
    for (int k = 0; k < LINE_SIZE_COUNT; k++)
        sample.reuse_time[k] =
            random_below(random, 2) ? REUSE_TIME_NONE : (uint32_t)anything(random);
    sample.lines_ahead = (uint32_t)anything(random);
    sample.marker_accesses = (uint32_t)anything(random);
    sample.weight_factor = random_below(random, 4) ? 1 : (double)anything(random);
    if (random_below(random, 8))
        sample.burst_id = add_random_burst(random, &sample);
    sample.flags = random_below(random, 4) ? SAMPLE_OPEN : (uint16_t)anything(random);
    uint64_t id = profile_builder_sample(&builder, &sample);
    struct record_watch_end end = {.sample_id = id,
                                   .thread_id = thread,
                                   .app_ns = anything(random),
                                   .monotonic_ns = anything(random),
                                   .ip = anything(random),
                                   .reason = (uint8_t)(1 + random_below(random, WATCH_LOST)),
                                   .flags = (uint8_t)random_below(random, 8),
                                   .words_after = (uint8_t)anything(random)};
    if (random_below(random, 2))
        profile_builder_record(&builder, RECORD_WATCH_END, &end, sizeof end);
    struct record_invalidation invalidation = {.sample_id = id,
                                               .thread_id = thread,
                                               .app_ns = anything(random),
                                               .monotonic_ns = anything(random),
                                               .flags = (uint8_t)random_below(random, 8),
                                               .words_after = (uint8_t)anything(random)};
    if (random_below(random, 4) == 0)
        profile_builder_record(&builder, RECORD_INVALIDATION, &invalidation, sizeof invalidation);
    if (random_below(random, 4) == 0)
        profile_builder_rate(&builder, thread, anything(random), anything(random), anything(random),
                             anything(random));
}

static void check_estimate(struct estimate estimate, double highest)
{
    assert_true(estimate.lo >= 0 && estimate.lo <= estimate.value);
    assert_true(estimate.value <= estimate.hi && estimate.hi <= highest);
}

static void check_everything(const struct analysis *analysis)
{
    static const double bytes[] = {1, 4096, 1e6, 1e12, 1e300};
    struct curve_point points[5];
    uint32_t groups[2048];
    for (size_t i = 0; i < analysis_probe_count(analysis); i++)
        groups[i] = i % 3;
    for (int part = 0; part < 2; part++) {
        struct subset subset = {.groups = part ? groups : NULL, .group = 1};
        analysis_miss_ratio_curve(analysis, subset, bytes, 5, points);
        for (int k = 0; k < 5; k++) {
            check_estimate(points[k].miss_ratio, 1);
            struct miss_split misses = analysis_misses(analysis, subset, bytes[k]);
            check_estimate(misses.cold, 1);
            check_estimate(misses.capacity, 1);
            check_estimate(misses.coherence, 1);
        }
        check_estimate(analysis_subset_accesses(analysis, subset), INFINITY);
        struct histogram_share *bins;
        size_t n = analysis_reuse_time_histogram(analysis, subset, &bins);
        for (size_t i = 0; i < n; i++)
            check_estimate(bins[i].share, 1);
        free(bins);
        n = analysis_stack_distance_histogram(analysis, subset, &bins);
        for (size_t i = 0; i < n; i++)
            check_estimate(bins[i].share, 1);
        free(bins);
    }
    struct access_rate_summary rate = analysis_access_rate(analysis);
    check_estimate(rate.per_ns, INFINITY);
    assert_true(rate.size_axis_low <= 1 && rate.size_axis_high >= 1);
}

static void random_records_do_no_harm(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {0, 32, 128, 256};
    for (uint64_t seed = 1; seed <= 120; seed++) {
        struct random random;
        char message[256];
        random_seed(&random, seed);
        uint32_t thread = begin();
        int count = 1 + (int)random_below(&random, 400);
        for (int i = 0; i < count; i++)
            add_random_records(&random, thread);
        struct profile *profile = load(seed % 2);
        const struct profile *one[] = {profile};
        struct analysis_options options = {.line_size = sizes[seed % 4], .bootstrap = 10};
        struct analysis *analysis = analysis_create(one, 1, &options, message, sizeof message);
        if (!analysis)
            fail_msg("seed %llu: %s", (unsigned long long)seed, message);
        check_everything(analysis);
        analysis_free(analysis);
        profile_free(profile);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_samples),
        cmocka_unit_test(stopped_bursts_and_missing_registers),
        cmocka_unit_test(freed_blocks),
        cmocka_unit_test(cut_short),
        cmocka_unit_test(lost_expiries_stand_for_time),
        cmocka_unit_test(histograms_of_a_sweep),
        cmocka_unit_test(results_follow_from_the_seed),
        cmocka_unit_test(several_profiles_are_one),
        cmocka_unit_test(random_records_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Several threads: coherence misses, threads that differ, subsets, many small threads. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/analysis.h"
#include "sampling/random.h"
#include "support/instrumented.h"
#include "support/profile_builder.h"
#include "support/trace_generators.h"

enum { ACCESSES = 1500000, SEEDS = SEEDS_OF(8), MIB = 1 << 20 };

static struct analysis *analyse_in(const struct profile *profile, uint32_t thread_id,
                                   const struct cache_groups *groups)
{
    char message[256];
    struct analysis_options options = {.thread_id = thread_id, .seed = 9, .groups = groups};
    struct analysis *analysis = analysis_create(&profile, 1, &options, message, sizeof message);

    if (!analysis)
        fail_msg("%s", message);
    return analysis;
}

static struct analysis *analyse(const struct profile *profile, uint32_t thread_id)
{
    return analyse_in(profile, thread_id, NULL);
}

/* Thread 1 reads a shared table at every other access, thread 2 writes it at every fourth. */
static void make_sharing(struct trace traces[2])
{
    struct random random;

    random_seed(&random, 31);
    traces[0] = traces[1] = (struct trace){0};
    for (int i = 0; i < ACCESSES; i++) {
        if (random_below(&random, 2))
            trace_add(&traces[0], random_below(&random, 8192), 1, 0, false, 1);
        else
            trace_add(&traces[0], 100000 + random_below(&random, 8192), 1, 16, false, 1);
        if (random_below(&random, 4) == 0)
            trace_add(&traces[1], random_below(&random, 8192), 1, 32, true, 1);
        else
            trace_add(&traces[1], 200000 + random_below(&random, 4096), 1, 33, false, 1);
    }
}

static void coherence_misses_are_found(void **state)
{
    (void)state;
    struct trace traces[2];
    const struct trace *both[2] = {&traces[0], &traces[1]};
    make_sharing(traces);
    struct truth truth;
    truth_create(&traces[0], &traces[1], 64, &truth);
    double expected = truth_coherence(&truth, INFINITY), sum = 0;
    int covered = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sampling sampling = {
            .seed = seed, .period_ns = ACCESSES / 300.0, .slots = 3, .readings = 40};
        struct profile *profile = simulate(both, 2, &sampling);
        struct analysis *analysis = analyse(profile, 1);
        struct miss_split misses = analysis_misses(analysis, (struct subset){0}, 4 * MIB);
        sum += misses.coherence.value / SEEDS;
        covered += misses.coherence.lo <= expected && misses.coherence.hi >= expected;
        assert_true(misses.capacity.lo < 0.02);
        struct curve_point point;
        double bytes = 4 * MIB;
        analysis_miss_ratio_curve(analysis, (struct subset){0}, &bytes, 1, &point);
        assert_float_equal(point.miss_ratio.value,
                           misses.cold.value + misses.capacity.value + misses.coherence.value,
                           1e-9);
        analysis_free(analysis);
        profile_free(profile);
    }
    print_message("coherence %.4f, should be %.4f; %d of %d intervals hold it (seeds 1..%d)\n", sum,
                  expected, covered, SEEDS, SEEDS);
    assert_on_average(fabs(sum - expected) < 0.25 * expected);
    assert_on_average(covered >= SEEDS - 2);
    truth_free(&truth);
    trace_free(&traces[0]);
    trace_free(&traces[1]);
}

/* Few bursts, and stores of another thread to one line of fifty between two uses: most runs see
 * none of them, and must not exclude what they did not see. */
static void what_few_watches_do_not_see_is_not_excluded(void **state)
{
    struct trace traces[2] = {{0}, {0}};
    const struct trace *both[2] = {&traces[0], &traces[1]};
    struct truth truth;
    double expected, bytes = 4 * MIB;
    int blind = 0, covered = 0;

    (void)state;
    for (uint32_t i = 0; i < ACCESSES; i++) {
        trace_add(&traces[0], i % 65536, 1, 0, false, 1);
        /* 164 stores while thread 1 goes through its 8192 lines once. */
        if (i % 400 == 0)
            trace_add(&traces[1], i / 400 * 7919 % 65536, 1, 32, true, 1);
        else
            trace_add(&traces[1], 100000 + i % 4096, 1, 33, false, 1);
    }
    truth_create(&traces[0], &traces[1], 64, &truth);
    expected = truth_coherence(&truth, INFINITY);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sampling sampling = {
            .seed = seed, .period_ns = ACCESSES / 12.0, .slots = 3, .readings = 40};
        struct profile *of_both = simulate(both, 2, &sampling);
        struct profile *alone = simulate(both, 1, &sampling);
        struct analysis *analysis = analyse(of_both, 1), *of_one = analyse(alone, 1);
        struct analysis *shared = analyse_in(of_both, 0, &(struct cache_groups){0});
        struct miss_split misses = analysis_misses(analysis, (struct subset){0}, bytes);
        struct curve_point point;

        analysis_miss_ratio_curve(analysis, (struct subset){0}, &bytes, 1, &point);
        blind += misses.coherence.value <= 0;
        covered += misses.coherence.hi >= expected && point.miss_ratio.hi >= expected;
        assert_true(misses.coherence.hi < 0.13);
        assert_true(analysis_misses(of_one, (struct subset){0}, bytes).coherence.hi <
                    misses.coherence.hi);
        /* Nobody is outside of a cache that all threads share: what few bursts exclude is left. */
        assert_true(analysis_misses(shared, (struct subset){0}, bytes).coherence.hi <
                    0.43 * misses.coherence.hi);
        analysis_free(analysis);
        analysis_free(of_one);
        analysis_free(shared);
        profile_free(of_both);
        profile_free(alone);
    }
    print_message("%.4f are coherence misses; %d of %d runs saw none, %d did not exclude them\n",
                  expected, blind, SEEDS, covered);
    assert_on_average(blind >= SEEDS / 2 && covered >= SEEDS - 1);
    truth_free(&truth);
    trace_free(&traces[0]);
    trace_free(&traces[1]);
}

/*
 * In turns: thread 1 reads an array, then thread 2 stores to it, in the way of the case. Whoever
 * waits is busy with a word of its own.
 */
enum { WORDS = 4096, LINE_WORDS = 8 };

enum foreign {
    SWEEP,             /* every word */
    SWEEP_HALF,        /* every word of every second line */
    SWEEP_AT_TIMES,    /* every word, in one of three turns */
    ONE_WORD,          /* one word of each line, drawn anew in each turn */
    RANDOM_WORDS,      /* as many words as there are lines, drawn anew */
    PAIRS,             /* two neighbouring words of two thirds of the lines */
    AGAINST_THE_SWEEP, /* every word, from the last one down */
    LOADS,             /* no store */
};

/* The foreign thread's stores to one line: `count` of its words, from `first` in `step`s. */
static void store_words(struct trace *trace, uint32_t line, uint32_t first, int step, int count)
{
    uint32_t word = line * LINE_WORDS + first;

    for (int i = 0; i < count; i++, word += (uint32_t)step)
        trace_add(trace, word, 1, 32, true, 1);
}

static void foreign_turn(struct trace *trace, enum foreign foreign, struct random *random)
{
    enum { LINES = WORDS / LINE_WORDS };
    bool active = foreign != SWEEP_AT_TIMES || random_below(random, 3) == 0;
    size_t end = trace->count + WORDS;

    for (uint32_t i = 0; i < LINES && active; i++) {
        switch (foreign) {
        case SWEEP:
        case SWEEP_AT_TIMES:
            store_words(trace, i, 0, 1, LINE_WORDS);
            break;
        case SWEEP_HALF:
            store_words(trace, i, 0, 1, i % 2 ? LINE_WORDS : 0);
            break;
        case AGAINST_THE_SWEEP:
            store_words(trace, LINES - 1 - i, LINE_WORDS - 1, -1, LINE_WORDS);
            break;
        case ONE_WORD:
            store_words(trace, i, random_below(random, LINE_WORDS), 1, 1);
            break;
        case RANDOM_WORDS:
            store_words(trace, random_below(random, LINES), random_below(random, LINE_WORDS), 1, 1);
            break;
        case PAIRS:
            if (random_below(random, 3))
                store_words(trace, i, random_below(random, LINE_WORDS - 1), 1, 2);
            break;
        case LOADS:
            trace_add(trace, i * LINE_WORDS, 1, 32, false, 1);
            break;
        }
    }
    while (trace->count < end)
        trace_add(trace, 300000, 1, 48, false, 1);
}

static void make_turns(struct trace traces[2], enum foreign foreign)
{
    struct random random;

    random_seed(&random, 5);
    traces[0] = traces[1] = (struct trace){0};
    while (traces[0].count < ACCESSES) {
        for (uint32_t i = 0; i < WORDS; i++) {
            trace_add(&traces[0], i, 1, 0, false, 1);
            trace_add(&traces[1], 300000, 1, 48, false, 1);
        }
        foreign_turn(&traces[1], foreign, &random);
        for (uint32_t i = 0; i < WORDS; i++)
            trace_add(&traces[0], 200000, 1, 16, false, 1);
    }
}

static void every_reuse_after_a_turn(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum foreign foreign;
        double tolerance; /* of the mean of the seeds, relative */
        int intervals;    /* of SEEDS that must hold the truth */
    } cases[] = {
        {"sweep", SWEEP, 0.1, SEEDS - 2},
        {"sweep of half of the lines", SWEEP_HALF, 0.15, SEEDS - 2},
        /* Stores in bursts: whether the one register for them sees a burst is chance that drawing
         * single samples again does not know. */
        {"sweep at times", SWEEP_AT_TIMES, 0.15, SEEDS - 3},
        /* Visits that come once and to few words: low, and the intervals know it. */
        {"one word", ONE_WORD, 0.45, SEEDS - 3},
        {"random words", RANDOM_WORDS, 0.25, SEEDS - 2},
        {"pairs of words", PAIRS, 0.3, SEEDS - 2},
        {"sweep downwards", AGAINST_THE_SWEEP, 0.1, SEEDS - 2},
        {"loads", LOADS, 0, SEEDS},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct trace traces[2];
        const struct trace *both[2] = {&traces[0], &traces[1]};
        struct truth truth;
        make_turns(traces, cases[k].foreign);
        truth_create(&traces[0], &traces[1], 64, &truth);
        double expected = truth_coherence(&truth, INFINITY), sum = 0, small = 0;
        int covered = 0;
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            struct sampling sampling = {
                .seed = seed, .period_ns = ACCESSES / 300.0, .slots = 3, .readings = 40};
            struct profile *profile = simulate(both, 2, &sampling);
            struct analysis *analysis = analyse(profile, 1);
            struct miss_split misses = analysis_misses(analysis, (struct subset){0}, 4 * MIB);
            struct miss_split in_small = analysis_misses(analysis, (struct subset){0}, 16 << 10);
            sum += misses.coherence.value / SEEDS;
            small += in_small.coherence.value / SEEDS;
            covered += misses.coherence.lo <= expected && misses.coherence.hi >= expected;
            assert_true(misses.coherence.value + misses.capacity.value + misses.cold.value <=
                        1 + 1e-9);
            assert_true(misses.capacity.value < 0.02);
            analysis_free(analysis);
            profile_free(profile);
        }
        print_message("%s: coherence %.4f, should be %.4f; in a cache that is too small %.4f; %d "
                      "of %d intervals hold it (seeds 1..%d)\n",
                      cases[k].name, sum, expected, small, covered, SEEDS, SEEDS);
        assert_on_average(fabs(sum - expected) <= cases[k].tolerance * expected);
        assert_on_average(small < 0.01);
        assert_on_average(covered >= cases[k].intervals);
        truth_free(&truth);
        trace_free(&traces[0]);
        trace_free(&traces[1]);
    }
}

static void subsets_add_up_and_differ(void **state)
{
    (void)state;
    struct trace traces[2];
    const struct trace *both[2] = {&traces[0], &traces[1]};
    make_sharing(traces);
    struct sampling sampling = {
        .seed = 5, .period_ns = ACCESSES / 300.0, .slots = 3, .readings = 40};
    struct profile *profile = simulate(both, 2, &sampling);
    struct analysis *analysis = analyse(profile, 1);
    size_t n = analysis_probe_count(analysis);
    uint32_t *groups = malloc(n * sizeof *groups);
    assert_non_null(groups);
    for (size_t i = 0; i < n; i++)
        groups[i] = analysis_probe(analysis, i, NULL)->ip == place_ip(0) ? 7 : 3;
    double bytes[] = {16 << 10, 64 << 10, 4 * MIB};
    struct curve_point whole[3], shared[3], private[3];
    analysis_miss_ratio_curve(analysis, (struct subset){0}, bytes, 3, whole);
    analysis_miss_ratio_curve(analysis, (struct subset){.groups = groups, .group = 7}, bytes, 3,
                              shared);
    analysis_miss_ratio_curve(analysis, (struct subset){.groups = groups, .group = 3}, bytes, 3,
                              private);
    struct estimate all = analysis_accesses(analysis);
    struct estimate part =
        analysis_subset_accesses(analysis, (struct subset){.groups = groups, .group = 7});
    assert_float_equal(all.value, ACCESSES, 0.03 * ACCESSES);
    assert_true(all.lo <= ACCESSES && all.hi >= ACCESSES);
    assert_float_equal(part.value / all.value, 0.5, 0.06);
    assert_true(part.lo < part.value && part.hi > part.value);
    double share = part.value / all.value;
    for (int i = 0; i < 3; i++) {
        double sum = share * shared[i].miss_ratio.value + (1 - share) * private[i].miss_ratio.value;
        assert_float_equal(sum, whole[i].miss_ratio.value, 0.05);
    }
    /* Only the shared table has coherence misses. */
    struct miss_split a =
        analysis_misses(analysis, (struct subset){.groups = groups, .group = 7}, 4 * MIB);
    struct miss_split b =
        analysis_misses(analysis, (struct subset){.groups = groups, .group = 3}, 4 * MIB);
    assert_true(a.coherence.value > 0.2);
    assert_true(b.coherence.value < 0.02);
    struct curve_point none;
    analysis_miss_ratio_curve(analysis, (struct subset){.groups = groups, .group = 12345}, bytes, 1,
                              &none);
    assert_true(none.beyond);
    free(groups);
    analysis_free(analysis);
    profile_free(profile);
    trace_free(&traces[0]);
    trace_free(&traces[1]);
}

/* A small and a large sweep: a cache of each size between fits one thread's data only. */
static void threads_have_caches_of_their_own(void **state)
{
    (void)state;
    struct trace traces[2] = {{0}, {0}};
    const struct trace *both[2] = {&traces[0], &traces[1]};
    for (uint32_t i = 0; i < ACCESSES; i++) {
        trace_add(&traces[0], i % 4096, 1, 0, false, 1);            /* 32 KiB */
        trace_add(&traces[1], 100000 + i % 32768, 1, 16, false, 1); /* 256 KiB */
    }
    struct sampling sampling = {
        .seed = 1, .period_ns = ACCESSES / 300.0, .slots = 3, .readings = 40};
    struct profile *profile = simulate(both, 2, &sampling);
    struct analysis *analysis = analyse(profile, 0);
    double bytes[] = {16 << 10, 128 << 10, MIB};
    struct curve_point points[3];
    analysis_miss_ratio_curve(analysis, (struct subset){0}, bytes, 3, points);
    assert_float_equal(points[0].miss_ratio.value, 0.125, 0.02);
    assert_float_equal(points[1].miss_ratio.value, 0.0625, 0.02);
    assert_float_equal(points[2].miss_ratio.value, 0, 0.01);
    struct estimate one = analysis_thread_accesses(analysis, 0, 2);
    assert_float_equal(one.value, ACCESSES, 0.02 * ACCESSES);
    analysis_free(analysis);
    profile_free(profile);
    trace_free(&traces[0]);
    trace_free(&traces[1]);
}

/* 400 threads with three bursts each are estimated together. */
static void many_small_threads(void **state)
{
    (void)state;
    char path[] = "/tmp/reuse-sharing-XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    struct profile_builder builder;
    profile_builder_begin(&builder, path);
    profile_builder_defaults(&builder);
    for (int t = 0; t < 400; t++) {
        uint32_t thread = profile_builder_thread(&builder, 1000 + t, "short");
        for (int i = 0; i < 3; i++) {
            struct record_sample sample = profile_builder_default_sample(thread, 0);
            sample.app_ns = (uint64_t)(1 + i) * 1000000;
            if ((t + i) % 4) {
                for (int k = 0; k < LINE_SIZE_COUNT; k++)
                    sample.reuse_time[k] = 2;
            } else {
                sample.watch_mode = i % 2 ? WATCH_OTHER : WATCH_ACCESSED;
                sample.watch_address = sample.address + (i % 2 ? 8 : 0);
                sample.lines_ahead = 1 + 100;
            }
            profile_builder_lone_burst(&builder, &sample);
            profile_builder_sample(&builder, &sample);
            if (sample.watch_mode)
                profile_builder_watch_end(&builder, &sample,
                                          i % 2 ? WATCH_THREAD_ENDED : WATCH_REUSED, 500000);
        }
        profile_builder_rate(&builder, thread, 0, 1000, 1000000, 1000000);
    }
    profile_builder_finish(&builder);
    struct profile *profile = profile_builder_load(path);
    unlink(path);
    struct analysis *analysis = analyse(profile, 0);
    double bytes = 64 << 10;
    struct curve_point point;
    analysis_miss_ratio_curve(analysis, (struct subset){0}, &bytes, 1, &point);
    assert_float_equal(point.miss_ratio.value, 0.25, 0.01);
    assert_false(point.beyond);
    assert_float_equal(analysis_accesses(analysis).value, 1.2e9, 2e7);
    analysis_free(analysis);
    profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coherence_misses_are_found),
        cmocka_unit_test(what_few_watches_do_not_see_is_not_excluded),
        cmocka_unit_test(every_reuse_after_a_turn),
        cmocka_unit_test(subsets_add_up_and_differ),
        cmocka_unit_test(threads_have_caches_of_their_own),
        cmocka_unit_test(many_small_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

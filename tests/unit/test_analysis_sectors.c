/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Divided caches estimated from samples, and the search for the best division, against exact stacks
 * of the same accesses; conflicts of sets against addresses that make them.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analysis/curves/set_conflicts.h"
#include "analysis/sectors/sector_search.h"
#include "reuse/exact_stack.h"
#include "sampling/random.h"
#include "support/instrumented.h"
#include "support/locality_simulator.h"

enum {
    LINE = 64,
    WORDS_PER_LINE = LINE / 8,
    STRUCTURES = 3,
    STRUCTURE_WORDS = 1 << 20, /* structure of a word: word / this */
    ACCESSES = 4000000,
    WAY = 64 /* lines */
};
enum { X, M, Y };
static const uint64_t all = 1 << X | 1 << M | 1 << Y, only_x = 1 << X;

/* x is swept again and again, each word beside one of m, which streams by: dmtvm. */
static void sweep_beside_stream(struct trace *trace)
{
    uint32_t lines = 160, m = 0;

    while (trace->count < ACCESSES) {
        for (uint32_t j = 0; j < lines * WORDS_PER_LINE; j++) {
            trace_add(trace, M * STRUCTURE_WORDS + m++ % STRUCTURE_WORDS, 1, 0, false, 1);
            trace_add(trace, X * STRUCTURE_WORDS + j, 1, 1, false, 1);
            trace_add(trace, X * STRUCTURE_WORDS + j, 1, 2, true, 1);
        }
    }
}

/* x is used at random places; m and y stream by, as in a sparse matrix times a vector. */
static void gather_beside_streams(struct trace *trace)
{
    struct random random;
    uint32_t m = 0;

    random_seed(&random, 7);
    while (trace->count < ACCESSES) {
        uint32_t line = random_below(&random, 150);
        trace_add(trace, M * STRUCTURE_WORDS + m % STRUCTURE_WORDS, 1, 0, false, 1);
        trace_add(trace, Y * STRUCTURE_WORDS + m / 2 % STRUCTURE_WORDS, 1, 1, false, 1);
        trace_add(trace, X * STRUCTURE_WORDS + line * WORDS_PER_LINE, 1, 2, false, 1);
        m++;
    }
}

/* Three arrays that are read one after the other: no division helps. */
static void streams(struct trace *trace)
{
    for (uint32_t i = 0; trace->count < ACCESSES; i++)
        for (uint32_t s = 0; s < STRUCTURES; s++)
            trace_add(trace, s * STRUCTURE_WORDS + i % STRUCTURE_WORDS, 1, (uint16_t)s, false, 1);
}

static uint32_t structure_of(uint32_t word)
{
    return word / STRUCTURE_WORDS;
}

/* Misses per access of a cache that is divided like this. */
static double truth(const struct trace *trace, const struct sector_split *split)
{
    struct exact_stack parts[SECTOR_SIDES];
    size_t misses = 0;

    for (int side = 0; side < SECTOR_SIDES; side++)
        assert_true(exact_stack_create(&parts[side]));
    for (size_t i = 0; i < trace->count; i++) {
        uint32_t word = trace->accesses[i].word;
        int side = split->isolated >> structure_of(word) & 1;
        double lines = side == SECTOR_ISOLATED ? split->isolated_lines : split->rest_lines;
        struct exact_reuse reuse = exact_stack_use(&parts[side], word / WORDS_PER_LINE);
        misses += reuse.distance == EXACT_STACK_COLD || (double)reuse.distance >= lines;
    }
    for (int side = 0; side < SECTOR_SIDES; side++)
        exact_stack_destroy(&parts[side]);
    return (double)misses / (double)trace->count;
}

/* A sampled profile of a trace with the model of its sectors. */
struct sampled {
    struct trace trace;
    struct profile *profile;
    struct analysis *analysis;
    struct sector_model *model;
    uint32_t *structures, *regions;
};

static void sample(struct sampled *sampled, void (*make)(struct trace *), uint64_t seed)
{
    const struct trace *traces[] = {&sampled->trace};
    struct sampling sampling = {
        .seed = seed, .period_ns = ACCESSES / 200., .slots = 4, .readings = 4};
    struct analysis_options options = {.line_size = LINE, .bootstrap = 30, .seed = 1};
    char message[200];

    sampled->trace = (struct trace){0};
    make(&sampled->trace);
    sampled->profile = simulate(traces, 1, &sampling);
    const struct profile *profiles[] = {sampled->profile};
    sampled->analysis = analysis_create(profiles, 1, &options, message, sizeof message);
    if (!sampled->analysis)
        fail_msg("%s", message);
    size_t n = analysis_probe_count(sampled->analysis);
    sampled->structures = calloc(n + 1, sizeof *sampled->structures);
    sampled->regions = calloc(n + 1, sizeof *sampled->regions);
    assert_true(sampled->structures && sampled->regions);
    for (size_t i = 0; i < n; i++) {
        /* An instruction uses one structure, so one of a group's places tells for all. */
        uint64_t place = analysis_probe(sampled->analysis, i, NULL)->place;

        sampled->structures[i] = structure_of((uint32_t)(place / 8));
        sampled->regions[i] = 1;
    }
    struct sector_question question = {sampled->structures, STRUCTURES, sampled->regions, 1};
    sampled->model = sector_model_create(sampled->analysis, &question);
    assert_non_null(sampled->model);
}

static void release(struct sampled *sampled)
{
    sector_model_free(sampled->model);
    analysis_free(sampled->analysis);
    profile_free(sampled->profile);
    free(sampled->structures);
    free(sampled->regions);
    trace_free(&sampled->trace);
}

/* Every set of structures and every division of four ways, within 5 % of the larger or 0.3 pp. That
 * is what half octaves of reuse times leave where they are spread out; more bursts do not help. */
static void estimates_agree_with_divided_stacks(void **state)
{
    (void)state;
    void (*const makers[])(struct trace *) = {sweep_beside_stream, gather_beside_streams, streams};
    const struct sector_level level = {WAY, 4, 1};

    for (size_t k = 0; k < SEEDS_OF(sizeof makers / sizeof *makers); k++) {
        struct sampled sampled;
        double errors = 0, worst = 0;
        int compared = 0, held = 0;
        sample(&sampled, makers[k], 3);
        for (uint64_t isolated = 0; isolated < 1 << STRUCTURES; isolated++) {
            for (unsigned ways = 1; ways < level.ways; ways++) {
                struct sector_split splits[2] = {sector_split_of(level, 0, 0),
                                                 sector_split_of(level, isolated, ways)};
                struct sector_outcome outcomes[2];
                double want = truth(&sampled.trace, &splits[1]), sides[2 * SECTOR_SIDES];
                sector_compare(sampled.model, splits, 2, outcomes);
                sector_misses(sampled.model, splits, 2, sides);
                double got = outcomes[1].misses.value;
                assert_float_equal(sides[SECTOR_SIDES] + sides[SECTOR_SIDES + 1], got, 1e-9);
                assert_float_equal(outcomes[0].reduction.value, 0, 1e-9);
                assert_true(outcomes[1].misses.lo <= got && got <= outcomes[1].misses.hi);
                assert_true(outcomes[1].reduction.lo <= outcomes[1].reduction.value &&
                            outcomes[1].reduction.value <= outcomes[1].reduction.hi);
                errors += fabs(got - want);
                worst = fmax(worst, fabs(got - want) - fmax(0.003, 0.05 * want));
                held +=
                    want >= outcomes[1].misses.lo - 0.003 && want <= outcomes[1].misses.hi + 0.003;
                compared++;
            }
        }
        print_message("# program %zu: mean error %.3f pp, intervals hold %d of %d\n", k,
                      100 * errors / compared, held, compared);
        assert_true(errors / compared < 0.003);
        assert_true(worst <= 0.005);
        assert_true(held >= compared * 2 / 3);
        release(&sampled);
    }
}

static void search_finds_the_best_division(void **state)
{
    (void)state;
    const struct sector_level level = {WAY, 4, 1};
    const double tolerance = 0.03;
    struct sector_choice choice;
    struct sampled sampled;

    /* x needs 160 lines: the smallest sector for m, and three ways are left. */
    sample(&sampled, sweep_beside_stream, 5);
    sector_search(sampled.model, level, &all, 1, &tolerance, &choice);
    assert_int_equal(choice.isolated, 1 << M);
    assert_int_equal(choice.ways, 1);
    assert_true(choice.misses < 0.6 * choice.undivided);
    /* Only x may be moved: into three ways. */
    sector_search(sampled.model, level, &only_x, 1, &tolerance, &choice);
    assert_int_equal(choice.isolated, 1 << X);
    assert_int_equal(choice.ways, 3);
    /* Each side needs two ways: too few for x. */
    struct sector_level two = {WAY, 4, 2};
    sector_search(sampled.model, two, &all, 1, &tolerance, &choice);
    assert_true(choice.misses > 0.9 * choice.undivided);
    struct sector_level whole = {WAY, 1, 1};
    sector_search(sampled.model, whole, &all, 1, &tolerance, &choice);
    assert_int_equal(choice.isolated, 0);
    release(&sampled);

    /* Both streams have to go for x to stay. */
    sample(&sampled, gather_beside_streams, 5);
    sector_search(sampled.model, level, &all, 1, &tolerance, &choice);
    assert_int_equal(choice.isolated, 1 << M | 1 << Y);
    assert_int_equal(choice.ways, 1);
    /* Where y is none of the region's, x has to be moved in its place: into three ways. */
    const uint64_t not_y = 1 << X | 1 << M;
    sector_search(sampled.model, level, &not_y, 1, &tolerance, &choice);
    assert_int_equal(choice.isolated, 1 << X);
    assert_int_equal(choice.ways, 3);
    release(&sampled);

    sample(&sampled, streams, 5);
    sector_search(sampled.model, level, &all, 1, &tolerance, &choice);
    assert_true(choice.misses > 0.97 * choice.undivided);
    release(&sampled);
}

/* Words a page apart, which all share a set of a cache of 32 KiB in 8 ways; and words in a row. */
static void make_strided(struct trace *trace, uint32_t stride_words)
{
    while (trace->count < 300000)
        for (uint32_t i = 0; i < 32; i++)
            trace_add(trace, i * stride_words, 1, 0, false, 1);
}

static void strides_that_share_a_set_are_conflicts(void **state)
{
    (void)state;
    static const struct {
        uint32_t stride;
        bool conflicts;
    } cases[] = {{512, true}, {8, false}, {520, false}};
    struct analysis_options options = {.line_size = LINE, .bootstrap = 1, .seed = 1};

    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct trace trace = {0};
        const struct trace *traces[] = {&trace};
        struct sampling sampling = {.seed = 9, .period_ns = 3000, .slots = 4, .readings = 4};
        struct set_conflicts found;
        char message[200];
        make_strided(&trace, cases[k].stride);
        struct profile *profile = simulate(traces, 1, &sampling);
        const struct profile *profiles[] = {profile};
        struct analysis *analysis = analysis_create(profiles, 1, &options, message, sizeof message);
        assert_non_null(analysis);
        assert_true(analysis_set_conflicts(analysis, (struct subset){0}, 32 << 10, 8, &found));
        assert_int_equal(found.conflicts, cases[k].conflicts);
        /* 32 lines take turns in 8 ways: all miss. Spread over the sets all stay. */
        assert_float_equal(found.misses, cases[k].conflicts ? 1 : 0, 0.05);
        assert_float_equal(found.scattered, 0, 0.05);
        assert_false(analysis_set_conflicts(analysis, (struct subset){0}, 512, 8, &found));
        analysis_free(analysis);
        profile_free(profile);
        trace_free(&trace);
    }
}

/* Of each line the program uses so many words in a row. */
static void make_use(struct trace *trace, uint32_t line_size, uint32_t words)
{
    for (uint32_t line = 0; trace->count < 500000; line++)
        for (uint32_t i = 0; i < words; i++)
            trace_add(trace, line % 20000 * (line_size / 8) + i, 1, 0, false, 1);
}

static void bytes_used_of_lines(void **state)
{
    (void)state;
    static const struct {
        uint32_t words, line_size;
        double used; /* in halves of lines */
    } cases[] = {{1, 64, 0.5}, {4, 64, 0.5}, {5, 64, 1}, {8, 64, 1}, {32, 256, 1}, {1, 256, 0.5}};

    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct trace trace = {0};
        const struct trace *traces[] = {&trace};
        struct analysis_options options = {
            .line_size = cases[k].line_size, .bootstrap = 10, .seed = 1};
        struct sampling sampling = {.seed = 9,
                                    .period_ns = 2000,
                                    .slots = 4,
                                    .readings = 4,
                                    .line_size = cases[k].line_size};
        double bytes = 32 << 10, used = 0;
        char message[200];
        make_use(&trace, cases[k].line_size, cases[k].words);
        struct profile *profile = simulate(traces, 1, &sampling);
        const struct profile *profiles[] = {profile};
        struct analysis *analysis = analysis_create(profiles, 1, &options, message, sizeof message);
        assert_non_null(analysis);
        uint32_t half = analysis_granule(analysis);
        assert_int_equal(half, cases[k].line_size / 2);
        analysis_line_use(analysis, (struct subset){0}, &bytes, 1, half, &used);
        assert_float_equal(used, cases[k].used, 0.05);
        analysis_free(analysis);
        profile_free(profile);
        trace_free(&trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(estimates_agree_with_divided_stacks),
        cmocka_unit_test(search_finds_the_best_division),
        cmocka_unit_test(strides_that_share_a_set_are_conflicts),
        cmocka_unit_test(bytes_used_of_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

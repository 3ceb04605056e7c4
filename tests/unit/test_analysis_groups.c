/* SPDX-License-Identifier: BSD-3-Clause */
/* What is answered for many subsets at once, or by an analysis that shares what another has read,
 * is to the last bit what is answered for each by itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/analysis.h"
#include "sampling/random.h"
#include "support/locality_simulator.h"

enum { SUBSETS = 7, SIZES = 5, CODES = 40 };

/* Code of which each piece uses lines of its own number of different ones. */
static struct profile *make_profile(void)
{
    struct random random;
    struct trace trace = {0};
    struct profile *profile;

    random_seed(&random, 5);
    for (int i = 0; i < 400000; i++) {
        uint32_t code = random_below(&random, CODES);

        trace_add(&trace, 100000 * code + 8 * random_below(&random, 20 + 40 * code), 1,
                  (uint16_t)code, false, 1);
    }
    const struct trace *traces[] = {&trace};
    struct sampling sampling = {.seed = 9, .period_ns = trace.now_ns / 60, .slots = 2};
    profile = simulate(traces, 1, &sampling);
    trace_free(&trace);
    return profile;
}

static struct analysis *analyse(const struct profile *profile, const struct analysis *like,
                                const struct cache_groups *groups)
{
    const struct profile *const profiles[] = {profile};
    struct analysis_options options = {.seed = 3, .bootstrap = 20, .like = like, .groups = groups};
    char message[256];
    struct analysis *analysis = analysis_create(profiles, 1, &options, message, sizeof message);

    if (!analysis)
        fail_msg("%s", message);
    return analysis;
}

/* Probes in turn, the last subset half of the others' share, and some in none. */
static void divide(const struct analysis *analysis, uint32_t *members,
                   struct subset subsets[SUBSETS])
{
    size_t probes = analysis_probe_count(analysis), n = 0;

    for (size_t s = 0; s < SUBSETS; s++) {
        subsets[s] = (struct subset){.members = members + n, .objects = s % 2};
        for (size_t i = 0; i < probes; i++)
            if (i % (SUBSETS + 1) == s && (s < SUBSETS - 1 || i % 3)) {
                members[n++] = (uint32_t)i;
                subsets[s].member_count++;
            }
    }
}

static void many_subsets_are_as_each_by_itself(void **state)
{
    (void)state;
    static const double bytes[SIZES] = {512, 4096, 20000, 1 << 17, 1 << 22};
    struct profile *profile = make_profile();
    struct analysis *analysis = analyse(profile, NULL, NULL);
    uint32_t *members = calloc(analysis_probe_count(analysis) + 1, sizeof *members);
    double all[SUBSETS * SIZES], one[SIZES], largest = 0;
    struct subset subsets[SUBSETS];

    divide(analysis, members, subsets);
    analysis_miss_ratios_of(analysis, subsets, SUBSETS, bytes, SIZES, all);
    for (size_t s = 0; s < SUBSETS; s++) {
        struct curve_point points[SIZES];

        analysis_miss_ratios(analysis, subsets[s], bytes, SIZES, one);
        analysis_miss_ratio_curve(analysis, subsets[s], bytes, SIZES, points);
        assert_memory_equal(one, all + s * SIZES, sizeof one);
        for (size_t k = 0; k < SIZES; k++)
            assert_true(points[k].miss_ratio.value == one[k]);
        largest = one[0] > largest ? one[0] : largest;
    }
    assert_true(largest > 0.1 && one[SIZES - 1] < 0.5 * one[0]);
    /* Few probes are not looked for among all. */
    subsets[0].member_count = 3;
    analysis_miss_ratios_of(analysis, subsets, 1, bytes, SIZES, all);
    analysis_miss_ratios(analysis, subsets[0], bytes, SIZES, one);
    assert_memory_equal(one, all, sizeof one);
    free(members);
    analysis_free(analysis);
    profile_free(profile);
}

static void what_another_has_read_says_the_same(void **state)
{
    (void)state;
    static const double bytes = 20000;
    const struct cache_groups together = {0};
    struct profile *profile = make_profile();
    struct analysis *own = analyse(profile, NULL, &together);
    struct analysis *first = analyse(profile, NULL, NULL);
    struct analysis *like = analyse(profile, first, &together);
    struct curve_point a, b;

    /* In any order: what is shared goes with the last one. */
    analysis_free(first);
    assert_int_equal(analysis_probe_count(like), analysis_probe_count(own));
    analysis_miss_ratio_curve(own, (struct subset){0}, &bytes, 1, &a);
    analysis_miss_ratio_curve(like, (struct subset){0}, &bytes, 1, &b);
    assert_memory_equal(&a.miss_ratio, &b.miss_ratio, sizeof a.miss_ratio);
    assert_true(analysis_footprint(own) == analysis_footprint(like));
    analysis_free(like);
    analysis_free(own);
    profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_subsets_are_as_each_by_itself),
        cmocka_unit_test(what_another_has_read_says_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The groups with most misses, of groups that are made up: this file stands in for the analysis and
 * for the rest of the model. The oracle evaluates all groups and takes the largest that is left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <stdlib.h>

#include "report/model/model.h"
#include "sampling/random.h"
#include "support/test_seed.h"

/* Candidates for each row, as ranking.c looks at them. */
enum { CANDIDATES_PER_ROW = 8 };

enum { GROUPS_MAX = 400, SIZES = 4, FOCUS_LEVEL = 1, FOCUS_SIZE = 2 };

static struct {
    double accesses[GROUPS_MAX], ratios[GROUPS_MAX][SIZES];
    size_t evaluated, curves; /* subsets that were asked about, without intervals and with them */
} run;

size_t model_focus_level(const struct model *model)
{
    (void)model;
    return FOCUS_LEVEL;
}

struct subset grouping_subset(const struct grouping *grouping, uint32_t group)
{
    return (struct subset){.groups = grouping->labels, .group = group};
}

void analysis_miss_ratios_of(const struct analysis *analysis, const struct subset *subsets,
                             size_t count, const double *bytes, size_t n, double *ratios)
{
    (void)analysis;
    (void)bytes;
    assert_int_equal(n, SIZES);
    run.evaluated += count;
    for (size_t i = 0; i < count; i++)
        memcpy(ratios + i * n, run.ratios[subsets[i].group], n * sizeof *ratios);
}

/* Intervals as no value has them, to tell curves from values. */
void analysis_miss_ratio_curve(const struct analysis *analysis, struct subset subset,
                               const double *bytes, size_t n, struct curve_point *points)
{
    (void)analysis;
    assert_int_equal(n, SIZES);
    run.curves++;
    for (size_t k = 0; k < n; k++)
        points[k] = (struct curve_point){
            .bytes = bytes[k], .miss_ratio = {run.ratios[subset.group][k], -1, subset.group}};
}

/* Likewise. */
void model_shares_of_misses(struct model *model, struct subset part,
                            struct estimate shares[MACHINE_LEVELS_MAX])
{
    (void)model;
    for (size_t k = 0; k < MACHINE_LEVELS_MAX; k++)
        shares[k] = (struct estimate){run.ratios[part.group][FOCUS_SIZE], -2, part.group};
}

static double misses_of(size_t group)
{
    return run.accesses[group] * run.ratios[group][FOCUS_SIZE];
}

/* Of groups with as many misses those with more accesses come first, then those listed first. */
static bool comes_before(size_t a, size_t b)
{
    if (misses_of(a) != misses_of(b))
        return misses_of(a) > misses_of(b);
    return run.accesses[a] != run.accesses[b] ? run.accesses[a] > run.accesses[b] : a < b;
}

/* The first that is not taken yet; GROUPS_MAX: none. Groups without accesses are none. */
static size_t next_group(const bool *taken, size_t count)
{
    size_t next = GROUPS_MAX;

    for (size_t i = 0; i < count; i++)
        if (!taken[i] && run.accesses[i] > 0 && (next == GROUPS_MAX || comes_before(i, next)))
            next = i;
    return next;
}

/* The model and a grouping of that many groups; the caller frees grouping->ranking.items. */
static struct model model_of(size_t count, struct report_options *options,
                             struct grouping *grouping)
{
    struct model model = {.options = options, .size_count = SIZES};

    for (size_t k = 0; k < SIZES; k++)
        model.sizes[k] = (double)(k + 1);
    model.level_size[FOCUS_LEVEL] = FOCUS_SIZE;
    *grouping = (struct grouping){.count = count, .accesses = run.accesses};
    run.evaluated = run.curves = 0;
    return model;
}

static void check(size_t count, size_t top)
{
    struct report_options options = {.top = top};
    struct grouping grouping;
    struct model model = model_of(count, &options, &grouping);
    const struct ranking *ranking = model_rank(&model, &grouping);
    bool taken[GROUPS_MAX] = {false};

    for (size_t i = 0; i < ranking->count; i++) {
        const struct ranked_group *ranked = &ranking->items[i];
        size_t expected = next_group(taken, count);

        assert_int_equal(ranked->group, expected);
        assert_float_equal(ranked->accesses, run.accesses[expected], 0);
        for (size_t k = 0; k < SIZES; k++) {
            assert_float_equal(ranked->points[k].miss_ratio.value, run.ratios[expected][k], 0);
            assert_float_equal(ranked->points[k].miss_ratio.lo, -1, 0);
            assert_float_equal(ranked->points[k].miss_ratio.hi, expected, 0);
        }
        assert_float_equal(ranked->shares[FOCUS_LEVEL].lo, -2, 0);
        assert_float_equal(ranked->shares[FOCUS_LEVEL].hi, expected, 0);
        taken[expected] = true;
    }
    if (ranking->count < top)
        assert_int_equal(next_group(taken, count), GROUPS_MAX);
    assert_true(ranking->count <= top);
    assert_int_equal(run.curves, ranking->count);
    free(grouping.ranking.items);
}

/* Few different values, so that many are equal. */
static void make_up(struct random *random, size_t count)
{
    uint32_t most = 1 + random_below(random, 100);

    for (size_t i = 0; i < count; i++) {
        run.accesses[i] = random_below(random, most);
        for (size_t k = 0; k < SIZES; k++)
            run.ratios[i][k] = random_below(random, 9) / 8.0;
    }
}

static void rankings_are_those_of_brute_force(void **state)
{
    struct random random;

    (void)state;
    random_seed(&random, test_seed());
    for (int i = 0; i < 5000; i++) {
        size_t top = random_below(&random, 20);
        size_t count = random_below(&random, (uint32_t)(CANDIDATES_PER_ROW * top + 1));

        make_up(&random, count);
        check(count, top);
    }
}

/* What has least accesses of very many groups is not looked at, even if all of them miss. */
static void small_groups_are_not_evaluated(void **state)
{
    enum { TOP = 3 };
    struct report_options options = {.top = TOP};
    struct grouping grouping;
    struct model model = model_of(GROUPS_MAX, &options, &grouping);
    const struct ranking *ranking;

    (void)state;
    for (size_t i = 0; i < GROUPS_MAX; i++) {
        run.accesses[i] = (double)(1000 + i);
        run.ratios[i][FOCUS_SIZE] = i < GROUPS_MAX - CANDIDATES_PER_ROW * TOP ? 1 : 0.25;
    }
    ranking = model_rank(&model, &grouping);
    assert_int_equal(ranking->count, TOP);
    for (size_t i = 0; i < TOP; i++)
        assert_int_equal(ranking->items[i].group, GROUPS_MAX - 1 - i);
    assert_int_equal(run.evaluated, CANDIDATES_PER_ROW * TOP);
    assert_int_equal(run.curves, TOP);
    free(grouping.ranking.items);
}

static void rankings_are_computed_once(void **state)
{
    struct report_options options = {.top = 2};
    struct grouping grouping;
    struct model model = model_of(3, &options, &grouping);
    const struct ranking *first;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        run.accesses[i] = (double)(i + 1);
        run.ratios[i][FOCUS_SIZE] = 1;
    }
    first = model_rank(&model, &grouping);
    assert_ptr_equal(model_rank(&model, &grouping), first);
    assert_int_equal(first->count, 2);
    assert_int_equal(run.evaluated, 3);
    assert_int_equal(run.curves, 2);
    free(grouping.ranking.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rankings_are_those_of_brute_force),
        cmocka_unit_test(small_groups_are_not_evaluated),
        cmocka_unit_test(rankings_are_computed_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

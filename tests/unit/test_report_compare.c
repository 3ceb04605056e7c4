/* SPDX-License-Identifier: BSD-3-Clause */
/* Differences of estimates, conditions on them, and names that survive a recompilation. */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/compare/answer.h"
#include "report/compare/arguments.h"
#include "report/compare/judgement.h"
#include "report/compare/subject_names.h"

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-9)

static struct figure known(double value, double lo, double hi)
{
    return (struct figure){.known = true, .value = {value, lo, hi}};
}

static void test_exact_change(void **state)
{
    struct change change = change_between(known(200, 200, 200), known(50, 50, 50));

    (void)state;
    assert_int_equal(change.verdict, CHANGE_LESS);
    NEAR(change.absolute.value, -150);
    NEAR(change.relative.value, -0.75);
    NEAR(change.relative.lo, -0.75);
    NEAR(change.relative.hi, -0.75);
    change = change_between(known(7, 7, 7), known(7, 7, 7));
    assert_int_equal(change.verdict, CHANGE_NONE);
}

/* With one side certain, the ends are those of the other. */
static void test_one_uncertain_side(void **state)
{
    struct change change = change_between(known(50, 50, 50), known(100, 90, 130));

    (void)state;
    NEAR(change.absolute.lo, 40);
    NEAR(change.absolute.hi, 80);
    NEAR(change.relative.lo, 0.8);
    NEAR(change.relative.hi, 1.6);
    change = change_between(known(50, 40, 80), known(100, 100, 100));
    NEAR(change.relative.lo, 100. / 80 - 1);
    NEAR(change.relative.hi, 100. / 40 - 1);
    assert_int_equal(change.verdict, CHANGE_MORE);
}

/* Independent errors of 3 and 4 make one of 5. */
static void test_errors_combine(void **state)
{
    struct estimate difference =
        estimate_difference((struct estimate){20, 17, 24}, (struct estimate){10, 7, 14});

    (void)state;
    NEAR(difference.value, 10);
    NEAR(difference.lo, 10 - 5);
    NEAR(difference.hi, 10 + 5);
}

/* The ratio's interval holds 1 exactly where the difference's holds 0. */
static void test_ratio_and_difference_agree(void **state)
{
    (void)state;
    for (int a = 60; a <= 140; a++)
        for (int spread = 0; spread <= 60; spread += 5) {
            struct change change =
                change_between(known(100, 100 - spread, 100 + 2 * spread),
                               known(a, a - a * spread / 200., a + a * spread / 300.));
            bool by_difference = change.absolute.lo > 1e-9 || change.absolute.hi < -1e-9;
            bool by_ratio = change.relative.lo > 1e-9 || change.relative.hi < -1e-9;

            assert_int_equal(by_difference, by_ratio);
            assert_true(change.relative.lo <= change.relative.value + 1e-9);
            assert_true(change.relative.hi >= change.relative.value - 1e-9);
        }
}

static void test_nothing_before(void **state)
{
    struct change change = change_between(known(0, 0, 0), known(5, 5, 5));

    (void)state;
    assert_int_equal(change.verdict, CHANGE_MORE);
    assert_true(isnan(change.relative.value));
    assert_int_equal(change_between(known(0, 0, 10), known(5, 4, 6)).verdict, CHANGE_NOT_SEEN);
    assert_int_equal(change_between((struct figure){0}, known(5, 4, 6)).verdict, CHANGE_UNKNOWN);
    /* Of which nothing is known but that it was not seen. */
    assert_int_equal(change_between(known(0, 0, INFINITY), known(0, 0, INFINITY)).verdict,
                     CHANGE_NOT_SEEN);
}

static void test_once(void **state)
{
    struct figure measured = known(10, 10, 10);

    (void)state;
    measured.once = true;
    assert_int_equal(change_between(measured, known(20, 19, 21)).verdict, CHANGE_ONCE);
}

static void test_product(void **state)
{
    struct estimate zero =
        estimate_product((struct estimate){100, 50, 300}, (struct estimate){0, 0, 0.1});

    (void)state;
    NEAR(estimate_product((struct estimate){10, 10, 10}, (struct estimate){0.5, 0.4, 0.7}).lo, 4);
    NEAR(estimate_product((struct estimate){10, 10, 10}, (struct estimate){0.5, 0.4, 0.7}).hi, 7);
    NEAR(zero.value, 0);
    assert_true(zero.lo == 0 && zero.hi >= 10);
}

static struct condition parsed(const char *text)
{
    struct condition condition;
    char message[512] = "";

    if (!condition_parse(text, &condition, message, sizeof(message)))
        fail_msg("%s", message);
    return condition;
}

static void test_conditions(void **state)
{
    struct condition condition = parsed("l2.miss_ratio > 5%");

    (void)state;
    assert_int_equal(condition.metric, METRIC_MISS_RATIO);
    assert_int_equal(condition.level, 2);
    assert_true(condition.above && !condition.or_equal && !condition.difference);
    NEAR(condition.limit, 0.05);
    condition = parsed("false_sharing.transfers>1M");
    assert_int_equal(condition.metric, METRIC_FALSE_SHARING);
    NEAR(condition.limit, 1e6);
    condition = parsed(" diff.l2.misses >= 10 %");
    assert_true(condition.difference && condition.relative && condition.or_equal);
    NEAR(condition.limit, 0.1);
    condition = parsed("diff.l2.misses < -2.5k");
    assert_true(!condition.relative && !condition.above);
    NEAR(condition.limit, -2500);
    condition = parsed("cpu_time > 1.5 s");
    NEAR(condition.limit, 1.5e9);
    condition = parsed("l1.coherence > 0.01 ");
    assert_int_equal(condition.metric, METRIC_COHERENCE);
}

static void test_wrong_conditions(void **state)
{
    static const char *const texts[] = {
        "",
        "l2.misses",
        "l2.misses >",
        "misses > 3",
        "l5.misses > 3",
        "l2.accesses > 3",
        "l2.misses = 3",
        "l2.misses > many",
        "l2.misses > 3%",
        "l2.misses > 3.4.5",
        "l2.misses > -3",
        "l2.misses > 3 k k",
        "l2.miss_ratio > 5M",
        "cpu_time > 3",
        "diff.cpu_time > 3M",
        "l2.misses > 1-2",
        "diff.diff.l2.misses > 3",
        "l2.misses > 99999999999999999999999999999999999999999",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        struct condition condition;
        char message[512] = "";

        if (condition_parse(texts[i], &condition, message, sizeof(message)))
            fail_msg("'%s' was taken", texts[i]);
        assert_non_null(strstr(message, texts[i]));
        assert_null(strchr(message, '\n'));
    }
}

static struct judgement judged(const char *text, const struct run_figures *before,
                               const struct run_figures *after)
{
    struct condition condition = parsed(text);

    return condition_judge(&condition, before, after);
}

static void test_judgements(void **state)
{
    struct run_figures before = {.levels = 2, .level = {1, 2}}, after = before;

    (void)state;
    before.misses[1] = known(100, 90, 110);
    after.misses[1] = known(200, 180, 220);
    after.misses[0] = known(0, 0, 0);
    before.misses[0] = known(0, 0, 0);
    after.miss_ratio[1] = known(0.06, 0.04, 0.08);
    after.cpu_ns = before.cpu_ns = known(1e9, 1e9, 1e9);
    after.cpu_ns.once = true;
    after.why_no_transfers = "nobody looked";
    assert_int_equal(judged("l2.misses > 150", NULL, &after).outcome, OUTCOME_TRUE);
    assert_int_equal(judged("l2.misses > 190", NULL, &after).outcome, OUTCOME_UNSURE);
    assert_int_equal(judged("l2.misses > 220", NULL, &after).outcome, OUTCOME_FALSE);
    assert_int_equal(judged("l2.misses >= 220", NULL, &after).outcome, OUTCOME_UNSURE);
    assert_int_equal(judged("l2.misses < 180", NULL, &after).outcome, OUTCOME_FALSE);
    assert_int_equal(judged("l2.miss_ratio > 5%", NULL, &after).outcome, OUTCOME_UNSURE);
    assert_int_equal(judged("diff.l2.misses > 50%", &before, &after).outcome, OUTCOME_TRUE);
    assert_int_equal(judged("diff.l2.misses > 95%", &before, &after).outcome, OUTCOME_UNSURE);
    assert_int_equal(judged("diff.l2.misses > 70", &before, &after).outcome, OUTCOME_TRUE);
    assert_int_equal(judged("diff.l2.misses < 0", &before, &after).outcome, OUTCOME_FALSE);
    assert_int_equal(judged("diff.l1.misses > 1%", &before, &after).outcome, OUTCOME_FALSE);
    assert_int_equal(judged("diff.cpu_time > 1%", &before, &after).outcome, OUTCOME_UNSURE);
    assert_int_equal(judged("cpu_time > 500ms", NULL, &after).outcome, OUTCOME_TRUE);
    assert_int_equal(judged("l3.misses > 0", NULL, &after).outcome, OUTCOME_UNSURE);
    assert_string_equal(judged("transfers > 0", NULL, &after).why, "nobody looked");
}

static void assert_function(const char *function, const char *expected)
{
    char *subject = function_subject(function);

    assert_string_equal(subject, expected);
    free(subject);
}

static void test_functions(void **state)
{
    (void)state;
    assert_function("main", "main");
    assert_function("kernel.constprop.0", "kernel");
    assert_function("kernel.isra.0.part.3", "kernel");
    assert_function("ns::work(int) [clone]", "ns::work(int) [clone]");
    assert_function("main._omp_fn.0", "main._omp_fn.0");
}

static void test_objects(void **state)
{
    static const struct {
        struct data_object object;
        const char *subject;
    } cases[] = {
        {{.name = "stack of worker (1234)", .kind = "stack"}, "stack stack of worker"},
        {{.name = "matrix", .kind = "heap", .function = "main", .line = 12}, "heap matrix"},
        {{.name = "get (libx.so+0x12ab)", .kind = "heap"}, "heap get (libx.so)"},
        {{.name = "libx.so+0x12ab", .kind = "heap"}, "heap libx.so"},
        /* Named after the place; there is no file to read its text from. */
        {{.name = "main:12", .kind = "heap", .function = "main", .line = 12}, "heap main"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char *subject = object_subject(NULL, &cases[i].object);

        assert_string_equal(subject, cases[i].subject);
        free(subject);
    }
}

static void test_sides(void **state)
{
    const char *two[] = {"a", "b"}, *many[] = {"a", "b", ":", "c"}, *three[] = {"a", "b", "c"};
    const char *empty[] = {":", "a"}, *twice[] = {"a", ":", "b", ":", "c"};
    size_t count = 2, before;

    (void)state;
    assert_true(arguments_split_sides(two, &count, &before));
    assert_int_equal(before, 1);
    count = 4;
    assert_true(arguments_split_sides(many, &count, &before));
    assert_int_equal(before, 2);
    assert_int_equal(count, 3);
    assert_string_equal(many[2], "c");
    count = 3;
    assert_false(arguments_split_sides(three, &count, &before));
    count = 2;
    assert_false(arguments_split_sides(empty, &count, &before));
    count = 5;
    assert_false(arguments_split_sides(twice, &count, &before));
}

/* The CPU time of one run has no interval; if the other side's shows a change, that is the news. */
static void test_the_answer_leaves_nothing_out(void **state)
{
    const struct figure once = {.known = true, .once = true, .value = {2, 2, 2}};
    const struct change less = change_between(known(4, 3, 5), once);
    const struct change unclear = change_between(known(2.1, 1, 3), once);
    const struct change same = change_between(known(5, 1, 9), known(5, 1, 9));
    const struct change missing = change_between(known(5, 1, 9), (struct figure){.known = false});
    struct answer answer = {.changed = NULL};
    char *text;

    (void)state;
    answer_add(&answer, "CPU time", &less, "-50 % (-60 to -33)");
    answer_add(&answer, "accesses", &same, "0 %");
    answer_add(&answer, "L1 misses", &missing, "-");
    text = answer_text(&answer);
    assert_string_equal(text,
                        "Changed: CPU time -50 % (-60 to -33), with a single run on one side. "
                        "No difference that these runs can show: accesses. "
                        "Not known: L1 misses.");
    free(text);
    answer_add(&answer, "CPU time", &unclear, "-5 %");
    text = answer_text(&answer);
    assert_string_equal(text, "Not known: CPU time (-5 %, from too few runs).");
    free(text);
    text = answer_text(&answer);
    assert_string_equal(text, "");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_change),
        cmocka_unit_test(test_one_uncertain_side),
        cmocka_unit_test(test_errors_combine),
        cmocka_unit_test(test_ratio_and_difference_agree),
        cmocka_unit_test(test_nothing_before),
        cmocka_unit_test(test_once),
        cmocka_unit_test(test_product),
        cmocka_unit_test(test_conditions),
        cmocka_unit_test(test_wrong_conditions),
        cmocka_unit_test(test_judgements),
        cmocka_unit_test(test_functions),
        cmocka_unit_test(test_objects),
        cmocka_unit_test(test_sides),
        cmocka_unit_test(test_the_answer_leaves_nothing_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

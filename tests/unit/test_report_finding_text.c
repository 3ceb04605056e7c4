/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings in words: where they are, and where the time goes if there are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "report/findings/finding_at.h"
#include "report/findings/finding_text.h"
#include "report/findings/findings_screen.h"
#include "report/findings/hot_code.h"
#include "report/findings/unseen_sharing.h"
#include "support/memory.h"

#define MAIN(number)                                                                               \
    {                                                                                              \
        .function = "main", .file = "a.cpp", .line = number, .module = "a"                         \
    }
#define PUSH(number)                                                                               \
    {                                                                                              \
        .function = "push", .file = "a.cpp", .line = number, .module = "a"                         \
    }
#define TREE(name)                                                                                 \
    {                                                                                              \
        .function = name, .module = "libtree.so.6"                                                 \
    }

static void test_lines_are_told_by_function(void **state)
{
    static const struct {
        struct finding finding;
        const char *text;
    } cases[] = {
        {{.lines = {PUSH(15), MAIN(29), PUSH(27)}, .line_count = 3},
         "a.cpp:15 and 27 in push, 29 in main"},
        {{.lines = {PUSH(15), MAIN(29), MAIN(27)}, .line_count = 3, .either = true},
         "a.cpp:15 in push, 29 and 27 in main"},
        {{.lines = {MAIN(20), TREE("insert"), MAIN(21), TREE("before")}, .line_count = 4},
         "a.cpp:20 and 21 in main, insert (libtree.so.6), before (libtree.so.6)"},
        {{.lines = {TREE("insert"), MAIN(20)}, .line_count = 2},
         "a.cpp:20 in main, insert (libtree.so.6)"},
        {{.lines = {MAIN(23), PUSH(23)}, .line_count = 2, .either = true}, "a.cpp:23 in main"},
        {{.lines = {TREE("std::map<std::string, std::vector<std::pair<int, long> > >::operator<< "
                         "<int>::find")},
          .line_count = 1},
         "std::map<...>::operator<< <...>::find (libtree.so.6)"},
        {{.lines = {TREE("list<pair<int, long> >::find")}, .line_count = 1},
         "list<pair<int, long> >::find (libtree.so.6)"},
        {{.lines = {MAIN(17), MAIN(21)}, .line_count = 2, .either = true},
         "a.cpp:17 or 21 in main"},
        {{.lines = {MAIN(17), PUSH(21)}, .line_count = 2, .either = true},
         "a.cpp:17 in main, or 21 in push"},
        {{.lines = {MAIN(17), MAIN(18), MAIN(19)},
          .line_count = 3,
          .spread = 2,
          .objects = {"x"},
          .object_count = 1,
          .object_kind = "heap",
          .object_bytes = 64},
         "a.cpp:17, 18 and 19 in main and 2 other places of little weight each, on x (heap, 64 B)"},
    };
    struct model model = {.strings = intern_table_create()};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char *text = finding_where_text(&model, &cases[i].finding);

        assert_string_equal(text, cases[i].text);
        free(text);
    }
    intern_table_free(model.strings);
}

static void test_most_of_the_time_is_more_than_half(void **state)
{
    static const struct {
        struct findings findings;
        const char *text;
    } cases[] = {
        {{.hot = PUSH(7), .hot_time = {0.7, 0.6, 0.8}},
         " Most of the time, 60 to 80 %, is spent in push, near a.cpp:7."},
        {{.hot = PUSH(7), .hot_time = {0.2, 0.02, 0.3}},
         " The most time, 2 to 30 %, is spent in push, near a.cpp:7."},
        {{.hot = PUSH(7), .hot_entry = TREE("insert"), .hot_time = {0.7, 0.6, 0.8}},
         " Most of the time, 60 to 80 %, is spent in insert (libtree.so.6) and what that calls, "
         "called by push near "
         "a.cpp:7."},
        {{.hot = TREE("insert"), .hot_time = {0.7, 0.6, 0.8}},
         " Most of the time, 60 to 80 %, is spent in insert (libtree.so.6)."},
        {{.hot_time = {0}}, ""},
    };
    struct model model = {.strings = intern_table_create()};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char *text = hot_code_text(&model, &cases[i].findings);

        assert_string_equal(text, cases[i].text);
        free(text);
    }
    intern_table_free(model.strings);
}

/* Of the line and object, of the line, of the object; not what is only counted, or about threads.
 */
static void test_the_finding_at_a_place(void **state)
{
    struct finding items[] = {
        {.pattern = PATTERN_CROWDED_SETS,
         .lines = {MAIN(20)},
         .line_count = 1,
         .objects = {"x"},
         .object_count = 1,
         .longer = 9},
        {.pattern = PATTERN_LINKED,
         .weight = FINDING_CLEAR,
         .lines = {MAIN(20), PUSH(30)},
         .line_count = 2,
         .objects = {"y"},
         .object_count = 1,
         .remedy = "keep them"},
        {.pattern = PATTERN_TRUE_SHARING,
         .weight = FINDING_CLEAR,
         .objects = {"z"},
         .object_count = 1},
        {.pattern = PATTERN_ANYWHERE, .objects = {"counted"}, .object_count = 1},
    };
    const struct findings findings = {.items = {.items = items, .count = 4}};
    const struct code_line hot = MAIN(20), cold = MAIN(21);
    struct model model = {.strings = intern_table_create()};
    char *text;

    (void)state;
    assert_ptr_equal(finding_at(&findings, &hot, "x"), &items[0]);
    assert_ptr_equal(finding_at(&findings, &hot, "y"), &items[1]);
    assert_ptr_equal(finding_at(&findings, &hot, NULL), &items[0]);
    assert_ptr_equal(finding_at(&findings, &cold, "y"), &items[1]);
    assert_null(finding_at(&findings, &cold, "z"));
    assert_null(finding_at(&findings, &cold, "counted"));
    text = finding_reference_text(&model, &findings, &items[1], &hot);
    assert_string_equal(text,
                        "see the findings, pointer chasing (nodes anywhere in memory): keep them");
    free(text);
    text = finding_reference_text(&model, &findings, &items[1], &cold);
    assert_string_equal(text, "see the findings on this object first: pointer chasing (nodes "
                              "anywhere in memory), at a.cpp:20");
    free(text);
    text = finding_reference_text(&model, &findings, &items[0], &hot);
    assert_non_null(strstr(text, "too few samples to advise a change"));
    free(text);
    intern_table_free(model.strings);
}

static void test_a_remedy_is_one_sentence(void **state)
{
    char *text = pattern_remedy(PATTERN_FALSE_SHARING, NULL, NULL, "Give each element a line.");

    (void)state;
    assert_string_equal(text, "part them: give each element a line.");
    free(text);
}

/* Six findings do not fit the first screen, and two more are hardly known. */
static void test_all_findings_are_a_matter_of_verbosity(void **state)
{
    struct finding items[8];
    struct report_options options = {.verbose = false};
    struct model model = {.options = &options, .strings = intern_table_create()};
    struct findings findings = {.items = {.items = items, .count = 8}};
    struct paragraph brief = {.text = NULL}, full = {.text = NULL};

    (void)state;
    for (size_t i = 0; i < 8; i++)
        items[i] = (struct finding){.pattern = PATTERN_LINKED,
                                    .weight = i < 6 ? FINDING_CLEAR : FINDING_OPEN,
                                    .lines = {MAIN(20)},
                                    .line_count = 1,
                                    .time = {0.2, 0.1, 0.3},
                                    .gain = {0.2, 0.1, 0.3},
                                    .longer = 9,
                                    .reason = "it is",
                                    .remedy = "keep them",
                                    .check = "reuse-report --lines"};
    findings_screen_put(&model, &findings, "CPU time", NULL, &brief);
    assert_non_null(strstr(brief.text, "more findings (-v). 2 more with"));
    assert_null(strstr(brief.text, "5. "));
    options.verbose = true;
    findings_screen_put(&model, &findings, "CPU time", NULL, &full);
    assert_non_null(strstr(full.text, "Do: keep them"));
    assert_null(strstr(strstr(full.text, "7. "), "Do: ")); /* too few samples to advise it */
    assert_non_null(strstr(full.text, "8. Pointer chasing"));
    assert_null(strstr(full.text, "(-v)"));
    paragraph_free(&full);
    paragraph_free(&brief);
    intern_table_free(model.strings);
}

static void check_said(const struct findings *findings, const char *expected, const char *other)
{
    char *text = unseen_sharing_text(findings);

    assert_non_null(text);
    assert_non_null(strstr(text, expected));
    assert_null(strstr(text, other));
    free(text);
}

/* Threads that ran one after the other leave open what a line costs them; an emulator counts the
 * least. */
static void test_how_threads_took_turns(void **state)
{
    struct finding item = {.pattern = PATTERN_FALSE_SHARING,
                           .weight = FINDING_OPEN,
                           .modelled = true,
                           .apart = true,
                           .time = {0.5, 0, 1},
                           .longer = 1};
    struct findings findings = {.items = {.items = &item, .count = 1}};
    struct sight *sight = &findings.sight;
    char *title = finding_title_text(&item, "CPU time");

    (void)state;
    assert_non_null(strstr(title, "what it costs is open (0 to 100 % of the CPU time), for threads "
                                  "hardly ran at the same time."));
    free(title);
    assert_null(unseen_sharing_text(&findings));
    *sight = (struct sight){.models_sharing = true,
                            .busy_cpus = 0.7,
                            .cause = "no register trapped",
                            .way_out = "reuse-run -e exact"};
    check_said(&findings, "ran on 0.7 CPUs: if the machine was busy", "Not observed");
    check_said(&findings, "-e exact (at least so many: under an emulator", "Not observed");
    sight->busy_cpus = 1.9;
    check_said(&findings, "is modelled", "CPUs");
    sight->busy_cpus = 0.7;
    item.weight = FINDING_CLEAR;
    check_said(&findings, "is modelled", "CPUs");
    sight->way_out = "reuse-doctor";
    check_said(&findings, "To count transfers: reuse-doctor.", "emulator");
    sight->misses_sharing = true;
    check_said(&findings, "Not observed: sharing", "is modelled");
    *sight = (struct sight){.emulates_sharing = true};
    check_said(&findings, "at least those counted", "modelled");
    item.pattern = PATTERN_LINKED;
    assert_null(unseen_sharing_text(&findings));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_are_told_by_function),
        cmocka_unit_test(test_the_finding_at_a_place),
        cmocka_unit_test(test_a_remedy_is_one_sentence),
        cmocka_unit_test(test_most_of_the_time_is_more_than_half),
        cmocka_unit_test(test_all_findings_are_a_matter_of_verbosity),
        cmocka_unit_test(test_how_threads_took_turns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

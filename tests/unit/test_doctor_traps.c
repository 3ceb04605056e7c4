/* SPDX-License-Identifier: BSD-3-Clause */
/* What reuse-doctor makes of watchpoints that trap, of some that do, and of none that does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "doctor/probe.h"

static void assert_says(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("'%s' lacks '%s'", text, part);
}

static void all_of_them(void **state)
{
    struct finding finding = {.state = FINDING_MISSING};
    (void)state;
    judge_traps(&finding, 1000, 1000, 2.5);
    assert_int_equal(finding.state, FINDING_WORKS);
    assert_says(finding.result, "1000 traps, 2.5 us");
    assert_string_equal(finding.remedy, "");
}

static void some_of_them(void **state)
{
    struct finding finding = {.state = FINDING_MISSING};
    (void)state;
    judge_traps(&finding, 999, 1000, 2.5);
    assert_int_equal(finding.state, FINDING_LIMITED);
    assert_says(finding.meaning, "some traps are lost");
}

static void none_of_them(void **state)
{
    struct finding finding = {.state = FINDING_WORKS};
    (void)state;
    judge_traps(&finding, 0, 1000, 0);
    assert_int_equal(finding.state, FINDING_MISSING);
    assert_says(finding.meaning, "never trap");
    assert_says(finding.meaning, "reuses after a burst");
    assert_says(finding.meaning, "sharing between threads");
    assert_says(finding.remedy, "-e exact");
    assert_says(finding.remedy, "another machine");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_them),
        cmocka_unit_test(some_of_them),
        cmocka_unit_test(none_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process hands down to the programs that it starts: taken as it was left, or not at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cmocka.h>

#include "process/environment.h"
#include "process/inheritance.h"

static void what_is_left_is_taken(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        const struct inheritance left = {.trigger_ns = 17000 + i,
                                         .trap_ns = i == 0 ? 5000 : 0,
                                         .registers_are_silent = i != 0,
                                         .has_hardware = i != 0,
                                         .cpus = 1 + i * 300,
                                         .width = {(uint8_t)(4 + 2 * i), (uint8_t)(2 + i)}};
        struct inheritance taken;
        unsetenv("REUSE_MACHINE");
        assert_false(inheritance_take(&taken));
        inheritance_leave(&left);
        assert_true(inheritance_take(&taken));
        assert_int_equal(taken.trigger_ns, left.trigger_ns);
        assert_int_equal(taken.trap_ns, left.trap_ns);
        assert_int_equal(taken.registers_are_silent, left.registers_are_silent);
        assert_int_equal(taken.has_hardware, left.has_hardware);
        assert_int_equal(taken.cpus, left.cpus);
        assert_int_equal(taken.width.instructions, left.width.instructions);
        assert_int_equal(taken.width.accesses, left.width.accesses);
    }
}

/* The list and what it holds are the program's to change afterwards, as if setenv() had been used.
 */
static void environments_of_any_kind(void **state)
{
    static char *nothing[] = {NULL}, *few[] = {"A=1", "AB=2", "B", NULL};
    char **before = environ;

    (void)state;
    environ = nothing;
    environment_set("AB", "x");
    assert_string_equal(environ[0], "AB=x");
    assert_null(environ[1]);
    environ = NULL;
    environment_set("AB", "");
    assert_string_equal(environ[0], "AB=");
    assert_null(environ[1]);

    environ = few;
    environment_set("AB", "2");
    assert_ptr_equal(environ, few);
    assert_string_equal(few[1], "AB=2");
    environment_set("AB", "longer than before");
    assert_ptr_equal(environ, few);
    assert_string_equal(few[0], "A=1");
    assert_string_equal(few[1], "AB=longer than before");
    /* No variable: it has no value. */
    environment_set("B", "3");
    assert_string_equal(environ[2], "B");
    assert_string_equal(environ[3], "B=3");
    assert_null(environ[4]);
    setenv("C", "4", 1);
    unsetenv("A");
    assert_string_equal(environ[0], "AB=longer than before");
    assert_string_equal(getenv("B"), "3");
    assert_string_equal(getenv("C"), "4");
    environ = before;
}

static void what_was_not_measured_is_not_left(void **state)
{
    (void)state;
    static const struct inheritance unknown[] = {
        {.trigger_ns = 0, .trap_ns = 5000, .width = {4, 2}},
        {.trigger_ns = 17000, .trap_ns = 0, .width = {4, 2}},
        {.trigger_ns = 17000, .trap_ns = 5000},
    };
    for (unsigned i = 0; i < 3; i++) {
        struct inheritance taken;
        unsetenv("REUSE_MACHINE");
        inheritance_leave(&unknown[i]);
        assert_null(getenv("REUSE_MACHINE"));
        assert_false(inheritance_take(&taken));
    }
}

static void anything_else_is_refused(void **state)
{
    (void)state;
    struct utsname system;
    char text[512];
    assert_int_equal(uname(&system), 0);
    static const char *const wrong[] = {
        "%s",
        "4:17000:5000:0:0:4:6:3:",
        "4:17000:5000:0:0:4:6:3:%s2",
        "4:17000:5000:0:0:4:6:3",
        "4:17000:5000:0:0:4:%s",
        "4:17000:5000:0:0:4:6:%s",
        "3:17000:5000:0:0:4:%s",
        "3:17000:5000:0:0:4:6:3:%s",
        "5:17000:5000:0:0:4:6:3:%s",
        "4:0:5000:0:0:4:6:3:%s",
        "4:17000:0:0:0:4:6:3:%s",
        "4:17000:5000:1:0:4:6:3:%s",
        "4:0:0:1:0:4:6:3:%s",
        "4:17000:5000:0:0:0:6:3:%s",
        "4:17000:5000:0:0:4:0:3:%s",
        "4:17000:5000:0:0:4:6:0:%s",
        "4:17000:5000:0:0:4:9:3:%s",
        "4:17000:5000:0:0:4:6:258:%s",
        "4:1000001:5000:0:0:4:6:3:%s",
        "4:17000:99999999999999999999999:0:0:4:6:3:%s",
        "4:-17000:5000:0:0:4:6:3:%s",
        "x:17000:5000:0:0:4:6:3:%s",
        "::::::::%s",
    };
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct inheritance taken;
        const char *place = strstr(wrong[i], "%s");
        snprintf(text, sizeof text, "%.*s%s%s",
                 (int)(place != NULL ? (size_t)(place - wrong[i]) : strlen(wrong[i])), wrong[i],
                 place != NULL ? system.nodename : "", place != NULL ? place + 2 : "");
        setenv("REUSE_MACHINE", text, 1);
        assert_false(inheritance_take(&taken));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(environments_of_any_kind),
        cmocka_unit_test(what_is_left_is_taken),
        cmocka_unit_test(what_was_not_measured_is_not_left),
        cmocka_unit_test(anything_else_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

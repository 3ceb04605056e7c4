/* SPDX-License-Identifier: BSD-3-Clause */
/* Latencies that are kept for a host: found again there, for the same caches, and nowhere else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "machine/kept.h"

static char folder[] = "/tmp/reuse-kept-XXXXXX";
static char message[256];

static const struct machine measured = {.name = "node",
                                        .levels = 2,
                                        .caches = {{.level = 1,
                                                    .bytes = 32768,
                                                    .line_size = 64,
                                                    .ways = 8,
                                                    .sharing_cpus = 1,
                                                    .latency_ns = 1.25},
                                                   {.level = 2,
                                                    .bytes = 1 << 20,
                                                    .line_size = 64,
                                                    .ways = 16,
                                                    .sharing_cpus = 1,
                                                    .latency_ns = 4.5}},
                                        .memory_latency_ns = 110,
                                        .core_latency_ns = 61};

static struct machine unknown(void)
{
    struct machine machine = measured;

    machine.caches[0].latency_ns = machine.caches[1].latency_ns = 0;
    machine.memory_latency_ns = machine.core_latency_ns = 0;
    return machine;
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL || setenv("XDG_CONFIG_HOME", folder, 1) != 0;
}

static void test_round_trip(void **state)
{
    struct machine machine = unknown();

    (void)state;
    assert_false(machine_take_kept_latencies("node", &machine));
    assert_false(machine.latencies_measured);
    assert_true(machine_keep("node", &measured, message, sizeof(message)));
    assert_true(machine_take_kept_latencies("node", &machine));
    assert_true(machine.latencies_measured);
    assert_true(machine.caches[0].latency_ns == 1.25 && machine.caches[1].latency_ns == 4.5);
    assert_true(machine.memory_latency_ns == 110 && machine.core_latency_ns == 61);
    /* Anew. */
    assert_true(machine_keep("node", &measured, message, sizeof(message)));
    assert_true(machine_take_kept_latencies("node", &machine));
}

static void test_other_machines(void **state)
{
    struct machine machine = unknown();

    (void)state;
    assert_true(machine_keep("node", &measured, message, sizeof(message)));
    assert_false(machine_take_kept_latencies("other", &machine));
    machine.caches[1].bytes *= 2;
    assert_false(machine_take_kept_latencies("node", &machine));
    machine = unknown();
    machine.levels = 1;
    assert_false(machine_take_kept_latencies("node", &machine));
    assert_true(machine.caches[0].latency_ns == 0 && !machine.latencies_measured);
}

/* A host's name comes from a profile. */
static void test_names(void **state)
{
    char *path = machine_kept_path("../../etc/passwd"), expected[256];

    (void)state;
    snprintf(expected, sizeof(expected), "%s/libreuse/_._.._etc_passwd.conf", folder);
    assert_string_equal(path, expected);
    free(path);
    path = machine_kept_path("");
    assert_non_null(strstr(path, "/libreuse/host.conf"));
    free(path);
}

static void test_damaged(void **state)
{
    char *path = machine_kept_path("damaged");
    struct machine machine = unknown();
    FILE *file;

    (void)state;
    assert_true(machine_keep("damaged", &measured, message, sizeof(message)));
    file = fopen(path, "w");
    assert_non_null(file);
    fputs("cache = what\n", file);
    fclose(file);
    assert_false(machine_take_kept_latencies("damaged", &machine));
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0); /* is not waited for */
    assert_false(machine_take_kept_latencies("damaged", &machine));
    unlink(path);
    free(path);
}

static void test_nowhere(void **state)
{
    char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
    struct machine machine = unknown();

    (void)state;
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("HOME");
    assert_null(machine_kept_path("node"));
    assert_false(machine_take_kept_latencies("node", &machine));
    assert_false(machine_keep("node", &measured, message, sizeof(message)));
    assert_non_null(strstr(message, "set HOME"));
    setenv("XDG_CONFIG_HOME", "/dev/null/no", 1);
    assert_false(machine_keep("node", &measured, message, sizeof(message)));
    assert_non_null(strstr(message, "/dev/null/no/libreuse/node.conf: the latencies cannot"));
    if (home)
        setenv("HOME", home, 1);
    free(home);
}

static int tear_down(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_other_machines),
        cmocka_unit_test(test_names),      cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_nowhere),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}

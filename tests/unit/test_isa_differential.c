/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interpreter against the hardware on windows of real execution: see isa_tracer.h.
 *
 * With arguments, a tool: test_isa_differential PROGRAM [ARGS] compares windows of that program and
 * prints how far they got. Environment: ISA_SEED, ISA_WINDOWS, ISA_ACCESSES, ISA_PAUSE_US,
 * ISA_EVERY (compare after each instruction), ISA_VERBOSE.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "isa_tracer.h"
#include "isa_workloads.h"

static struct tracer_options options;
static bool can_trace;
static const struct isa_workload *workload;

static unsigned setting(const char *name, unsigned otherwise)
{
    const char *value = getenv(name);
    return value ? (unsigned)strtoul(value, NULL, 0) : otherwise;
}

static void repeat(void)
{
    for (;;)
        workload->run();
}

static void print(const char *name, const struct tracer_result *r)
{
    fprintf(stderr, "# %-16s %3u of %3u windows full, %7llu instructions, poisoned %.3f %%", name,
            r->full, r->windows, (unsigned long long)r->instructions,
            100.0 * (double)r->poisoned / (double)(r->poisoned + r->compared + 1));
    for (unsigned i = INTERPRETER_FULL + 1; i < INTERPRETER_STOP_COUNT; i++) {
        if (r->stops[i])
            fprintf(stderr, ", %s %u", interpreter_stop_name((enum interpreter_stop)i),
                    r->stops[i]);
    }
    fprintf(stderr, "\n");
    if (r->mismatches)
        fprintf(stderr, "# %s\n", r->first_mismatch);
}

static void check_table(const struct isa_workload *table)
{
    if (!can_trace)
        skip();
    unsigned full = 0, windows = 0;
    for (workload = table; workload->name; workload++) {
        options.every_instruction = !options.every_instruction;
        options.seed++;
        pid_t child = tracer_start(repeat);
        assert_true(child > 0);
        struct tracer_result result = tracer_run(child, &options);
        print(workload->name, &result);
        assert_int_equal(result.mismatches, 0);
        assert_true(result.windows > 0);
        /* Under a sanitizer even longjmp makes a system call. */
        full += result.full + result.stops[INTERPRETER_SYSTEM_CALL];
        windows += result.windows;
    }
    assert_true(full * 20 >= windows * 19);
}

static void test_not_optimised(void **state)
{
    (void)state;
    check_table(isa_workloads_O0);
}

static void test_optimised(void **state)
{
    (void)state;
    check_table(isa_workloads_O2);
}

static void test_vectorised(void **state)
{
    (void)state;
    check_table(isa_workloads_O3);
}

static void test_program(void **state)
{
    (void)state;
    if (!can_trace)
        skip();
    char *const argv[] = {"ls", "-lR", "/usr/lib", NULL};
    pid_t child = tracer_start_program(argv);
    assert_true(child > 0);
    struct tracer_result result = tracer_run(child, &options);
    print(argv[0], &result);
    assert_int_equal(result.mismatches, 0);
    assert_true(result.windows > 0);
}

static bool tracing_works(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0 ? 0 : 1);
    int status;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

int main(int argc, char **argv)
{
    options.seed = setting("ISA_SEED", (unsigned)time(NULL));
    options.windows = setting("ISA_WINDOWS", argc > 1 ? 100 : 2);
    options.accesses = setting("ISA_ACCESSES", argc > 1 ? 2000 : 300);
    options.pause_us_max = setting("ISA_PAUSE_US", 2000);
    options.every_instruction = getenv("ISA_EVERY") != NULL;
    options.verbose = getenv("ISA_VERBOSE") != NULL;
    fprintf(stderr, "# ISA_SEED=%llu\n", (unsigned long long)options.seed);
    tracer_setup();
    if (argc > 1) {
        struct tracer_result result = tracer_run(tracer_start_program(argv + 1), &options);
        print(argv[1], &result);
        return result.mismatches != 0 || result.windows == 0;
    }
    can_trace = tracing_works();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_not_optimised),
        cmocka_unit_test(test_optimised),
        cmocka_unit_test(test_vectorised),
        cmocka_unit_test(test_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tools do when memory runs out: one line, status 1, and nothing half-written is left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "profile/merge.h"
#include "support/memory.h"

/* Bytes that cannot even be counted, so that no allocator is asked and none can complain. */
static const size_t TOO_MANY = SIZE_MAX;

static char directory[] = "/tmp/reuse-memory-XXXXXX";

static void ask_zeroed(void)
{
    free(allocate_zeroed(TOO_MANY, 2));
}

static void ask_for_more(void)
{
    static void *volatile kept; /* what is lost at the end is no leak */

    kept = allocate(3, 1);
    kept = reallocate(kept, TOO_MANY, 2);
}

static void ask_while_merging(void)
{
    char path[64], message[256];

    (void)snprintf(path, sizeof(path), "%s/first.rprof", directory);
    if (!profile_merge_begin(path, message, sizeof(message)))
        _exit(77);
    (void)snprintf(path, sizeof(path), "%s/second.rprof", directory);
    if (!profile_merge_begin(path, message, sizeof(message)))
        _exit(78);
    free(allocate(TOO_MANY, 2));
}

/* Runs it in a child; its status, and what it wrote to stderr. */
static int status_of(void (*run)(void), char *text, size_t size)
{
    int ends[2], status;

    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)dup2(ends[1], STDERR_FILENO);
        run();
        _exit(0);
    }
    (void)close(ends[1]);
    size_t used = 0;
    for (ssize_t n; (n = read(ends[0], text + used, size - 1 - used)) > 0;)
        used += (size_t)n;
    text[used] = '\0';
    (void)close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect_one_line(void (*run)(void))
{
    char text[1024];

    assert_int_equal(status_of(run, text, sizeof(text)), 1);
    assert_non_null(strstr(text, "test_out_of_memory: out of memory: no room for"));
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

static void ends_with_one_line(void **state)
{
    (void)state;
    expect_one_line(ask_zeroed);
    expect_one_line(ask_for_more);
}

/* The folder is empty but for the outputs' own names, which are there at the end only. */
static void leaves_no_part_of_a_merge(void **state)
{
    (void)state;
    expect_one_line(ask_while_merging);
    assert_int_equal(rmdir(directory), 0);
    assert_non_null(mkdtemp(strcpy(directory, "/tmp/reuse-memory-XXXXXX")));
}

/* Nothing is something that can be freed, and that is not the end. */
static void nothing_is_given(void **state)
{
    (void)state;
    void *none[] = {allocate(0, 8), allocate_zeroed(8, 0), reallocate(NULL, 0, 0)};
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
        assert_non_null(none[i]);
        free(none[i]);
    }
}

static int make_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) == NULL;
}

static int remove_directory(void **state)
{
    (void)state;
    return rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_with_one_line),
        cmocka_unit_test(leaves_no_part_of_a_merge),
        cmocka_unit_test(nothing_is_given),
    };

    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}

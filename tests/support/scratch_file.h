/* SPDX-License-Identifier: BSD-3-Clause */
/* One file for the tests of a program: made before the first, removed after the last. */
#ifndef TESTS_SUPPORT_SCRATCH_FILE_H
#define TESTS_SUPPORT_SCRATCH_FILE_H

#include <stdlib.h>
#include <unistd.h>

static char scratch_path[] = "/tmp/reuse-test-XXXXXX";

/* Set-up and tear-down of cmocka_run_group_tests(). */
static inline int scratch_make(void **state)
{
    (void)state;
    int descriptor = mkstemp(scratch_path);
    return descriptor < 0 || close(descriptor) != 0;
}

static inline int scratch_remove(void **state)
{
    (void)state;
    return unlink(scratch_path);
}

#endif

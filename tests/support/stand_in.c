/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stands in for libreuse.so in tests of how it is preloaded: when STAND_IN_LOG names a file, each
 * process appends one line with its number and name.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void report(void)
{
    const char *path = getenv("STAND_IN_LOG");
    FILE *file = path ? fopen(path, "ae") : NULL;
    if (!file)
        return;
    fprintf(file, "%ld %s\n", (long)getpid(), program_invocation_short_name);
    fclose(file);
}

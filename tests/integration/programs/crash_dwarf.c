/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into reuse-report: libdwarf crashes as hostile debug information can make it.
 * CRASH says how: open, twice, recursion (for CRASH_FILE alone), lines, finish (for any file).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int sink;

static int descend(int depth)
{
    volatile char room[4096];

    room[0] = (char)depth;
    return depth < 1 << 20 ? descend(depth + 1) + room[0] : 0;
}

static int is_asked(const char *kind)
{
    const char *wanted = getenv("CRASH");

    return wanted != NULL && strcmp(wanted, kind) == 0;
}

static int is_hostile(int descriptor)
{
    const char *file = getenv("CRASH_FILE");
    char link[64], path[4096] = "";

    snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
    if (readlink(link, path, sizeof(path) - 1) < 0)
        return 0;
    return file != NULL && strcmp(path, file) == 0;
}

static void crash_now(void)
{
    *(volatile int *)8 = 0;
}

int dwarf_init_b(int descriptor, unsigned long long access, unsigned group, void *handler,
                 void *argument, void **debug, void **error)
{
    int (*next)(int, unsigned long long, unsigned, void *, void *, void **, void **) =
        dlsym(RTLD_NEXT, "dwarf_init_b");

    if (is_hostile(descriptor)) {
        if (is_asked("open"))
            crash_now();
        if (is_asked("recursion"))
            sink = descend(0);
        if (is_asked("twice")) {
            void *volatile block = malloc(100);

            free(block);
            free(block);
        }
    }
    return next(descriptor, access, group, handler, argument, debug, error);
}

int dwarf_srclines_b(void *die, void *version, void *tables, void *context, void *error)
{
    int (*next)(void *, void *, void *, void *, void *) = dlsym(RTLD_NEXT, "dwarf_srclines_b");

    if (is_asked("lines"))
        crash_now();
    return next(die, version, tables, context, error);
}

int dwarf_finish(void *debug, void *error)
{
    int (*next)(void *, void *) = dlsym(RTLD_NEXT, "dwarf_finish");

    if (is_asked("finish"))
        crash_now();
    return next(debug, error);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/input_output_code.h"

#include <string.h>

static const char *const modules[] = {"libc.so", "libc-", "libpthread", "ld-musl", NULL};
/* As the C library decorates its names. */
static const char *const decorations[] = {"__GI_", "__libc_", "__", NULL};
static const char *const calls[] = {"read",     "write",    "pread",  "pwrite", "pread64",
                                    "pwrite64", "readv",    "writev", "preadv", "pwritev",
                                    "preadv2",  "pwritev2", NULL};

static size_t length_of_any(const char *text, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strncmp(text, *words, strlen(*words)) == 0)
            return strlen(*words);
    return 0;
}

bool input_output_code_is(const struct code_line *frame)
{
    const char *name = frame->function;

    if (frame->module == NULL || length_of_any(frame->module, modules) == 0)
        return false;
    for (size_t decoration; (decoration = length_of_any(name, decorations)) > 0;)
        name += decoration;
    for (size_t i = 0; calls[i] != NULL; i++)
        if (strcmp(name, calls[i]) == 0)
            return true;
    return false;
}

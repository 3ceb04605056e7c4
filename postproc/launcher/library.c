/* SPDX-License-Identifier: BSD-3-Clause */
/* See library.h. */
#include "launcher/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Relative to the folder that holds the running program. */
static const char *const beside[] = {
    "../runtime/.libs", "../../runtime/.libs", "../lib", "../lib64", "../lib/" REUSE_MULTIARCH,
};

static int try(const char *folder, const char *relative, char path[PATH_MAX])
{
    char candidate[PATH_MAX];
    int length = snprintf(candidate, sizeof candidate, "%s/%s/libreuse.so", folder, relative);
    if (length >= (int)sizeof candidate || access(candidate, R_OK) != 0)
        return -1;
    return realpath(candidate, path) ? 0 : -1;
}

int library_find(char path[PATH_MAX])
{
    char folder[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (length > 0) {
        folder[length] = '\0';
        *strrchr(folder, '/') = '\0';
        for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++) {
            if (try(folder, beside[i], path) == 0)
                return 0;
        }
    }
    return try(REUSE_LIBRARY_FOLDER, ".", path);
}

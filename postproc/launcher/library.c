/* SPDX-License-Identifier: BSD-3-Clause */
/* See library.h. */
#include "launcher/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Relative to the folder that holds the running program. */
static const char *const beside[] = {
    "../runtime/.libs/libreuse.so",
    "../../runtime/.libs/libreuse.so",
    "../lib/libreuse.so",
    "../lib64/libreuse.so",
    ("../lib/" REUSE_MULTIARCH "/libreuse.so"),
};

static const char *const plugin_beside[] = {
    "../exact/.libs/libreuse-exact.so",
    "../../exact/.libs/libreuse-exact.so",
    "../lib/libreuse/libreuse-exact.so",
    "../lib64/libreuse/libreuse-exact.so",
    ("../lib/" REUSE_MULTIARCH "/libreuse/libreuse-exact.so"),
};

static const char *const guest_beside[] = {
    "../runtime/.libs/libreuse-guest.so",
    "../../runtime/.libs/libreuse-guest.so",
    "../lib/libreuse/libreuse-guest.so",
    "../lib64/libreuse/libreuse-guest.so",
    ("../lib/" REUSE_MULTIARCH "/libreuse/libreuse-guest.so"),
};

static const char *const placement_beside[] = {
    "../runtime/.libs/libreuse-place.so",
    "../../runtime/.libs/libreuse-place.so",
    "../lib/libreuse/libreuse-place.so",
    "../lib64/libreuse/libreuse-place.so",
    ("../lib/" REUSE_MULTIARCH "/libreuse/libreuse-place.so"),
};

static int try(const char *folder, const char *relative, char path[PATH_MAX])
{
    char candidate[PATH_MAX];
    int length = snprintf(candidate, sizeof candidate, "%s/%s", folder, relative);
    if (length >= (int)sizeof candidate || access(candidate, R_OK) != 0)
        return -1;
    return realpath(candidate, path) ? 0 : -1;
}

static int find(const char *const *places, size_t count, char path[PATH_MAX])
{
    char folder[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (length <= 0)
        return -1;
    folder[length] = '\0';
    *strrchr(folder, '/') = '\0';
    for (size_t i = 0; i < count; i++) {
        if (try(folder, places[i], path) == 0)
            return 0;
    }
    return -1;
}

int library_find(char path[PATH_MAX])
{
    if (find(beside, sizeof beside / sizeof beside[0], path) == 0)
        return 0;
    return try(REUSE_LIBRARY_FOLDER, "libreuse.so", path);
}

int library_find_plugin(char path[PATH_MAX])
{
    if (find(plugin_beside, sizeof plugin_beside / sizeof plugin_beside[0], path) == 0)
        return 0;
    return try(REUSE_PLUGIN_FOLDER, "libreuse-exact.so", path);
}

int library_find_guest(char path[PATH_MAX])
{
    if (find(guest_beside, sizeof guest_beside / sizeof guest_beside[0], path) == 0)
        return 0;
    return try(REUSE_PLUGIN_FOLDER, "libreuse-guest.so", path);
}

int library_find_placement(char path[PATH_MAX])
{
    if (find(placement_beside, sizeof placement_beside / sizeof placement_beside[0], path) == 0)
        return 0;
    return try(REUSE_PLUGIN_FOLDER, "libreuse-place.so", path);
}

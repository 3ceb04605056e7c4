/* SPDX-License-Identifier: BSD-3-Clause */
/* See library.h. */
#include "launcher/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct library {
    const char *name;
    const char *built_in;     /* the folder of the build tree */
    const char *below;        /* a lib folder; "": in it */
    const char *installed_in; /* by configure */
};

/* Folders beside the one that holds the running program, for a build tree and an installation. */
static const char *const build_folders[] = {"..", "../.."};
static const char *const library_folders[] = {"../lib", "../lib64", ("../lib/" REUSE_MULTIARCH)};

static int try(const char *folder, const char *name, char path[PATH_MAX])
{
    char candidate[PATH_MAX];
    int length = snprintf(candidate, sizeof candidate, "%s/%s", folder, name);
    if (length >= (int)sizeof candidate || access(candidate, R_OK) != 0)
        return -1;
    return realpath(candidate, path) ? 0 : -1;
}

static int find(const struct library *library, char path[PATH_MAX])
{
    char own[PATH_MAX], folder[PATH_MAX + 64];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    if (length > 0) {
        own[length] = '\0';
        *strrchr(own, '/') = '\0';
        for (size_t i = 0; i < sizeof build_folders / sizeof build_folders[0]; i++) {
            snprintf(folder, sizeof folder, "%s/%s/%s/.libs", own, build_folders[i],
                     library->built_in);
            if (try(folder, library->name, path) == 0)
                return 0;
        }
        for (size_t i = 0; i < sizeof library_folders / sizeof library_folders[0]; i++) {
            snprintf(folder, sizeof folder, "%s/%s/%s", own, library_folders[i], library->below);
            if (try(folder, library->name, path) == 0)
                return 0;
        }
    }
    return try(library->installed_in, library->name, path);
}

int library_find(char path[PATH_MAX])
{
    return find(&(struct library){"libreuse.so", "runtime", "", REUSE_LIBRARY_FOLDER}, path);
}

int library_find_plugin(char path[PATH_MAX])
{
    return find(&(struct library){"libreuse-exact.so", "exact", "libreuse", REUSE_PLUGIN_FOLDER},
                path);
}

int library_find_guest(char path[PATH_MAX])
{
    return find(&(struct library){"libreuse-guest.so", "runtime", "libreuse", REUSE_PLUGIN_FOLDER},
                path);
}

int library_find_placement(char path[PATH_MAX])
{
    return find(&(struct library){"libreuse-place.so", "runtime", "libreuse", REUSE_PLUGIN_FOLDER},
                path);
}

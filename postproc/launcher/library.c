/* SPDX-License-Identifier: BSD-3-Clause */
/* See library.h. */
#include "launcher/library.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* What lies beside a copy of this program may be anybody's, and would run in the user's programs:
 * only the superuser's, or that of whoever this program belongs to. */
static bool is_trusted(const char *path)
{
    struct stat own, other;
    return stat("/proc/self/exe", &own) == 0 && stat(path, &other) == 0 &&
           (other.st_uid == own.st_uid || other.st_uid == 0) && (other.st_mode & S_IWOTH) == 0;
}

static int try_beside(const char *folder, const char *name, char path[PATH_MAX])
{
    return try(folder, name, path) == 0 && is_trusted(path) ? 0 : -1;
}

/* Whether the program's folder is one of a build tree: postproc, or postproc/.libs. */
static bool is_build_folder(const char *folder)
{
    size_t length = strlen(folder), libs = strlen("/.libs"), tools = strlen("/postproc");
    if (length > libs && strcmp(folder + length - libs, "/.libs") == 0)
        length -= libs;
    return length > tools && memcmp(folder + length - tools, "/postproc", tools) == 0;
}

static int find(const struct library *library, char path[PATH_MAX])
{
    char own[PATH_MAX], folder[PATH_MAX + 64];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    if (length > 0) {
        own[length] = '\0';
        *strrchr(own, '/') = '\0';
        for (size_t i = 0;
             is_build_folder(own) && i < sizeof build_folders / sizeof build_folders[0]; i++) {
            snprintf(folder, sizeof folder, "%s/%s/%s/.libs", own, build_folders[i],
                     library->built_in);
            if (try_beside(folder, library->name, path) == 0)
                return 0;
        }
        for (size_t i = 0; i < sizeof library_folders / sizeof library_folders[0]; i++) {
            snprintf(folder, sizeof folder, "%s/%s/%s", own, library_folders[i], library->below);
            if (try_beside(folder, library->name, path) == 0)
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

int library_find_remedy(char path[PATH_MAX])
{
    return find(&(struct library){"libreuse-try.so", "runtime", "libreuse", REUSE_PLUGIN_FOLDER},
                path);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* See together.h. */
#include "report/model/together.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/merge.h"
#include "support/memory.h"

static struct profile *merge_in(const char *folder, const char *const *names, size_t count,
                                char *message, size_t message_size)
{
    char *path = format_string("%s/together.rprof", folder);
    struct profile *profile = NULL;

    if (profile_merge_files(names, count, path, message, message_size))
        profile = profile_load(path, message, message_size);
    unlink(path);
    free(path);
    if (profile != NULL) {
        /* What is said of the file is said of the first of those that the user has named. */
        free(profile->path);
        profile->path = format_string("%s", names[0]);
    }
    return profile;
}

struct profile *load_together(const char *const *names, size_t count, char *message,
                              size_t message_size)
{
    const char *parent = getenv("TMPDIR");
    struct profile *profile;
    char *folder;

    if (count == 1)
        return profile_load(names[0], message, message_size);
    folder = format_string("%s/reuse-report.XXXXXX",
                           parent != NULL && parent[0] != '\0' ? parent : "/tmp");
    if (mkdtemp(folder) == NULL) {
        snprintf(message, message_size,
                 "cannot merge the profiles: cannot create %s: %s; name another folder in TMPDIR",
                 folder, strerror(errno));
        free(folder);
        return NULL;
    }
    profile = merge_in(folder, names, count, message, message_size);
    rmdir(folder);
    free(folder);
    return profile;
}

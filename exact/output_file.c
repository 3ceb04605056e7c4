/* SPDX-License-Identifier: BSD-3-Clause */
#include "output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/format.h"

/* An old profile of this user's, or an empty file. */
static bool is_replaceable(int descriptor, const struct stat *status)
{
    char begin[sizeof PROFILE_MAGIC - 1];

    if (!S_ISREG(status->st_mode) || status->st_uid != geteuid() || status->st_nlink != 1)
        return false;
    return status->st_size == 0 ||
           (pread(descriptor, begin, sizeof begin, 0) == (ssize_t)sizeof begin &&
            memcmp(begin, PROFILE_MAGIC, sizeof begin) == 0);
}

static int open_existing(const char *path, bool replace)
{
    int descriptor = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat status;

    if (descriptor >= 0 && fstat(descriptor, &status) == 0) {
        if (S_ISCHR(status.st_mode))
            return descriptor;
        if (replace && is_replaceable(descriptor, &status) && fchmod(descriptor, 0600) == 0 &&
            ftruncate(descriptor, 0) == 0)
            return descriptor;
    }
    if (descriptor >= 0)
        close(descriptor);
    errno = EEXIST;
    return -1;
}

int output_file_create(const char *path, bool replace)
{
    int descriptor =
        open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);

    if (descriptor < 0 && errno == EEXIST)
        return open_existing(path, replace);
    return descriptor;
}

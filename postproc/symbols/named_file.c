/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbols/named_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int refuse(int descriptor, int error)
{
    close(descriptor);
    errno = error;
    return -1;
}

static int open_regular(const char *path, int flags, struct stat *status)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);

    if (descriptor < 0)
        return -1;
    if (fstat(descriptor, status) != 0 || !S_ISREG(status->st_mode))
        return refuse(descriptor, EINVAL);
    return descriptor;
}

int named_file_open(const char *path)
{
    struct stat status;

    return open_regular(path, 0, &status);
}

int named_file_open_own(const char *path, size_t bytes_max)
{
    struct stat status;
    int descriptor = open_regular(path, O_NOFOLLOW, &status);

    if (descriptor < 0)
        return -1;
    if (status.st_uid != geteuid() && status.st_uid != 0)
        return refuse(descriptor, EPERM);
    if ((size_t)status.st_size > bytes_max)
        return refuse(descriptor, EFBIG);
    return descriptor;
}

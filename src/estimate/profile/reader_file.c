/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * File -> bytes -> struct profile. The file is read, not mapped: a mapping would kill the reader
 * by SIGBUS when a profile that is still being written is cut back on a full disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/format.h"
#include "profile/reader.h"
#include "support/memory.h"

enum { FIRST_CAPACITY = 1 << 16 };

/* False once it is certain that these bytes begin no profile. */
static bool may_be_profile(const unsigned char *data, size_t size)
{
    size_t signature = sizeof PROFILE_MAGIC - 1;
    return size < signature || memcmp(data, PROFILE_MAGIC, 6) == 0;
}

/* Reads to the end, or so far that it is seen to be no profile. NULL with errno on failure. */
static unsigned char *read_all(int descriptor, size_t expected, size_t *size)
{
    size_t capacity = FIRST_CAPACITY;
    unsigned char *data = allocate(capacity, 1);
    *size = 0;
    for (;;) {
        if (!may_be_profile(data, *size))
            return data;
        ssize_t n = read(descriptor, data + *size, capacity - *size);
        if (n == 0)
            return data;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        *size += (size_t)n;
        if (*size < capacity)
            continue;
        capacity = capacity < expected ? expected + 1 : capacity * 2;
        data = reallocate(data, capacity, 1);
    }
    int error = errno;
    free(data);
    errno = error;
    return NULL;
}

static const char *what_to_do(int error)
{
    switch (error) {
    case ENOENT:
        return "check the name, or profile a program first";
    case EACCES:
        return "ask its owner for permission to read it";
    case EISDIR:
        return "name a profile in it (*.rprof)";
    default:
        return "check the file and the disk";
    }
}

/* The runtime holds the file's lock for as long as it writes. */
static bool is_being_written(int descriptor)
{
    return flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

struct profile *profile_load(const char *path, char *message, size_t message_size)
{
    struct profile *profile = NULL;
    unsigned char *data = NULL;
    size_t size = 0;
    struct stat status;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor >= 0 && fstat(descriptor, &status) == 0) {
        if (S_ISDIR(status.st_mode))
            errno = EISDIR;
        else
            data =
                read_all(descriptor, S_ISREG(status.st_mode) ? (size_t)status.st_size : 0, &size);
    }
    int error = errno;
    if (data)
        profile = profile_parse(data, size, path, message, message_size);
    else
        (void)snprintf(message, message_size, "cannot read '%s': %s; %s", path, strerror(error),
                       what_to_do(error));
    free(data);
    if (profile && !profile->complete)
        profile->being_written = is_being_written(descriptor);
    if (descriptor >= 0)
        (void)close(descriptor);
    return profile;
}

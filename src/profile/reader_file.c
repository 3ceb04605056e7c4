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
#include <sys/stat.h>
#include <unistd.h>

#include "profile/reader.h"

enum { FIRST_CAPACITY = 1 << 16 };

/* Reads to the end; a regular file needs no second allocation. NULL with errno on failure. */
static unsigned char *read_all(int descriptor, size_t expected, size_t *size)
{
    size_t capacity = expected > 0 ? expected + 1 : FIRST_CAPACITY;
    unsigned char *data = malloc(capacity);
    *size = 0;
    while (data) {
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
        unsigned char *larger = realloc(data, capacity * 2);
        if (!larger)
            break;
        data = larger;
        capacity *= 2;
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
    case ENOMEM:
        return "use a machine with more memory, or a shorter run";
    default:
        return "check the file and the disk";
    }
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
    if (descriptor >= 0)
        (void)close(descriptor);
    return profile;
}

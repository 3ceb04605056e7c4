/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of /proc that tell about this process. Signal-safe; by system calls, for the C library's
 * functions are places where a thread is cancelled. */
#ifndef REUSE_RUNTIME_SMALL_FILE_H
#define REUSE_RUNTIME_SMALL_FILE_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "own/text.h"

/* Its beginning, up to size - 1 bytes, and a null byte; "" where it cannot be read. Returns how
 * many bytes that are. */
static inline size_t small_file_read(const char *path, char *text, size_t size)
{
    long descriptor = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    long length = 0;

    if (descriptor >= 0) {
        length = syscall(SYS_read, descriptor, text, size - 1);
        syscall(SYS_close, descriptor);
    }
    length = length > 0 ? length : 0;
    text[length] = '\0';
    return (size_t)length;
}

/* What follows `name` and blanks on the line that begins with it; NULL: there is none. */
static inline const char *small_file_field(const char *text, const char *name)
{
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (begins_with(line, name)) {
            line += strlen(name);
            return line + strspn(line, " \t");
        }
    }
    return NULL;
}

/* The decimal number that `at` begins with; 0: none, or NULL. */
static inline uint64_t small_file_number(const char *at)
{
    uint64_t number = 0;

    for (; at && *at >= '0' && *at <= '9'; at++)
        number = 10 * number + (uint64_t)(*at - '0');
    return number;
}

#endif

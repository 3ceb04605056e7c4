/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creating the profile's file without destroying another profile of the same run. Signal-safe.
 */
#ifndef REUSE_RUNTIME_PROFILE_FILE_H
#define REUSE_RUNTIME_PROFILE_FILE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Opens `path` for writing, empty and locked (flock) for as long as it is open. The file is nobody
 * else's to read: it tells where things lie in a running process. An old profile of the same user
 * is overwritten, but nothing else: no link, pipe or file of another kind, no profile that a living
 * process is writing, nor one that was written since this process began (an exec keeps the pid and
 * perhaps the name) or the run. `keep`: none at all, as the process's number is in the name and
 * another PID namespace has the same numbers. Then the path gets a number before its suffix. `path`
 * has room for size bytes and is changed to the name taken. A character device, such as /dev/null,
 * is taken as it is. A descriptor or -errno.
 */
int profile_file_create(char *path, size_t size, bool keep);

/*
 * The same rule for a file with another signature, so many bytes at its beginning, whatever its
 * age. A descriptor or -errno; -EEXIST: there is something else under that name.
 */
int profile_file_open(const char *path, const void *signature, size_t size);

#endif

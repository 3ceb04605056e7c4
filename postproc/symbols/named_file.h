/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files that are named by a profile, by debug information, or by custom: whoever made the profile,
 * or may write to the folder, says which. So only regular files are opened, and none is waited for.
 */
#ifndef REUSE_SYMBOLS_NAMED_FILE_H
#define REUSE_SYMBOLS_NAMED_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* A descriptor for reading, or -1 with errno; EINVAL: there is something else than a file. */
int named_file_open(const char *path);

/*
 * The same for a file in a folder that anybody may write to: no link, of at most so many bytes, and
 * of this user or the superuser; else -1 with errno EPERM or EFBIG.
 */
int named_file_open_own(const char *path, size_t bytes_max);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creating the profile's file without destroying another profile of the same run. Signal-safe.
 */
#ifndef REUSE_RUNTIME_PROFILE_FILE_H
#define REUSE_RUNTIME_PROFILE_FILE_H

#include <stddef.h>

/*
 * Opens `path` for writing, empty and locked (flock) for as long as it is open. An old file of that
 * name is overwritten, but not one that a living process is writing, nor one that was written since
 * this process began (an exec keeps the pid and perhaps the name): then the path gets a number
 * before its suffix. `path` has room for size bytes and is changed to the name taken. A descriptor
 * or -errno.
 */
int profile_file_create(char *path, size_t size);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Creating the profile's file without destroying anything else: as runtime/output/profile_file.h
 * does. */
#ifndef REUSE_EXACT_OUTPUT_FILE_H
#define REUSE_EXACT_OUTPUT_FILE_H

#include <stdbool.h>

/*
 * Opens `path` for writing, empty, and nobody else's to read. replace: an old profile of the same
 * user that lies there may be overwritten. Links are not followed, pipes not waited for; a
 * character device, such as /dev/null, is taken as it is. A descriptor, or -1 with errno; EEXIST:
 * there is something else under that name.
 */
int output_file_create(const char *path, bool replace);

#endif

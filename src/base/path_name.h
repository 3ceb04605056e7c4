/* SPDX-License-Identifier: BSD-3-Clause */
/* The name of a file without its folders. Signal-safe. */
#ifndef REUSE_PATH_NAME_H
#define REUSE_PATH_NAME_H

#include <string.h>

/* What follows the last slash, the whole path if there is none: part of the path. */
static inline const char *path_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The name of the profile of this process. Written at start-up and in a forked child, before the
 * file is opened; read by any thread. */
#ifndef REUSE_RUNTIME_OUTPUT_NAME_H
#define REUSE_RUNTIME_OUTPUT_NAME_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "options.h"

enum { OUTPUT_NAME_ALL_MAX = 2 * OPTIONS_OUTPUT_MAX + PATH_MAX };

struct output_name {
    bool by_process;        /* the path has the process's number in it */
    size_t directory_bytes; /* of the path, before what the pattern became */
    /* Absolute. Gets a number where a file is in the way. */
    char path[OPTIONS_OUTPUT_MAX + PATH_MAX];
};

/* The pattern of the options, expanded, below the directory that is current now. False after one
 * line to the user. */
bool output_name_choose(struct output_name *, const struct options *);

/* The chosen path of that pattern for a shell: what differs between the processes of the run, or
 * the job, is a star. */
void output_name_all(const struct output_name *, const char *pattern,
                     char all[OUTPUT_NAME_ALL_MAX]);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The name of the profile of this process. Written at start-up and in a forked child, before the
 * file is opened; read by any thread. */
#ifndef REUSE_RUNTIME_OUTPUT_NAME_H
#define REUSE_RUNTIME_OUTPUT_NAME_H

#include <limits.h>
#include <stdbool.h>

#include "options.h"

struct output_name {
    /* Absolute. Gets a number where a file is in the way. */
    char path[OPTIONS_OUTPUT_MAX + PATH_MAX];
    /* The same with stars, for the files of all processes of the run. */
    char all[2 * OPTIONS_OUTPUT_MAX + PATH_MAX];
    bool by_process; /* the path has the process's number in it */
};

/* The pattern of the options, expanded, below the directory that is current now. False after one
 * line to the user. */
bool output_name_choose(struct output_name *, const struct options *);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* What the engine is told: through the environment, and as arguments of the plugin. */
#ifndef REUSE_EXACT_SETTINGS_H
#define REUSE_EXACT_SETTINGS_H

#include <limits.h>
#include <stdbool.h>

#include "options.h"
#include "reuse/exact_counts.h"

struct settings {
    struct options options;
    uint32_t line_sizes[EXACT_LINE_SIZES_MAX]; /* the run's first */
    unsigned line_size_count;
    uint32_t rate_denominator; /* follow 1/n of the lines; 1: all */
    unsigned program_index;    /* of the program in QEMU's command line; 0 unknown */
    unsigned generation;       /* programs that the process was before, by exec */
    int shared_descriptor;     /* memory that all processes of the run have (exact_memory.h); -1 */
    char qemu_version[32];
    char guest_library[PATH_MAX]; /* libreuse-guest.so, preloaded into programs; "" none */
};

/*
 * Reads the environment and the plugin's arguments (program=INDEX, qemu=VERSION, version=OF
 * REUSE-RUN, guest=PATH, generation=COUNT,
 * shared=DESCRIPTOR). False with one line in message.
 */
bool settings_read(struct settings *, int argc, char **argv, char *message, size_t message_size);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Stands in for the files below /sys that tell of a processor's events. */
#ifndef TESTS_SUPPORT_TEXT_FILES_H
#define TESTS_SUPPORT_TEXT_FILES_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* One of several; the last has no path. */
struct text_file {
    const char *path, *text;
};

/* The `read` of struct pmu_machine, with the first of the files as context. */
static inline bool text_files_read(void *context, const char *path, char *text, size_t size)
{
    for (const struct text_file *file = context; file->path; file++)
        if (strcmp(file->path, path) == 0) {
            snprintf(text, size, "%s", file->text);
            return true;
        }
    return false;
}

#endif

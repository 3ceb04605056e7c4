/* SPDX-License-Identifier: BSD-3-Clause */
/* The files that the processes of a recording had mapped, and the code in them. */
#ifndef REUSE_POSTPROC_LOADED_FILES_H
#define REUSE_POSTPROC_LOADED_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perfdata/code_image.h"
#include "perfdata/recording.h"
#include "symbols/symbols.h"

/* A file that a process had mapped: its addresses minus `bias` are link-time ones. */
struct loaded_file {
    uint32_t pid;
    const char *path;
    uint64_t bias, start, end; /* in memory, from the lowest to the highest segment */
    struct symbol_module *module;
    const struct code_image *image;
};

/* A place in the source; texts are shared: equal ones have one address. */
struct code_place {
    const char *function; /* NULL: unknown */
    const char *file;     /* NULL: unknown */
    const char *module;   /* NULL: unknown */
    uint32_t line;        /* 0: unknown */
};

struct loaded_files;

/* All files of all processes. What is given must outlive the result. */
struct loaded_files *loaded_files_create(const struct recording *, const struct file_search *,
                                         struct symbols *, struct intern_table *strings);
void loaded_files_free(struct loaded_files *);

/* The file of one of the recording's mappings; NULL if it is of none that may hold code or data:
 * anonymous memory, a device. */
const struct loaded_file *loaded_file_of(const struct loaded_files *, const struct recorded_map *);

/* The file that holds an address of the process at that time; NULL if none does. */
const struct loaded_file *loaded_file_at(const struct loaded_files *, uint32_t pid,
                                         uint64_t address, uint64_t time);

/* A file of the process whose segments hold the address: memory behind its end is zeroed data. */
const struct loaded_file *loaded_file_around(const struct loaded_files *, uint32_t pid,
                                             uint64_t address);

/*
 * The places that an instruction belongs to: the innermost inlined function, its caller and so on.
 * At least one, unknown where nothing is known; valid until the next call.
 */
const struct code_place *loaded_code(struct loaded_files *, uint32_t pid, uint64_t address,
                                     uint64_t time, size_t *count);

#endif

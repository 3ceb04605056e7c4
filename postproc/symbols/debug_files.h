/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the files of a module lie: the module itself and its separate debug file.
 *
 * Debug files are looked for as GDB documents it (GDB manual, "Debugging Information in Separate
 * Files"): by build-id as DIR/.build-id/xx/yyyy.debug, then by the name and checksum in
 * .gnu_debuglink beside the module, in .debug/ below it, and under DIR with the module's own
 * directory. DIR is each --debug-dir, then SYSROOT/usr/lib/debug. What debuginfod-find(1) has
 * fetched is taken from its cache, by build-id; nothing is fetched.
 */
#ifndef REUSE_POSTPROC_DEBUG_FILES_H
#define REUSE_POSTPROC_DEBUG_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/elf_image.h"

struct file_search {
    const char *sysroot; /* prefix of every path that the target saw; "" for this machine */
    const char *const *debug_directories;
    size_t debug_directory_count;
};

/* sysroot + path; the caller frees it. */
char *file_under_sysroot(const struct file_search *, const char *path);

/* The debug file of a build-id, opened; NULL if there is none. Needs no other file of the module.
 */
struct elf_image *debug_file_by_build_id(const struct file_search *, const uint8_t *build_id,
                                         size_t build_id_size);

/* The debug file that the module's .gnu_debuglink names. module_path is as the target saw it. */
struct elf_image *debug_file_by_link(const struct file_search *, const struct elf_image *module,
                                     const char *module_path);

/* The file that dwz moved common parts to (.gnu_debugaltlink); NULL: none. The caller frees it. */
char *debug_file_alternate(const struct file_search *, const struct elf_image *);

#endif

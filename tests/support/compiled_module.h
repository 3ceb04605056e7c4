/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests of symbols: compiles programs in a folder of their own and opens what came out. */
#ifndef TESTS_SUPPORT_COMPILED_MODULE_H
#define TESTS_SUPPORT_COMPILED_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/symbols.h"

/* Makes a folder from a pattern for mkdtemp(3) and works there; 0, or -1 on failure. */
int module_folder_enter(char *pattern);
/* Removes it; 0, or -1 on failure. */
int module_folder_leave(const char *folder);

void write_source(const char *name, const char *text);

/* Runs a shell command of at most 1023 bytes; did it succeed? */
__attribute__((format(printf, 1, 2))) bool run_command(const char *format, ...);
bool have_command(const char *program);

struct opened_module {
    struct file_search search; /* may be set before opening */
    struct intern_table *strings;
    struct symbols *symbols;
    struct symbol_module *module;
};

void opened_module_open(struct opened_module *, const char *path, const uint8_t *build_id,
                        size_t build_id_size);
void opened_module_close(struct opened_module *);

#endif

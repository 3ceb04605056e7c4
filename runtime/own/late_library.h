/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A shared library that is loaded when it is first needed, be it in a handler: the dynamic loader
 * may not be called there, and costs a process that ends before then 150 us at its start. For
 * libraries of plain code on x86-64: their own symbols, some functions of ours in the place of the
 * C library's, no constructors, no thread-local storage. Signal-safe.
 */
#ifndef REUSE_RUNTIME_OWN_LATE_LIBRARY_H
#define REUSE_RUNTIME_OWN_LATE_LIBRARY_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "own/loaded_symbols.h"

/* A function that the library calls and does not have. */
struct late_import {
    const char *name;
    void *function;
};

/* Filled in by late_library_load(); the memory stays mapped for good. */
struct late_library {
    uint64_t base, bytes;
    struct loaded_symbols symbols;
};

/* False, and nothing is left behind, if the file cannot be read or asks for anything else. */
bool late_library_load(struct late_library *, const char *path, const struct late_import *imports,
                       size_t import_count);

/* NULL when the library does not define it. */
void *late_library_function(const struct late_library *, const char *name);

#endif

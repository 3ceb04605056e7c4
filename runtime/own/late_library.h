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

/* Filled in by the functions below; the memory stays mapped for good. */
struct late_library {
    uint64_t base, bytes;
    uint64_t dynamic;                  /* its section of that name */
    uint64_t constant, constant_bytes; /* whole pages that are constant once it is linked */
    bool linked;
    struct loaded_symbols symbols;
};

/*
 * Maps the file, which is not needed from then on: for a library that may be wanted where its file
 * cannot be opened. Hardly a page of it is touched. False, and nothing is left behind, if the file
 * cannot be read or asks for anything else.
 */
bool late_library_map(struct late_library *, const char *path);

/* Makes what is mapped ready for use; again, if a child was forked by another thread meanwhile.
 * False, and nothing is left behind, as above. */
bool late_library_link(struct late_library *, const struct late_import *imports,
                       size_t import_count);

/* NULL when the library does not define it. */
void *late_library_function(const struct late_library *, const char *name);

#endif

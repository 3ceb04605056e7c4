/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names for addresses of the modules of a run: what the report shows instead of numbers.
 * Files are opened when the first address of a module is asked for. Not thread-safe.
 */
#ifndef REUSE_POSTPROC_SYMBOLS_H
#define REUSE_POSTPROC_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/intern_table.h"
#include "symbols/call_sites.h"
#include "symbols/debug_files.h"
#include "symbols/dwarf_file.h"

struct symbols;
struct symbol_module;

/* How much is known of a module. */
enum module_state {
    MODULE_DEBUG,          /* source lines */
    MODULE_SYMBOLS,        /* a symbol table, no debug information */
    MODULE_STRIPPED,       /* the dynamic symbol table only */
    MODULE_MISSING,        /* no file */
    MODULE_WRONG_BUILD_ID, /* the file is not the one that ran */
    MODULE_VIRTUAL,        /* the kernel's vdso: there is no file */
};

/* The search and the strings must outlive the result. */
struct symbols *symbols_create(const struct file_search *, struct intern_table *strings);
void symbols_free(struct symbols *);

/* The module of a path and build-id (size 0: unknown, may be NULL); one object for equal ones. */
struct symbol_module *symbols_module(struct symbols *, const char *path, const uint8_t *build_id,
                                     size_t build_id_size);

enum module_state symbol_module_state(struct symbol_module *);
/* Whether compiling it with -g would tell more. NULL: no. */
bool symbol_module_lacks_debug(struct symbol_module *);
const char *symbol_module_path(const struct symbol_module *);
const char *symbol_module_name(const struct symbol_module *); /* last part of the path */

/*
 * Appends the direct calls in the code of the line that the address belongs to, in order of
 * addresses: those of what the call at the address calls, and if that allocates, those of the C
 * library's other functions that allocate. None if that is no direct call, or without lines.
 */
void symbol_module_line_calls(struct symbol_module *, uint64_t address, call_sites *out);

/*
 * Appends the frames of a link-time address, innermost first. At least one frame is appended; its
 * function is NULL when nothing is known.
 */
void symbol_module_frames(struct symbol_module *, uint64_t address, source_frames *out);

/* Link-time start of the function at an address for which no name is known; false: not known. */
bool symbol_module_function_start(struct symbol_module *, uint64_t address, uint64_t *start);

/* A type of a module's debug information; module NULL: not known. */
struct data_type {
    struct symbol_module *module;
    struct type_reference reference;
};

struct data_symbol {
    const char *name;    /* NULL: unknown */
    uint64_t address;    /* link-time start; with no symbol what the code shows to begin there, the
                            section, or the query's */
    uint64_t size;       /* 0: unknown */
    const char *section; /* NULL: unknown */
    uint64_t section_start; /* link-time; of the section, if it is known */
    const char *file;       /* of the declaration, or NULL */
    uint32_t line;
    struct data_type type;
};

/* Finds the variables that hold the link-time addresses, all in one pass; quickest if ascending. */
void symbol_module_variables(struct symbol_module *, const uint64_t *addresses, size_t n,
                             struct data_symbol *out);

/* See dwarf_file_declares(); DECLARED_NOWHERE without debug information. */
enum declared_as symbol_module_declares(struct symbol_module *, uint64_t address,
                                        const struct source_frame *, const char *name);

/* See dwarf_file_structure(). */
struct data_type symbol_module_structure(struct symbol_module *, uint64_t address,
                                         const char *name);

/*
 * The type of the memory that the variable or member `name` points to, after so many subscripts:
 * see dwarf_file_declared_type() and dwarf_file_type_pointee().
 */
struct data_type symbol_module_pointee(struct symbol_module *, uint64_t address,
                                       const struct source_frame *, const char *name, bool member,
                                       unsigned subscripts);

/* See dwarf_file_type_place(); false without a type. */
bool data_type_place(const struct data_type *, uint64_t object_size, uint64_t offset,
                     struct type_place *out);

/* Bytes; 0 unknown. */
uint64_t data_type_size(const struct data_type *);

/* See dwarf_file_type_levels(); 0 without a type. */
size_t data_type_levels(const struct data_type *, uint64_t object_size, uint64_t offset,
                        struct type_level out[TYPE_LEVELS_MAX]);

/* See dwarf_file_type_members(); false without a type. */
bool data_type_members(const struct data_type *, struct type_members *out);

/* Modification time of the module's file in seconds, 0 unknown: newer sources are not trusted. */
int64_t symbol_module_time(struct symbol_module *);

/* Modules that were asked for, in order of first use. */
size_t symbols_module_count(const struct symbols *);
struct symbol_module *symbols_module_number(const struct symbols *, size_t number);
/* The first of them that is called so; NULL: none is, or name is NULL. */
struct symbol_module *symbols_module_named(const struct symbols *, const char *name);

/* True if part of the module's debug information is in .dwo files. */
bool symbol_module_is_split(struct symbol_module *);

#endif

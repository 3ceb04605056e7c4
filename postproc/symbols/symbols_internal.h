/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of symbols.h have in common: modules (symbols.c) and their data (symbol_data.c).
 */
#ifndef REUSE_POSTPROC_SYMBOLS_INTERNAL_H
#define REUSE_POSTPROC_SYMBOLS_INTERNAL_H

#include "symbols/function_symbol.h"
#include "symbols/symbols.h"

struct symbol_module {
    struct symbols *owner;
    const char *path, *name;
    uint8_t build_id[BUILD_ID_MAX];
    size_t build_id_size;
    bool opened;
    enum module_state state;
    struct elf_image *image;       /* the module's own file; NULL if missing or wrong */
    struct elf_image *debug_image; /* separate debug file; NULL if none */
    struct dwarf_file *dwarf;
    int64_t modified;
    struct function_starts functions; /* of the image */
    bool starts_found;
    nameless_starts starts; /* of variables; looked for when the first one has no symbol */
};

struct symbols {
    const struct file_search *search;
    struct intern_table *strings, *keys;
    ARRAY(struct symbol_module *) modules;
};

/* Looks for the module's files, once. */
void symbol_module_open(struct symbol_module *);

/* The name as the source has it, demangled; owned by the strings of the symbols. */
const char *symbol_module_readable(struct symbol_module *, const char *linkage_name);

#endif

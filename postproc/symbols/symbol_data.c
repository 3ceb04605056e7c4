/* SPDX-License-Identifier: BSD-3-Clause */
/* Variables and types of a module: the half of symbols.h that is about data. */
#include <stdlib.h>
#include <string.h>

#include "symbols/crash_retry.h"
#include "symbols/symbols_internal.h"

/* Where the variable begins that holds an address of the section from `low` on, as far as the code
 * tells. */
static uint64_t nameless_start(struct symbol_module *module, uint64_t low, uint64_t address)
{
    uint64_t start = low;

    if (!module->starts_found && module->image != NULL)
        data_starts_find(module->image, &module->starts);
    module->starts_found = true;
    nameless_starts_before(&module->starts, low, address, &start);
    return start;
}

/* Fills name, extent and section from the ELF files; returns false when no symbol covers it. */
static bool object_symbol(struct symbol_module *module, uint64_t address, struct data_symbol *out)
{
    const struct elf_symbol *symbol = NULL;
    struct elf_image *image = module->image != NULL ? module->image : module->debug_image;
    uint64_t start = 0;

    *out = (struct data_symbol){.address = address};
    if (image == NULL)
        return false;
    out->section = elf_image_section(image, address, &start);
    out->section_start = start;
    if (module->debug_image != NULL)
        symbol = elf_image_object(module->debug_image, address);
    if (symbol == NULL && module->image != NULL)
        symbol = elf_image_object(module->image, address);
    if (symbol == NULL) {
        if (out->section != NULL)
            out->address = nameless_start(module, start, address);
        return false;
    }
    out->name = symbol_module_readable(module, symbol->name);
    out->address = symbol->address;
    out->size = symbol->size;
    return true;
}

void symbol_module_variables(struct symbol_module *module, const uint64_t *addresses, size_t n,
                             struct data_symbol *out)
{
    struct declared_variable *declared;
    uint64_t *starts;
    size_t *found_at, found = 0;

    symbol_module_open(module);
    starts = allocate_zeroed(n, sizeof(*starts));
    found_at = allocate_zeroed(n, sizeof(*found_at)); /* number in starts + 1; 0: no symbol */
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && found_at[i - 1] > 0 && addresses[i] - out[i - 1].address < out[i - 1].size) {
            out[i] = out[i - 1];
            found_at[i] = found_at[i - 1];
        } else if (object_symbol(module, addresses[i], &out[i])) {
            starts[found] = out[i].address;
            found_at[i] = ++found;
        }
    }
    declared = allocate_zeroed(found, sizeof(*declared));
    crash_retry_reading(module->path);
    if (module->dwarf != NULL && found > 0)
        dwarf_file_variables(module->dwarf, starts, found, declared);
    crash_retry_done();
    for (size_t i = 0; i < n; i++) {
        const struct declared_variable *variable;

        if (found_at[i] == 0 || (variable = &declared[found_at[i] - 1])->name == NULL)
            continue;
        /* A readable linkage name is qualified; the debug information may say less. */
        if (strstr(out[i].name, "::") == NULL)
            out[i].name = variable->name;
        out[i].file = variable->file;
        out[i].line = variable->line;
        if (variable->type.offset != 0)
            out[i].type = (struct data_type){module, variable->type};
    }
    free(declared);
    free(found_at);
    free(starts);
}

enum declared_as symbol_module_declares(struct symbol_module *module, uint64_t address,
                                        const struct source_frame *frame, const char *name)
{
    enum declared_as declared;

    symbol_module_open(module);
    if (module->dwarf == NULL)
        return DECLARED_NOWHERE;
    crash_retry_reading(module->path);
    declared = dwarf_file_declares(module->dwarf, address, frame, name);
    crash_retry_done();
    return declared;
}

struct data_type symbol_module_structure(struct symbol_module *module, uint64_t address,
                                         const char *name)
{
    struct data_type type = {0};

    symbol_module_open(module);
    if (module->dwarf == NULL)
        return type;
    crash_retry_reading(module->path);
    type.reference = dwarf_file_structure(module->dwarf, address, name);
    crash_retry_done();
    type.module = type.reference.offset != 0 ? module : NULL;
    return type;
}

struct data_type symbol_module_pointee(struct symbol_module *module, uint64_t address,
                                       const struct source_frame *frame, const char *name,
                                       bool member, unsigned subscripts)
{
    struct data_type type = {0};

    symbol_module_open(module);
    if (module->dwarf == NULL)
        return type;
    crash_retry_reading(module->path);
    type.reference = dwarf_file_declared_type(module->dwarf, address, frame, name, member);
    if (type.reference.offset != 0)
        type.reference = dwarf_file_type_pointee(module->dwarf, type.reference, subscripts);
    crash_retry_done();
    type.module = type.reference.offset != 0 ? module : NULL;
    return type;
}

bool data_type_place(const struct data_type *type, uint64_t object_size, uint64_t offset,
                     struct type_place *out)
{
    bool found;

    if (type->module == NULL)
        return false;
    crash_retry_reading(type->module->path);
    found = dwarf_file_type_place(type->module->dwarf, type->reference, object_size, offset, out);
    crash_retry_done();
    return found;
}

uint64_t data_type_size(const struct data_type *type)
{
    uint64_t size;

    if (type->module == NULL)
        return 0;
    crash_retry_reading(type->module->path);
    size = dwarf_file_type_size(type->module->dwarf, type->reference);
    crash_retry_done();
    return size;
}

size_t data_type_levels(const struct data_type *type, uint64_t object_size, uint64_t offset,
                        struct type_level out[TYPE_LEVELS_MAX])
{
    size_t count;

    if (type->module == NULL)
        return 0;
    crash_retry_reading(type->module->path);
    count = dwarf_file_type_levels(type->module->dwarf, type->reference, object_size, offset, out);
    crash_retry_done();
    return count;
}

bool data_type_members(const struct data_type *type, struct type_members *out)
{
    bool found;

    if (type->module == NULL)
        return false;
    crash_retry_reading(type->module->path);
    found = dwarf_file_type_members(type->module->dwarf, type->reference, out);
    crash_retry_done();
    return found;
}

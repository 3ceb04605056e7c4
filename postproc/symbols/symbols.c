/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* memmem */
#include "symbols/symbols.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "symbols/crash_retry.h"
#include "symbols/demangle.h"
#include "symbols/function_symbol.h"

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

struct symbols *symbols_create(const struct file_search *search, struct intern_table *strings)
{
    struct symbols *symbols = allocate_zeroed(1, sizeof(*symbols));

    symbols->search = search;
    symbols->strings = strings;
    symbols->keys = intern_table_create();
    return symbols;
}

void symbols_free(struct symbols *symbols)
{
    if (symbols == NULL)
        return;
    for (size_t i = 0; i < symbols->modules.count; i++) {
        struct symbol_module *module = symbols->modules.items[i];

        crash_retry_reading(module->path);
        dwarf_file_close(module->dwarf);
        crash_retry_done();
        elf_image_close(module->debug_image);
        elf_image_close(module->image);
        function_starts_free(&module->functions);
        free(module->starts.items);
        free(module);
    }
    free(symbols->modules.items);
    intern_table_free(symbols->keys);
    free(symbols);
}

struct symbol_module *symbols_module(struct symbols *symbols, const char *path,
                                     const uint8_t *build_id, size_t build_id_size)
{
    size_t length = strlen(path) + 1;
    struct symbol_module *module;
    const char *slash;
    uint32_t number;
    char *key;

    if (build_id_size > BUILD_ID_MAX)
        build_id_size = BUILD_ID_MAX;
    key = allocate_zeroed(length + build_id_size, 1);
    memcpy(key, path, length);
    if (build_id_size > 0)
        memcpy(key + length, build_id, build_id_size);
    number = intern_table_insert(symbols->keys, key, length + build_id_size);
    free(key);
    if (number < symbols->modules.count)
        return symbols->modules.items[number];

    module = allocate_zeroed(1, sizeof(*module));
    module->owner = symbols;
    module->path = intern_table_string(symbols->strings, path);
    slash = strrchr(module->path, '/');
    module->name = slash != NULL && slash[1] != '\0' ? slash + 1 : module->path;
    if (build_id_size > 0)
        memcpy(module->build_id, build_id, build_id_size);
    module->build_id_size = build_id_size;
    ARRAY_PUSH(&symbols->modules, module);
    return module;
}

static bool is_virtual(const char *path)
{
    return *path == '[' || strncmp(path, "linux-vdso", 10) == 0 ||
           strncmp(path, "linux-gate", 10) == 0;
}

static bool has_recorded_build_id(const struct symbol_module *module, const struct elf_image *image)
{
    return module->build_id_size == 0 ||
           (image->build_id_size == module->build_id_size &&
            memcmp(image->build_id, module->build_id, module->build_id_size) == 0);
}

static void open_dwarf(struct symbol_module *module, const struct elf_image *image)
{
    char *alternate;

    if (module->dwarf != NULL || image == NULL || !image->has_dwarf ||
        crash_retry_distrusts(module->path))
        return;
    alternate = debug_file_alternate(module->owner->search, image);
    crash_retry_reading(module->path);
    module->dwarf = dwarf_file_open(image->path, alternate, module->owner->strings);
    crash_retry_done();
    free(alternate);
}

static void open_module(struct symbol_module *module)
{
    const struct file_search *search = module->owner->search;
    char message[128], *path;
    struct stat status;

    if (module->opened)
        return;
    module->opened = true;
    if (is_virtual(module->path)) {
        module->state = MODULE_VIRTUAL;
        return;
    }
    module->state = MODULE_MISSING;
    path = file_under_sysroot(search, module->path);
    module->image = elf_image_open(path, message, sizeof(message));
    if (stat(path, &status) == 0)
        module->modified = status.st_mtime;
    free(path);
    if (module->image != NULL && !has_recorded_build_id(module, module->image)) {
        elf_image_close(module->image);
        module->image = NULL;
        module->state = MODULE_WRONG_BUILD_ID;
    }
    module->debug_image = debug_file_by_build_id(search, module->build_id, module->build_id_size);
    if (module->debug_image == NULL && module->image != NULL)
        module->debug_image =
            debug_file_by_build_id(search, module->image->build_id, module->image->build_id_size);
    if (module->debug_image == NULL && module->image != NULL && !module->image->has_dwarf)
        module->debug_image = debug_file_by_link(search, module->image, module->path);
    open_dwarf(module, module->debug_image);
    open_dwarf(module, module->image);
    if (module->dwarf != NULL)
        module->state = MODULE_DEBUG;
    else if ((module->image != NULL && module->image->has_symbol_table) ||
             (module->debug_image != NULL && module->debug_image->has_symbol_table))
        module->state = MODULE_SYMBOLS;
    else if (module->image != NULL)
        module->state = MODULE_STRIPPED;
}

enum module_state symbol_module_state(struct symbol_module *module)
{
    open_module(module);
    return module->state;
}

bool symbol_module_lacks_debug(struct symbol_module *module)
{
    enum module_state state = module != NULL ? symbol_module_state(module) : MODULE_VIRTUAL;

    return state != MODULE_DEBUG && state != MODULE_VIRTUAL;
}

const char *symbol_module_path(const struct symbol_module *module)
{
    return module->path;
}

const char *symbol_module_name(const struct symbol_module *module)
{
    return module->name;
}

int64_t symbol_module_time(struct symbol_module *module)
{
    open_module(module);
    return module->modified;
}

bool symbol_module_is_split(struct symbol_module *module)
{
    open_module(module);
    return module->dwarf != NULL && dwarf_file_split_units(module->dwarf) > 0;
}

static const char *readable(struct symbol_module *module, const char *linkage_name)
{
    char *name = demangle(linkage_name);
    const char *kept =
        intern_table_string(module->owner->strings, name != NULL ? name : linkage_name);

    free(name);
    return kept;
}

/* "mangled@plt" -> "readable@plt" */
static const char *readable_stub(struct symbol_module *module, char *stub)
{
    char *at = strchr(stub, '@'), *name;
    const char *kept;

    *at = '\0';
    name = format_string("%s@plt", readable(module, stub));
    kept = intern_table_string(module->owner->strings, name);
    free(name);
    return kept;
}

static const char *function_symbol(struct symbol_module *module, uint64_t address)
{
    const struct elf_symbol *symbol = NULL;
    const char *name = NULL;
    char *stub;

    if (module->debug_image != NULL)
        symbol =
            function_symbol_find(module->debug_image, &module->functions, module->image, address);
    if (symbol == NULL && module->image != NULL) {
        stub = elf_image_plt_name(module->image, address);
        if (stub != NULL) {
            name = readable_stub(module, stub);
            free(stub);
            return name;
        }
        symbol = function_symbol_find(module->image, &module->functions, module->image, address);
    }
    return symbol != NULL ? readable(module, symbol->name) : NULL;
}

/*
 * Compilers leave the linkage name, and with it the qualification, out of the debug information of
 * local template instances; the symbol table has it.
 */
static const char *more_qualified(const char *name, const char *symbol)
{
    size_t length = strcspn(name, "<(");
    const char *found;

    if (symbol == NULL || memmem(name, length, "::", 2) != NULL)
        return name;
    found = memmem(symbol, strlen(symbol), name, length);
    return found != NULL && found != symbol && found[-1] == ':' ? symbol : name;
}

void symbol_module_frames(struct symbol_module *module, uint64_t address, source_frames *out)
{
    size_t before = out->count;
    struct source_frame frame = {0}, *outermost;

    open_module(module);
    crash_retry_reading(module->path);
    if (module->dwarf != NULL)
        dwarf_file_frames(module->dwarf, address, out);
    crash_retry_done();
    if (out->count == before)
        ARRAY_PUSH(out, frame);
    outermost = &out->items[out->count - 1];
    if (outermost->function == NULL)
        outermost->function = function_symbol(module, address);
    else if (strchr(outermost->function, '<') != NULL)
        outermost->function = more_qualified(outermost->function, function_symbol(module, address));
}

void symbol_module_line_calls(struct symbol_module *module, uint64_t address, call_sites *out)
{
    const struct call_site *own = NULL;
    line_codes codes = {0};
    call_sites calls = {0};
    bool allocates;

    open_module(module);
    if (module->dwarf == NULL || module->image == NULL)
        return;
    crash_retry_reading(module->path);
    dwarf_file_line_code(module->dwarf, address, &codes);
    crash_retry_done();
    for (size_t i = 0; i < codes.count; i++)
        call_sites_find(module->image, codes.items[i].low, codes.items[i].high,
                        codes.items[i].column, &calls);
    free(codes.items);
    for (size_t i = 0; i < calls.count; i++)
        if (address - calls.items[i].address < calls.items[i].length)
            own = &calls.items[i];
    allocates = own != NULL && call_site_allocates(module->image, own);
    for (size_t i = 0; own != NULL && i < calls.count; i++)
        if (calls.items[i].target == own->target ||
            (allocates && call_site_allocates(module->image, &calls.items[i])))
            ARRAY_PUSH(out, calls.items[i]);
    free(calls.items);
}

bool symbol_module_function_start(struct symbol_module *module, uint64_t address, uint64_t *start)
{
    open_module(module);
    return module->image != NULL &&
           function_start_find(&module->functions, module->image, address, start);
}

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
    out->name = readable(module, symbol->name);
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

    open_module(module);
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

    open_module(module);
    if (module->dwarf == NULL)
        return DECLARED_NOWHERE;
    crash_retry_reading(module->path);
    declared = dwarf_file_declares(module->dwarf, address, frame, name);
    crash_retry_done();
    return declared;
}

struct data_type symbol_module_pointee(struct symbol_module *module, uint64_t address,
                                       const struct source_frame *frame, const char *name,
                                       bool member, unsigned subscripts)
{
    struct data_type type = {0};

    open_module(module);
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

size_t symbols_module_count(const struct symbols *symbols)
{
    return symbols->modules.count;
}

struct symbol_module *symbols_module_number(const struct symbols *symbols, size_t number)
{
    return symbols->modules.items[number];
}

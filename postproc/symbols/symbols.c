/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* memmem */
#include "symbols/symbols.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "symbols/crash_retry.h"
#include "symbols/demangle.h"
#include "symbols/symbols_internal.h"

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

void symbol_module_open(struct symbol_module *module)
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
    symbol_module_open(module);
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
    symbol_module_open(module);
    return module->modified;
}

bool symbol_module_is_split(struct symbol_module *module)
{
    symbol_module_open(module);
    return module->dwarf != NULL && dwarf_file_split_units(module->dwarf) > 0;
}

const char *symbol_module_readable(struct symbol_module *module, const char *linkage_name)
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
    name = format_string("%s@plt", symbol_module_readable(module, stub));
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
    return symbol != NULL ? symbol_module_readable(module, symbol->name) : NULL;
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

    symbol_module_open(module);
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

    symbol_module_open(module);
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
    symbol_module_open(module);
    return module->image != NULL &&
           function_start_find(&module->functions, module->image, address, start);
}

size_t symbols_module_count(const struct symbols *symbols)
{
    return symbols->modules.count;
}

struct symbol_module *symbols_module_number(const struct symbols *symbols, size_t number)
{
    return symbols->modules.items[number];
}

struct symbol_module *symbols_module_named(const struct symbols *symbols, const char *name)
{
    for (size_t i = 0; name != NULL && i < symbols->modules.count; i++)
        if (strcmp(symbol_module_name(symbols->modules.items[i]), name) == 0)
            return symbols->modules.items[i];
    return NULL;
}

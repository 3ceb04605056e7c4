/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/resolver.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "symbols/library_source.h"
#include "symbols/perf_map.h"

struct cached_module {
    struct symbol_module *module;
    uint64_t load_bias;
};

struct profile_places {
    struct cached_module *modules; /* by index in profile->modules */
    bool perf_map_loaded;
    struct perf_map perf_map;
};

struct resolver {
    const struct profile *const *profiles;
    size_t profile_count;
    const struct file_search *search;
    struct intern_table *strings;
    struct symbols *symbols;
    struct profile_places *places;
    struct intern_table *keys; /* struct code_key -> number of the location */
    ARRAY(struct location) locations;
};

struct code_key {
    struct symbol_module *module;
    uint64_t address;
};

struct resolver *resolver_create(const struct profile *const *profiles, size_t profile_count,
                                 const struct file_search *search, struct intern_table *strings)
{
    struct resolver *resolver = allocate_zeroed(1, sizeof(*resolver));

    resolver->profiles = profiles;
    resolver->profile_count = profile_count;
    resolver->search = search;
    resolver->strings = strings;
    resolver->symbols = symbols_create(search, strings);
    resolver->keys = intern_table_create();
    resolver->places = allocate_zeroed(profile_count, sizeof(*resolver->places));
    for (size_t p = 0; p < profile_count; p++)
        resolver->places[p].modules =
            allocate_zeroed(profiles[p]->modules.count, sizeof(struct cached_module));
    return resolver;
}

void resolver_free(struct resolver *resolver)
{
    if (resolver == NULL)
        return;
    for (size_t i = 0; i < resolver->locations.count; i++)
        free(resolver->locations.items[i].frames.items);
    free(resolver->locations.items);
    for (size_t p = 0; p < resolver->profile_count; p++) {
        free(resolver->places[p].modules);
        perf_map_free(&resolver->places[p].perf_map);
    }
    free(resolver->places);
    intern_table_free(resolver->keys);
    symbols_free(resolver->symbols);
    free(resolver);
}

struct symbols *resolver_symbols(struct resolver *resolver)
{
    return resolver->symbols;
}

static struct symbol_module *module_of(struct resolver *resolver, size_t profile,
                                       const struct record_module *record)
{
    const struct profile *p = resolver->profiles[profile];
    size_t low = 0, high = p->modules.count;
    struct cached_module *cached;

    /* Sorted by module_id. */
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (p->modules.items[middle]->module_id < record->module_id)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == p->modules.count)
        return NULL;
    cached = &resolver->places[profile].modules[low];
    if (cached->module == NULL)
        cached->module = symbols_module(resolver->symbols, record->path, record->build_id,
                                        record->build_id_size);
    return cached->module;
}

struct symbol_module *resolver_module(struct resolver *resolver, size_t profile, uint32_t module_id,
                                      uint64_t *load_bias)
{
    const struct record_module *record = profile_module(resolver->profiles[profile], module_id);

    if (record == NULL)
        return NULL;
    *load_bias = record->load_bias;
    return module_of(resolver, profile, record);
}

static bool is_from_run(const struct profile *profile, const char *path)
{
    uint64_t start_ns = profile_run_number(profile, "start_unix_ns", 0);
    struct stat status;

    return stat(path, &status) == 0 && (uint64_t)status.st_mtime >= start_ns / 1000000000;
}

/* Code that is in no module was made at run time; its maker may have left a map of names. */
static const char *name_of_generated(struct resolver *resolver, size_t profile, uint64_t address)
{
    struct profile_places *places = &resolver->places[profile];

    if (!places->perf_map_loaded) {
        char *file = format_string("/tmp/perf-%s.map",
                                   profile_run_text(resolver->profiles[profile], "pid", "0"));
        char *path = file_under_sysroot(resolver->search, file);

        /* Process numbers come again: an older file is another process's. */
        if (is_from_run(resolver->profiles[profile], path))
            perf_map_load(&places->perf_map, path);
        places->perf_map_loaded = true;
        free(path);
        free(file);
    }
    return perf_map_name(&places->perf_map, address);
}

static void fill_location(struct resolver *resolver, size_t profile, struct location *location)
{
    struct source_frame frame = {0};
    const char *name;

    if (location->module != NULL) {
        symbol_module_frames(location->module, location->address, &location->frames);
        return;
    }
    name = name_of_generated(resolver, profile, location->address);
    if (name != NULL)
        frame.function = intern_table_string(resolver->strings, name);
    ARRAY_PUSH(&location->frames, frame);
}

uint32_t resolver_code(struct resolver *resolver, size_t profile, uint64_t ip,
                       uint64_t monotonic_ns, bool after)
{
    uint64_t address = after && ip > 0 ? ip - 1 : ip;
    const struct record_module *record =
        profile_module_at(resolver->profiles[profile], address, monotonic_ns);
    struct location location = {.address = address};
    struct code_key key;
    uint32_t number;

    if (record != NULL) {
        location.module = module_of(resolver, profile, record);
        location.address = address - record->load_bias;
    }
    memset(&key, 0, sizeof(key));
    key.module = location.module;
    key.address = location.address;
    number = intern_table_insert(resolver->keys, &key, sizeof(key));
    if (number < resolver->locations.count)
        return number;
    fill_location(resolver, profile, &location);
    ARRAY_PUSH(&resolver->locations, location);
    return number;
}

const struct location *resolver_location(const struct resolver *resolver, uint32_t number)
{
    return &resolver->locations.items[number];
}

size_t location_own_frame(const struct location *location)
{
    size_t frame = 0;

    while (frame < location->frames.count && is_library_source(location->frames.items[frame].file))
        frame++;
    return frame;
}

const char *location_function(struct resolver *resolver, const struct location *location,
                              size_t frame)
{
    const char *function = location->frames.items[frame].function, *kept;
    uint64_t address = location->address, start;
    char *text;

    if (function != NULL)
        return function;
    if (location->module != NULL && symbol_module_function_start(location->module, address, &start))
        address = start;
    if (location->module != NULL)
        text = format_string("%s+0x%" PRIx64, symbol_module_name(location->module), address);
    else
        text = format_string("0x%" PRIx64, address);
    kept = intern_table_string(resolver->strings, text);
    free(text);
    return kept;
}

const char *place_text(struct intern_table *strings, const char *file, uint32_t line)
{
    const char *start, *kept;
    char *text;
    int parts = 0;

    if (file == NULL)
        return NULL;
    start = file + strlen(file);
    while (start > file && (start[-1] != '/' || ++parts < 2))
        start--;
    text = line != 0 ? format_string("%s:%" PRIu32, start, line) : copy_string(start);
    kept = intern_table_string(strings, text);
    free(text);
    return kept;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* See places.h. */
#include "perfdata/places.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

/* A file that a process had mapped: its addresses minus `bias` are link-time ones. */
struct loaded {
    uint32_t pid;
    const char *path;
    uint64_t bias, start, end; /* in memory, from the lowest to the highest segment */
    struct symbol_module *module;
};

struct naming {
    const struct recording *recording;
    const struct file_search *search;
    struct symbols *symbols;
    struct intern_table *strings;
    ARRAY(struct loaded) loaded;
    /* Instructions that have a name already: a program makes its accesses in few places. */
    struct intern_table *known; /* module and link-time address */
    ARRAY(struct code_place) codes;
};

const char *place_kind_name(enum place_kind kind)
{
    static const char *const names[] = {"variable", "heap",      "stack",
                                        "file",     "anonymous", "unknown"};

    return names[kind];
}

/* Where a file's segments lie: the address that belongs to an offset, and how far they reach.
 * Without the file, offsets are taken for addresses. */
static void read_segments(const struct naming *naming, const char *path, uint64_t offset,
                          uint64_t *address, uint64_t *low, uint64_t *high)
{
    char message[512], *place = file_under_sysroot(naming->search, path);
    struct elf_image *image = elf_image_open(place, message, sizeof message);
    size_t count = 0;

    *address = *low = *high = offset;
    free(place);
    if (!image)
        return;
    if (elf_getphdrnum(image->elf, &count) != 0)
        count = 0;
    *low = UINT64_MAX;
    *high = 0;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr header;
        uint64_t page;

        if (!gelf_getphdr(image->elf, (int)i, &header) || header.p_type != PT_LOAD)
            continue;
        page = header.p_align > 1 ? header.p_align - 1 : 0;
        if (header.p_vaddr < *low)
            *low = header.p_vaddr & ~page;
        if (header.p_vaddr + header.p_memsz > *high)
            *high = header.p_vaddr + header.p_memsz;
        if (offset >= (header.p_offset & ~page) && offset < header.p_offset + header.p_filesz)
            *address = header.p_vaddr - header.p_offset + offset;
    }
    if (*low > *high)
        *low = *high = offset;
    elf_image_close(image);
}

static struct loaded *load(struct naming *naming, const struct recorded_map *map)
{
    uint64_t address, low, high;
    struct loaded loaded = {.pid = map->pid, .path = map->path};

    for (size_t i = 0; i < naming->loaded.count; i++)
        if (naming->loaded.items[i].pid == map->pid &&
            strcmp(naming->loaded.items[i].path, map->path) == 0)
            return &naming->loaded.items[i];
    read_segments(naming, map->path, map->offset, &address, &low, &high);
    loaded.bias = map->start - address;
    loaded.start = loaded.bias + low;
    loaded.end = loaded.bias + high;
    if (loaded.end < map->end)
        loaded.end = map->end;
    loaded.module = symbols_module(naming->symbols, map->path, map->build_id, map->build_id_size);
    ARRAY_PUSH(&naming->loaded, loaded);
    return &naming->loaded.items[naming->loaded.count - 1];
}

/* A file of the process whose segments hold the address: memory behind its end is zeroed data. */
static struct loaded *loaded_around(struct naming *naming, uint32_t pid, uint64_t address)
{
    for (size_t i = 0; i < naming->loaded.count; i++) {
        struct loaded *loaded = &naming->loaded.items[i];

        if (loaded->pid == pid && address >= loaded->start && address < loaded->end)
            return loaded;
    }
    return NULL;
}

static bool is_file(const struct recorded_map *map)
{
    return map && map->path[0] == '/' && strncmp(map->path, "//anon", 6) != 0 &&
           strncmp(map->path, "/dev/", 5) != 0;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* ---- code ---- */

static struct code_place find_code(struct naming *naming, const struct loaded *loaded,
                                   uint64_t address)
{
    struct code_place place = {.module =
                                   intern_table_string(naming->strings, last_part(loaded->path))};
    source_frames frames = {0};

    symbol_module_frames(loaded->module, address, &frames);
    if (frames.items[0].function)
        place.function = intern_table_string(naming->strings, frames.items[0].function);
    if (frames.items[0].file && frames.items[0].line) {
        place.file = intern_table_string(naming->strings, frames.items[0].file);
        place.line = frames.items[0].line;
    }
    free(frames.items);
    return place;
}

static struct code_place name_code(struct naming *naming, const struct access_record *access)
{
    const struct recorded_map *map =
        recording_map(naming->recording, access->pid, access->ip, access->time);
    const struct loaded *loaded;
    uint64_t key[2];
    uint32_t number;

    if (!is_file(map))
        return (struct code_place){0};
    loaded = load(naming, map);
    key[0] = (uintptr_t)loaded->module;
    key[1] = access->ip - loaded->bias;
    number = intern_table_insert(naming->known, key, sizeof key);
    if (number == naming->codes.count) {
        struct code_place place = find_code(naming, loaded, key[1]);

        ARRAY_PUSH(&naming->codes, place);
    }
    return naming->codes.items[number];
}

/* ---- data ---- */

/* A query to a module's variables. */
struct query {
    uint64_t address; /* link-time */
    size_t access;
    struct symbol_module *module;
    const char *path;
};
typedef ARRAY(struct query) queries;

static int compare_queries(const void *left, const void *right)
{
    const struct query *a = left, *b = right;

    if (a->module != b->module)
        return (uintptr_t)a->module < (uintptr_t)b->module ? -1 : 1;
    return a->address < b->address ? -1 : a->address > b->address;
}

static struct data_place plain_place(struct naming *naming, const struct recorded_map *map,
                                     uint64_t address)
{
    struct data_place place = {.kind = PLACE_UNKNOWN, .name = "(not mapped as far as known)"};

    if (!map)
        return place;
    place.offset = address - map->start;
    if (strcmp(map->path, "[heap]") == 0) {
        place.kind = PLACE_HEAP;
        place.name = "[heap]";
    } else if (strncmp(map->path, "[stack", 6) == 0) {
        place.kind = PLACE_STACK;
        place.name = "[stack]";
    } else if (is_file(map)) {
        place.kind = PLACE_FILE;
        place.name = intern_table_string(naming->strings, map->path);
        place.offset += map->offset;
    } else {
        place.kind = PLACE_ANONYMOUS;
        place.name = "[anonymous]";
    }
    return place;
}

/* Variables of one module, for queries of ascending addresses. */
static void name_variables(struct naming *naming, struct data_place *places,
                           const struct query *items, size_t count)
{
    uint64_t *addresses = allocate_zeroed(count, sizeof *addresses);
    struct data_symbol *symbols = allocate_zeroed(count, sizeof *symbols);

    for (size_t i = 0; i < count; i++)
        addresses[i] = items[i].address;
    symbol_module_variables(items[0].module, addresses, count, symbols);
    for (size_t i = 0; i < count; i++) {
        struct data_place *place = &places[items[i].access];

        if (!symbols[i].name)
            continue;
        place->kind = PLACE_VARIABLE;
        place->name = intern_table_string(naming->strings, symbols[i].name);
        place->module = intern_table_string(naming->strings, last_part(items[i].path));
        place->offset = items[i].address - symbols[i].address;
    }
    free(addresses);
    free(symbols);
}

static void name_data(struct naming *naming, struct data_place *places)
{
    const struct recording *recording = naming->recording;
    queries wanted = {0};

    for (size_t i = 0; i < recording->accesses.count; i++) {
        const struct access_record *access = &recording->accesses.items[i];
        const struct recorded_map *map =
            recording_map(recording, access->pid, access->address, access->time);
        const struct loaded *loaded = is_file(map) ? load(naming, map) : NULL;

        places[i] = plain_place(naming, map, access->address);
        if (!loaded && places[i].kind != PLACE_HEAP && places[i].kind != PLACE_STACK)
            loaded = loaded_around(naming, access->pid, access->address);
        if (loaded) {
            struct query query = {access->address - loaded->bias, i, loaded->module, loaded->path};

            ARRAY_PUSH(&wanted, query);
        }
    }
    if (wanted.count > 0)
        qsort(wanted.items, wanted.count, sizeof wanted.items[0], compare_queries);
    for (size_t from = 0, to; from < wanted.count; from = to) {
        for (to = from + 1;
             to < wanted.count && wanted.items[to].module == wanted.items[from].module;)
            to++;
        name_variables(naming, places, wanted.items + from, to - from);
    }
    free(wanted.items);
}

/* All executable files first, so that zeroed data behind them is known. */
static void load_all(struct naming *naming)
{
    for (size_t i = 0; i < naming->recording->maps.count; i++)
        if (is_file(&naming->recording->maps.items[i]))
            load(naming, &naming->recording->maps.items[i]);
}

struct places *places_create(const struct recording *recording, const struct file_search *search,
                             struct symbols *symbols, struct intern_table *strings)
{
    struct places *places = allocate_zeroed(1, sizeof *places);
    struct naming naming = {.recording = recording,
                            .search = search,
                            .symbols = symbols,
                            .strings = strings,
                            .known = intern_table_create()};

    places->data = allocate_zeroed(recording->accesses.count, sizeof places->data[0]);
    places->code = allocate_zeroed(recording->accesses.count, sizeof places->code[0]);
    load_all(&naming);
    name_data(&naming, places->data);
    for (size_t i = 0; i < recording->accesses.count; i++)
        places->code[i] = name_code(&naming, &recording->accesses.items[i]);
    intern_table_free(naming.known);
    free(naming.codes.items);
    free(naming.loaded.items);
    return places;
}

void places_free(struct places *places)
{
    if (!places)
        return;
    free(places->data);
    free(places->code);
    free(places);
}

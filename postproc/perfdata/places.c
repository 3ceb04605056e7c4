/* SPDX-License-Identifier: BSD-3-Clause */
/* See places.h. */
#include "perfdata/places.h"
#include "path_name.h"

#include <stdlib.h>
#include <string.h>

struct naming {
    const struct recording *recording;
    struct loaded_files *files;
    struct intern_table *strings;
};

const char *place_kind_name(enum place_kind kind)
{
    static const char *const names[] = {"variable", "heap",      "stack",
                                        "file",     "anonymous", "unknown"};

    return names[kind];
}

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
    } else if (loaded_file_of(naming->files, map)) {
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
        place->module = intern_table_string(naming->strings, path_name(items[i].path));
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
        const struct loaded_file *loaded = loaded_file_of(naming->files, map);

        places[i] = plain_place(naming, map, access->address);
        if (!loaded && places[i].kind != PLACE_HEAP && places[i].kind != PLACE_STACK)
            loaded = loaded_file_around(naming->files, access->pid, access->address);
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

struct places *places_create(const struct recording *recording, struct loaded_files *files,
                             struct intern_table *strings)
{
    struct places *places = allocate_zeroed(1, sizeof *places);
    struct naming naming = {recording, files, strings};

    places->data = allocate_zeroed(recording->accesses.count, sizeof places->data[0]);
    places->code = allocate_zeroed(recording->accesses.count, sizeof places->code[0]);
    name_data(&naming, places->data);
    for (size_t i = 0; i < recording->accesses.count; i++) {
        const struct access_record *access = &recording->accesses.items[i];
        size_t count;

        places->code[i] = loaded_code(files, access->pid, access->ip, access->time, &count)[0];
    }
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

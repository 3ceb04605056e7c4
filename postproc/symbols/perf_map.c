/* SPDX-License-Identifier: BSD-3-Clause */
#include "symbols/perf_map.h"
#include "symbols/named_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_MAX = 1 << 28 };

static char *read_whole(const char *path)
{
    int descriptor = named_file_open_own(path, BYTES_MAX);
    FILE *stream = descriptor < 0 ? NULL : fdopen(descriptor, "r");
    size_t used = 0, capacity = 65536, got;
    char *text;

    if (stream == NULL)
        return NULL;
    text = reallocate(NULL, capacity, 1);
    while ((got = fread(text + used, 1, capacity - used - 1, stream)) > 0) {
        used += got;
        if (capacity - used < 2) {
            capacity *= 2;
            text = reallocate(text, capacity, 1);
        }
    }
    fclose(stream);
    text[used] = '\0';
    return text;
}

void perf_map_load(struct perf_map *map, const char *path)
{
    char *line, *rest;

    memset(map, 0, sizeof(*map));
    map->text = read_whole(path);
    if (map->text == NULL)
        return;
    for (line = strtok_r(map->text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        struct elf_symbol symbol = {0};
        char *end;

        symbol.address = strtoull(line, &end, 16);
        if (end == line || *end != ' ')
            continue;
        line = end;
        symbol.size = strtoull(line, &end, 16);
        if (end == line || *end != ' ')
            continue;
        symbol.name = end + 1;
        ARRAY_PUSH(&map->symbols, symbol);
    }
}

void perf_map_free(struct perf_map *map)
{
    free(map->symbols.items);
    free(map->text);
    memset(map, 0, sizeof(*map));
}

const char *perf_map_name(const struct perf_map *map, uint64_t address)
{
    for (size_t i = map->symbols.count; i > 0; i--) {
        const struct elf_symbol *symbol = &map->symbols.items[i - 1];

        if (address - symbol->address < symbol->size)
            return symbol->name;
    }
    return NULL;
}

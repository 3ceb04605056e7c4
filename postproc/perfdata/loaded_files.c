/* SPDX-License-Identifier: BSD-3-Clause */
/* See loaded_files.h. */
#include "perfdata/loaded_files.h"
#include "path_name.h"

#include <stdlib.h>
#include <string.h>

/* The places of one instruction, in `places`. */
struct code_run {
    size_t first, count;
};

struct loaded_files {
    const struct recording *recording;
    const struct file_search *search;
    struct symbols *symbols;
    struct intern_table *strings;
    ARRAY(struct loaded_file) files;
    uint32_t *of_map;           /* of each of the recording's mappings: number in `files` */
    struct intern_table *paths; /* of images */
    ARRAY(struct code_image *) images;
    /* Instructions that have a name already: a program makes its accesses in few places. */
    struct intern_table *known; /* module and link-time address */
    ARRAY(struct code_run) runs;
    ARRAY(struct code_place) places;
};

/* Not devices, nor anonymous memory. */
static bool is_mapped_file(const struct recorded_map *map)
{
    return map && map->path[0] == '/' && strncmp(map->path, "//anon", 6) != 0 &&
           strncmp(map->path, "/dev/", 5) != 0;
}

static const struct code_image *image_of(struct loaded_files *files, const char *path)
{
    uint32_t number = intern_table_insert(files->paths, path, strlen(path));

    if (number == files->images.count) {
        struct code_image *image = allocate_zeroed(1, sizeof *image);
        char *place = file_under_sysroot(files->search, path);

        code_image_open(image, place);
        free(place);
        ARRAY_PUSH(&files->images, image);
    }
    return files->images.items[number];
}

/* The number of the file of a mapping: one for all mappings of it in a process. */
static uint32_t load(struct loaded_files *files, const struct recorded_map *map)
{
    struct loaded_file loaded = {.pid = map->pid, .path = map->path};
    uint64_t address, low, high;

    for (size_t i = 0; i < files->files.count; i++)
        if (files->files.items[i].pid == map->pid &&
            strcmp(files->files.items[i].path, map->path) == 0)
            return (uint32_t)i;
    loaded.image = image_of(files, map->path);
    address = code_image_address(loaded.image, map->offset);
    loaded.bias = map->start - address;
    if (!code_image_extent(loaded.image, &low, &high))
        low = high = address;
    loaded.start = loaded.bias + low;
    loaded.end = loaded.bias + high;
    if (loaded.end < map->end)
        loaded.end = map->end;
    loaded.module = symbols_module(files->symbols, map->path, map->build_id, map->build_id_size);
    ARRAY_PUSH(&files->files, loaded);
    return (uint32_t)files->files.count - 1;
}

const struct loaded_file *loaded_file_of(const struct loaded_files *files,
                                         const struct recorded_map *map)
{
    if (!is_mapped_file(map))
        return NULL;
    return &files->files.items[files->of_map[map - files->recording->maps.items]];
}

const struct loaded_file *loaded_file_at(const struct loaded_files *files, uint32_t pid,
                                         uint64_t address, uint64_t time)
{
    return loaded_file_of(files, recording_map(files->recording, pid, address, time));
}

const struct loaded_file *loaded_file_around(const struct loaded_files *files, uint32_t pid,
                                             uint64_t address)
{
    for (size_t i = 0; i < files->files.count; i++) {
        const struct loaded_file *loaded = &files->files.items[i];

        if (loaded->pid == pid && address >= loaded->start && address < loaded->end)
            return loaded;
    }
    return NULL;
}

struct loaded_files *loaded_files_create(const struct recording *recording,
                                         const struct file_search *search, struct symbols *symbols,
                                         struct intern_table *strings)
{
    struct loaded_files *files = allocate_zeroed(1, sizeof *files);

    *files = (struct loaded_files){.recording = recording,
                                   .search = search,
                                   .symbols = symbols,
                                   .strings = strings,
                                   .paths = intern_table_create(),
                                   .known = intern_table_create()};
    files->of_map = allocate_zeroed(recording->maps.count, sizeof files->of_map[0]);
    for (size_t i = 0; i < recording->maps.count; i++)
        if (is_mapped_file(&recording->maps.items[i]))
            files->of_map[i] = load(files, &recording->maps.items[i]);
    return files;
}

void loaded_files_free(struct loaded_files *files)
{
    if (!files)
        return;
    for (size_t i = 0; i < files->images.count; i++) {
        code_image_close(files->images.items[i]);
        free(files->images.items[i]);
    }
    intern_table_free(files->paths);
    intern_table_free(files->known);
    free(files->images.items);
    free(files->files.items);
    free(files->of_map);
    free(files->runs.items);
    free(files->places.items);
    free(files);
}

static struct code_run find_code(struct loaded_files *files, const struct loaded_file *loaded,
                                 uint64_t address)
{
    struct code_run run = {.first = files->places.count};
    source_frames frames = {0};

    symbol_module_frames(loaded->module, address, &frames);
    for (size_t i = 0; i < frames.count; i++) {
        const struct source_frame *frame = &frames.items[i];
        struct code_place place = {
            .module = intern_table_string(files->strings, path_name(loaded->path))};

        if (frame->function)
            place.function = intern_table_string(files->strings, frame->function);
        if (frame->file && frame->line) {
            place.file = intern_table_string(files->strings, frame->file);
            place.line = frame->line;
        }
        ARRAY_PUSH(&files->places, place);
    }
    run.count = frames.count;
    free(frames.items);
    return run;
}

const struct code_place *loaded_code(struct loaded_files *files, uint32_t pid, uint64_t address,
                                     uint64_t time, size_t *count)
{
    static const struct code_place unknown;
    const struct loaded_file *loaded = loaded_file_at(files, pid, address, time);
    uint64_t key[2];
    uint32_t number;

    *count = 1;
    if (!loaded)
        return &unknown;
    key[0] = (uintptr_t)loaded->module;
    key[1] = address - loaded->bias;
    number = intern_table_insert(files->known, key, sizeof key);
    if (number == files->runs.count) {
        struct code_run run = find_code(files, loaded, key[1]);

        ARRAY_PUSH(&files->runs, run);
    }
    *count = files->runs.items[number].count;
    return files->places.items + files->runs.items[number].first;
}

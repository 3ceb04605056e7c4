/* SPDX-License-Identifier: BSD-3-Clause */
#include "analysis/communication/process_lines.h"

#include <stdlib.h>
#include <string.h>

#include "support/memory.h"

/* A mapping, and what tells its file. */
struct shared_place {
    const struct record_shared_mapping *mapping;
    const char *host;
    uint32_t profile;
    bool system_v;
    uint32_t file;
};

static int compare(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* Inodes of System V segments are their identifiers, which those of other files may equal. */
static int compare_files(const struct shared_place *x, const struct shared_place *y)
{
    int order = compare(x->profile, y->profile);

    order = order ? order : strcmp(x->host, y->host);
    order = order ? order : compare(x->mapping->device, y->mapping->device);
    order = order ? order : compare(x->mapping->inode, y->mapping->inode);
    return order ? order : compare(x->system_v, y->system_v);
}

static int compare_places(const void *a, const void *b)
{
    const struct shared_place *x = a, *y = b;
    int order = compare_files(x, y);

    return order ? order : compare(x->mapping->mapping_id, y->mapping->mapping_id);
}

static int compare_mappings(const void *a, const void *b)
{
    const struct shared_place *x = a, *y = b;
    int order = compare(x->profile, y->profile);

    return order ? order : compare(x->mapping->mapping_id, y->mapping->mapping_id);
}

/* All mappings, sorted by identifier, with the numbers of their files. */
static struct shared_place *list_places(const struct analysis *analysis,
                                        struct process_lines *lines, size_t *count)
{
    size_t n = 0;
    struct shared_place *places;

    for (size_t p = 0; p < analysis->profile_count; p++)
        n += analysis->profiles[p]->shared_mappings.count;
    places = allocate(n, sizeof *places);
    lines->files = allocate(n, sizeof *lines->files);
    *count = 0;
    for (size_t p = 0; p < analysis->profile_count; p++) {
        const struct profile *profile = analysis->profiles[p];

        for (size_t i = 0; i < profile->shared_mappings.count; i++) {
            const struct record_shared_mapping *mapping = profile->shared_mappings.items[i];

            places[(*count)++] = (struct shared_place){
                .mapping = mapping,
                .host = profile_origin_text(profile, mapping->origin_id, "host", ""),
                .profile = (uint32_t)p,
                .system_v = strncmp(mapping->path, "/SYSV", 5) == 0};
        }
    }
    qsort(places, n, sizeof *places, compare_places);
    for (size_t i = 0; i < n; i++) {
        const struct record_shared_mapping *mapping = places[i].mapping;
        uint64_t end = mapping->offset + (mapping->end - mapping->start);
        struct shared_file *file;

        if (i == 0 || compare_files(&places[i - 1], &places[i]) != 0)
            lines->files[lines->file_count++] = (struct shared_file){
                .profile = places[i].profile, .mapping_id = mapping->mapping_id};
        places[i].file = (uint32_t)lines->file_count - 1;
        file = &lines->files[places[i].file];
        file->bytes = end > file->bytes ? end : file->bytes;
    }
    qsort(places, n, sizeof *places, compare_mappings);
    return places;
}

static const struct shared_place *find_place(const struct shared_place *places, size_t count,
                                             uint32_t profile, uint32_t mapping_id)
{
    const struct record_shared_mapping mapping = {.mapping_id = mapping_id};
    const struct shared_place key = {.mapping = &mapping, .profile = profile};

    return bsearch(&key, places, count, sizeof key, compare_mappings);
}

/* False: its burst or mapping is not there. */
static bool describe(const struct analysis *analysis, const struct shared_place *places,
                     size_t count, uint32_t profile, uint32_t line_size,
                     const struct record_shared_use *record, struct burst_use *use)
{
    const struct shared_place *place = find_place(places, count, profile, record->mapping_id);

    if (!place || !burst_use_describe(analysis, profile, line_size, record, use))
        return false;
    use->file = place->file;
    use->weight /= record->share;
    return true;
}

static int compare_lines(const struct burst_use *x, const struct burst_use *y)
{
    int order = compare(x->profile, y->profile);

    order = order ? order : compare(x->file, y->file);
    return order ? order : compare(x->line, y->line);
}

static int compare_uses(const void *a, const void *b)
{
    const struct burst_use *x = a, *y = b;
    int order = compare_lines(x, y);

    return order ? order : burst_use_compare_times(x, y);
}

void process_lines_create(const struct analysis *analysis, uint32_t line_size,
                          struct process_lines *lines)
{
    size_t n = 0, count;
    struct shared_place *places;

    *lines = (struct process_lines){0};
    for (size_t p = 0; p < analysis->profile_count; p++)
        n += analysis->profiles[p]->shared_uses.count;
    lines->items = allocate(n, sizeof *lines->items);
    places = list_places(analysis, lines, &count);
    for (size_t p = 0; p < analysis->profile_count; p++) {
        const struct profile *profile = analysis->profiles[p];

        for (size_t i = 0; i < profile->shared_uses.count; i++)
            lines->count += describe(analysis, places, count, (uint32_t)p, line_size,
                                     &profile->shared_uses.items[i], &lines->items[lines->count]);
    }
    lines->places = places;
    lines->place_count = count;
    qsort(lines->items, lines->count, sizeof *lines->items, compare_uses);
}

void process_lines_free(struct process_lines *lines)
{
    free(lines->items);
    free(lines->files);
    free(lines->places);
    *lines = (struct process_lines){0};
}

uint32_t process_lines_file(const struct process_lines *lines, uint32_t profile,
                            uint32_t mapping_id)
{
    const struct shared_place *place =
        find_place(lines->places, lines->place_count, profile, mapping_id);

    return place ? place->file : NO_FILE;
}

size_t process_lines_end(const struct process_lines *lines, size_t first, bool *several)
{
    const struct burst_use *items = lines->items;
    size_t end = first;

    *several = false;
    for (; end < lines->count && compare_lines(&items[end], &items[first]) == 0; end++)
        *several |= items[end].process != items[first].process;
    return end;
}

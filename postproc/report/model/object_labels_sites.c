/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of blocks and mappings, from the calling context that allocated them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "path_name.h"
#include "report/model/object_labels_internal.h"
#include "report/model/try_places.h"

static const char *allocator_function(uint16_t allocator)
{
    static const char *const names[] = {
        [ALLOCATOR_MALLOC] = "malloc",
        [ALLOCATOR_CALLOC] = "calloc",
        [ALLOCATOR_REALLOC] = "realloc",
        [ALLOCATOR_MEMALIGN] = "memalign",
        [ALLOCATOR_POSIX_MEMALIGN] = "posix_memalign",
        [ALLOCATOR_ALIGNED_ALLOC] = "aligned_alloc",
        [ALLOCATOR_VALLOC] = "valloc",
        [ALLOCATOR_PVALLOC] = "pvalloc",
        [ALLOCATOR_MMAP] = "mmap",
        [ALLOCATOR_MREMAP] = "mremap",
    };

    if (allocator < sizeof(names) / sizeof(*names) && names[allocator] != NULL)
        return names[allocator];
    return "malloc";
}

/* Contexts deeper than this add nothing to the name of an object. */
enum { NAMING_FRAMES_MAX = 64 };

/* The frames of an allocation context, innermost first; every address is a return address. */
static size_t allocation_frames(struct model *model, size_t profile, uint32_t context_id,
                                uint64_t monotonic_ns, struct context_frame *frames)
{
    const struct record_context *context = profile_context(model->profiles[profile], context_id);
    size_t count = 0;

    while (context != NULL && count < NAMING_FRAMES_MAX) {
        uint32_t number = resolver_code(model->resolver, profile, context->ip, monotonic_ns, true);
        const struct location *location = resolver_location(model->resolver, number);

        for (size_t i = 0; i < location->frames.count && count < NAMING_FRAMES_MAX; i++)
            frames[count++] = (struct context_frame){.module = location->module,
                                                     .address = location->address,
                                                     .source = location->frames.items[i]};
        context = profile_context(model->profiles[profile], context->parent_id);
    }
    return count;
}

/* 1st, 2nd, 3rd, 4th, 11th, 21st */
static const char *ordinal_ending(size_t number)
{
    static const char *const endings[] = {"th", "st", "nd", "rd"};

    return number / 10 % 10 == 1 || number % 10 > 3 ? "th" : endings[number % 10];
}

/* Functions that the compiler makes of initial values have names that no source has. */
static const char *name_of_function(const struct source_frame *source)
{
    static const char made[] = "_GLOBAL__sub_I_";

    return strncmp(source->function, made, strlen(made)) == 0 && source->file != NULL
               ? path_name(source->file)
               : source->function;
}

/*
 * "function:12", "function:12 (2nd site)" of several on the line, "function (lib.so+0x12)",
 * "lib.so+0x12" or "0x12": where it was allocated.
 */
static const char *name_of_place(struct model *model, const struct context_frame *frame,
                                 const struct allocation_name *found)
{
    const struct source_frame *source = &frame->source;
    const char *module = frame->module != NULL ? symbol_module_name(frame->module) : NULL, *kept;
    char *text;

    if (source->function != NULL && source->line != 0 && found->sites > 1)
        text = format_string("%s:%" PRIu32 " (%zu%s site)", name_of_function(source), source->line,
                             found->site + 1, ordinal_ending(found->site + 1));
    else if (source->function != NULL && source->line != 0)
        text = format_string("%s:%" PRIu32, name_of_function(source), source->line);
    else if (source->function != NULL && module != NULL)
        text = format_string("%s (%s+0x%" PRIx64 ")", source->function, module, frame->address);
    else if (module != NULL)
        text = format_string("%s+0x%" PRIx64, module, frame->address);
    else
        text = format_string("0x%" PRIx64, frame->address);
    kept = intern_table_string(model->strings, text);
    free(text);
    return kept;
}

static void name_by_context(struct labelling *labelling, size_t profile,
                            const struct record_site *site, uint64_t monotonic_ns,
                            struct data_object *object)
{
    struct model *model = labelling->model;
    struct context_frame frames[NAMING_FRAMES_MAX];
    size_t count = allocation_frames(model, profile, site->context_id, monotonic_ns, frames);
    struct allocation_name found;
    const struct source_frame *source;

    if (count == 0) {
        object->name = "unknown allocation";
        return;
    }
    allocation_name_find(model->namer, frames, count, allocator_function(site->allocator), &found);
    source = &frames[found.frame].source;
    object->name =
        found.name != NULL ? found.name : name_of_place(model, &frames[found.frame], &found);
    object->function = source->function;
    object->file = source->file;
    object->line = source->line;
    if (found.name == NULL && found.sites == 0)
        object->column = source->column;
    object->owner = frames[found.frame].module;
    if (frames[found.frame].module != NULL)
        object->module = symbol_module_name(frames[found.frame].module);
    object->type = found.type;
    object->try_places = try_place(model, site->allocator, frames, count, found.frame);
    if (found.newer_source != NULL)
        intern_table_string(labelling->newer_sources, found.newer_source);
}

uint32_t object_labels_site(struct labelling *labelling, const struct object_reference *reference)
{
    struct model *model = labelling->model;
    const struct profile *profile = model->profiles[reference->profile];
    uint64_t key[2] = {reference->profile, reference->id};
    uint32_t number = intern_table_insert(labelling->sites, key, sizeof(key)), object_number;
    const struct record_site *site;
    const struct record_site_totals *totals;
    struct data_object object = {.size = reference->size};

    if (number < labelling->site_objects.count) {
        object_number = labelling->site_objects.items[number];
        if (reference->size > labelling->objects->items[object_number].size)
            labelling->objects->items[object_number].size = reference->size;
        return object_number;
    }
    site = profile_site(profile, reference->id);
    totals = profile_site_totals(profile, reference->id);
    object.kind = reference->kind == OBJECT_MAPPING ? "mapping"
                  : reference->kind == OBJECT_NAMED ? "named"
                                                    : "heap";
    if (site == NULL)
        object.name = "unknown allocation";
    else
        name_by_context(labelling, reference->profile, site, reference->monotonic_ns, &object);
    if (site != NULL && site->name[0] != '\0') {
        object.name = intern_table_string(model->strings, site->name);
        object.column = 0;
    }
    object_number = object_labels_intern(labelling, &object, site == NULL ? reference->id : 0);
    try_places_add(model, &labelling->objects->items[object_number], object.try_places);
    if (totals != NULL) {
        struct data_object *kept = &labelling->objects->items[object_number];

        if (totals->largest_bytes > kept->size)
            kept->size = totals->largest_bytes;
        kept->blocks += totals->blocks;
        kept->bytes += totals->bytes;
        kept->peak_bytes += totals->live_bytes_peak;
    }
    ARRAY_PUSH(&labelling->site_objects, object_number);
    return object_number;
}

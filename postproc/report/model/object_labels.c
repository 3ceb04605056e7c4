/* SPDX-License-Identifier: BSD-3-Clause */
/* What is one object: references to numbers and, but for blocks and globals, to names. */
#include "report/model/object_labels.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/object_labels_internal.h"
#include "report/model/runtime_code.h"

/* Strings are shared, so their addresses identify them. */
struct object_key {
    const char *name, *kind, *file, *function;
    uint64_t line, column, number;
};

uint32_t object_labels_intern(struct labelling *labelling, const struct data_object *object,
                              uint64_t distinction)
{
    struct object_key key;
    uint32_t number;

    memset(&key, 0, sizeof(key));
    key.name = object->name;
    key.kind = object->kind;
    key.file = object->file;
    key.function = object->function;
    key.line = object->line;
    key.column = object->column;
    key.number = distinction;
    number = intern_table_insert(labelling->keys, &key, sizeof(key));
    if (number == labelling->objects->count)
        ARRAY_PUSH(labelling->objects, *object);
    return number;
}

double data_object_extent(const struct data_object *object)
{
    if (object->peak_bytes > 0)
        return (double)object->peak_bytes;
    return object->bytes > object->size ? (double)object->bytes : (double)object->size;
}

double data_object_in_use(const struct model *model, const struct data_object *object)
{
    return fmin(data_object_extent(object), fmin(analysis_footprint(model->analysis),
                                                 analysis_farthest_reuse(model->analysis)));
}

static uint32_t object_of_stack(struct labelling *labelling,
                                const struct object_reference *reference)
{
    struct model *model = labelling->model;
    const struct record_thread *thread =
        profile_thread(model->profiles[reference->profile], reference->id);
    struct data_object object = {.name = "stack of an unknown thread", .kind = "stack"};
    char name[sizeof(thread->name) + 1] = {0}, *text;

    if (thread != NULL) {
        memcpy(name, thread->name, sizeof(thread->name));
        text = format_string("stack of %s (%" PRId32 ")", *name != '\0' ? name : "thread",
                             thread->tid);
        object.name = intern_table_string(model->strings, text);
        object.size = thread->stack_high - thread->stack_low;
        free(text);
    }
    return object_labels_intern(labelling, &object, reference->profile);
}

static const struct record_mapping *mapping_at(const struct profile *profile, uint64_t address)
{
    size_t i = profile_mapping_position_at(profile, address);

    return i < profile->mappings.count ? profile->mappings.items[i] : NULL;
}

/* Memory that the runtime could not attribute; a mapping may still have a name. */
static uint32_t object_of_address(struct labelling *labelling,
                                  const struct object_reference *reference)
{
    struct model *model = labelling->model;
    const struct record_mapping *mapping =
        reference->address != 0
            ? mapping_at(model->profiles[reference->profile], reference->address)
            : NULL;
    struct data_object object = {.name = "unknown memory", .kind = "unknown"};

    if (reference->kind == OBJECT_HEAP_UNTRACKED) {
        object.name = OBJECT_NAME_UNTRACKED;
        object.kind = "heap";
    } else if (mapping != NULL && mapping->path[0] != '\0') {
        object.name = intern_table_string(model->strings, mapping->path);
        object.kind = "mapping";
        object.size = mapping->end - mapping->start;
    } else if (mapping != NULL && (mapping->flags & MAPPING_ANONYMOUS) != 0) {
        object.name = "anonymous mappings";
        object.kind = "mapping";
    }
    return object_labels_intern(labelling, &object, 0);
}

/* As /proc/PID/maps has it, but for what has no name. The caller frees it. */
static char *name_of_shared_file(const struct record_shared_mapping *mapping)
{
    static const char deleted[] = " (deleted)";
    size_t length = strlen(mapping->path), end = sizeof(deleted) - 1;

    if (length > end && strcmp(mapping->path + length - end, deleted) == 0)
        length -= end;
    if (length == 9 && strncmp(mapping->path, "/dev/zero", length) == 0)
        return format_string("anonymous shared memory %" PRIu64, mapping->inode);
    if (strncmp(mapping->path, "/SYSV", 5) == 0)
        return format_string("System V segment %" PRIu64, mapping->inode);
    if (strncmp(mapping->path, "/memfd:", 7) == 0)
        return format_string("%.*s", (int)length - 1, mapping->path + 1);
    return format_string("%.*s", (int)length, mapping->path);
}

/* A file that processes have mapped; its number is the identifier of one of the mappings. */
static uint32_t object_of_shared_file(struct labelling *labelling,
                                      const struct object_reference *reference)
{
    const struct record_shared_mapping *mapping =
        profile_shared_mapping(labelling->model->profiles[reference->profile], reference->id);
    struct data_object object = {
        .name = "unknown memory", .kind = "shared mapping", .size = reference->size};

    if (mapping != NULL) {
        char *name = name_of_shared_file(mapping);

        object.name = intern_table_string(labelling->model->strings, name);
        free(name);
    }
    return object_labels_intern(labelling, &object, reference->id);
}

static uint32_t object_of(struct labelling *labelling, const struct object_reference *reference,
                          size_t observation)
{
    struct pending_global global = {.observation = observation};
    uint64_t load_bias = 0;

    switch (reference->kind) {
    case OBJECT_HEAP:
    case OBJECT_MAPPING:
    case OBJECT_NAMED:
        return object_labels_site(labelling, reference);
    case OBJECT_STACK:
        return object_of_stack(labelling, reference);
    case OBJECT_SHARED:
        return object_of_shared_file(labelling, reference);
    case OBJECT_GLOBAL:
        global.module = resolver_module(labelling->model->resolver, reference->profile,
                                        reference->id, &load_bias);
        if (global.module == NULL)
            return object_of_address(labelling, reference);
        if (runtime_code_is_profiler(symbol_module_name(global.module)))
            return GROUP_NONE;
        global.address = reference->address - load_bias;
        ARRAY_PUSH(&labelling->globals, global);
        return GROUP_NONE;
    default:
        return object_of_address(labelling, reference);
    }
}

/* Blocks of several calls on one line are named by their columns; those of a single one are not. */
static void name_by_columns(struct labelling *labelling)
{
    struct intern_table *lines = intern_table_create();
    ARRAY(size_t) counts = {0};

    for (size_t pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < labelling->objects->count; i++) {
            struct data_object *object = &labelling->objects->items[i];
            struct object_key key;
            const size_t none = 0;
            uint32_t line;
            char *text;

            if (object->column == 0)
                continue;
            memset(&key, 0, sizeof(key));
            key.kind = object->kind;
            key.file = object->file;
            key.function = object->function;
            key.line = object->line;
            line = intern_table_insert(lines, &key, sizeof(key));
            if (line == counts.count)
                ARRAY_PUSH(&counts, none);
            if (pass == 0) {
                counts.items[line]++;
            } else if (counts.items[line] > 1) {
                text = format_string("%s (column %" PRIu32 ")", object->name, object->column);
                object->name = intern_table_string(labelling->model->strings, text);
                free(text);
            }
        }
    free(counts.items);
    intern_table_free(lines);
}

static void remark_newer_sources(struct labelling *labelling)
{
    uint32_t count = intern_table_count(labelling->newer_sources);
    const char *remark;
    char *text;

    if (count == 0)
        return;
    text = format_string("%" PRIu32 " source file%s newer than the program: heap objects "
                         "allocated there are named by place, not by variable",
                         count, count == 1 ? " is" : "s are");
    remark = intern_table_string(labelling->model->strings, text);
    free(text);
    for (size_t i = 0; i < labelling->model->remarks.count; i++)
        if (labelling->model->remarks.items[i] == remark)
            return;
    ARRAY_PUSH(&labelling->model->remarks, remark);
}

void object_labels_find(struct model *model, const struct object_reference *references,
                        size_t count, data_objects *objects, uint32_t *labels, uint64_t *offsets)
{
    struct labelling labelling = {.model = model,
                                  .objects = objects,
                                  .labels = labels,
                                  .offsets = offsets,
                                  .keys = intern_table_create(),
                                  .sites = intern_table_create(),
                                  .newer_sources = intern_table_create()};

    for (size_t i = 0; i < count; i++) {
        const struct object_reference *reference = &references[i];

        labels[i] = reference->kind == OBJECT_KIND_NONE ? (uint32_t)GROUP_NONE
                                                        : object_of(&labelling, reference, i);
        if (offsets != NULL)
            offsets[i] =
                reference->base != 0 ? reference->address - reference->base : OFFSET_UNKNOWN;
    }
    object_labels_globals(&labelling);
    name_by_columns(&labelling);
    remark_newer_sources(&labelling);
    free(labelling.globals.items);
    free(labelling.site_objects.items);
    intern_table_free(labelling.newer_sources);
    intern_table_free(labelling.sites);
    intern_table_free(labelling.keys);
}

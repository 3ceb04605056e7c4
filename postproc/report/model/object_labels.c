/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/object_labels.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/try_places.h"

/* An observation of a global, waiting for the symbol of its address. */
struct pending_global {
    struct symbol_module *module;
    uint64_t address; /* link-time */
    size_t observation;
};

struct labelling {
    struct model *model;
    data_objects *objects;
    uint32_t *labels;
    uint64_t *offsets;          /* or NULL */
    struct intern_table *keys;  /* struct object_key -> number of the object */
    struct intern_table *sites; /* (profile, site) -> number in site_objects */
    ARRAY(uint32_t) site_objects;
    ARRAY(struct pending_global) globals;
    struct intern_table *newer_sources;
};

/* Strings are shared, so their addresses identify them. */
struct object_key {
    const char *name, *kind, *file, *function;
    uint64_t line, number;
};

static uint32_t intern_object(struct labelling *labelling, const struct data_object *object,
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
    key.number = distinction;
    number = intern_table_insert(labelling->keys, &key, sizeof(key));
    if (number == labelling->objects->count)
        ARRAY_PUSH(labelling->objects, *object);
    return number;
}

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

/* "function:12", "function (lib.so+0x12)", "lib.so+0x12" or "0x12": where it was allocated. */
static const char *name_of_place(struct model *model, const struct context_frame *frame)
{
    const struct source_frame *source = &frame->source;
    const char *module = frame->module != NULL ? symbol_module_name(frame->module) : NULL, *kept;
    char *text;

    if (source->function != NULL && source->line != 0)
        text = format_string("%s:%" PRIu32, source->function, source->line);
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
    object->name = found.name != NULL ? found.name : name_of_place(model, &frames[found.frame]);
    object->function = source->function;
    object->file = source->file;
    object->line = source->line;
    if (frames[found.frame].module != NULL)
        object->module = symbol_module_name(frames[found.frame].module);
    object->type = found.type;
    object->try_places = try_place(model, site->allocator, frames, count, found.frame);
    if (found.newer_source != NULL)
        intern_table_string(labelling->newer_sources, found.newer_source);
}

double data_object_extent(const struct data_object *object)
{
    if (object->peak_bytes > 0)
        return (double)object->peak_bytes;
    return object->bytes > object->size ? (double)object->bytes : (double)object->size;
}

static uint32_t object_of_site(struct labelling *labelling,
                               const struct object_reference *reference)
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
    if (site != NULL && site->name[0] != '\0')
        object.name = intern_table_string(model->strings, site->name);
    object_number = intern_object(labelling, &object, site == NULL ? reference->id : 0);
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
    return intern_object(labelling, &object, reference->profile);
}

static const struct record_mapping *mapping_at(const struct profile *profile, uint64_t address)
{
    for (size_t i = profile->mappings.count; i > 0; i--) {
        const struct record_mapping *mapping = profile->mappings.items[i - 1];

        if (address >= mapping->start && address < mapping->end)
            return mapping;
    }
    return NULL;
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
    return intern_object(labelling, &object, 0);
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
    return intern_object(labelling, &object, reference->id);
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
        return object_of_site(labelling, reference);
    case OBJECT_STACK:
        return object_of_stack(labelling, reference);
    case OBJECT_SHARED:
        return object_of_shared_file(labelling, reference);
    case OBJECT_GLOBAL:
        global.module = resolver_module(labelling->model->resolver, reference->profile,
                                        reference->id, &load_bias);
        if (global.module == NULL)
            return object_of_address(labelling, reference);
        global.address = reference->address - load_bias;
        ARRAY_PUSH(&labelling->globals, global);
        return GROUP_NONE;
    default:
        return object_of_address(labelling, reference);
    }
}

static int compare_globals(const void *left, const void *right)
{
    const struct pending_global *a = left, *b = right;

    if (a->module != b->module)
        return a->module < b->module ? -1 : 1;
    return a->address != b->address ? (a->address < b->address ? -1 : 1) : 0;
}

/* ".bss+0x1c0 of app", ".bss of app" or "data of app". The caller frees it. */
static char *name_of_nameless(const struct data_symbol *symbol, const char *module)
{
    if (symbol->section == NULL)
        return format_string("data of %s", module);
    if (symbol->address == symbol->section_start)
        return format_string("%s of %s", symbol->section, module);
    return format_string("%s+0x%" PRIx64 " of %s", symbol->section,
                         symbol->address - symbol->section_start, module);
}

static uint32_t object_of_symbol(struct labelling *labelling, struct symbol_module *module,
                                 const struct data_symbol *symbol)
{
    struct data_object object = {.kind = "global",
                                 .name = symbol->name,
                                 .size = symbol->size,
                                 .file = symbol->file,
                                 .line = symbol->line,
                                 .type = symbol->type};

    if (object.name == NULL) {
        char *text = name_of_nameless(symbol, symbol_module_name(module));

        object.name = intern_table_string(labelling->model->strings, text);
        free(text);
        return intern_object(labelling, &object, 0);
    }
    /* Two static variables may have one name. */
    return intern_object(labelling, &object, symbol->address);
}

/* All globals of one module at once: the debug information is searched once for all of them. */
static void label_globals_of_module(struct labelling *labelling,
                                    const struct pending_global *globals, size_t count)
{
    uint64_t *addresses = allocate_zeroed(count, sizeof(*addresses));
    struct data_symbol *symbols;
    size_t distinct = 0, at = 0;

    for (size_t i = 0; i < count; i++)
        if (i == 0 || globals[i].address != addresses[distinct - 1])
            addresses[distinct++] = globals[i].address;
    symbols = allocate_zeroed(distinct, sizeof(*symbols));
    symbol_module_variables(globals[0].module, addresses, distinct, symbols);
    for (size_t i = 0; i < count; i++) {
        while (addresses[at] != globals[i].address)
            at++;
        labelling->labels[globals[i].observation] =
            object_of_symbol(labelling, globals[i].module, &symbols[at]);
        if (labelling->offsets != NULL && symbols[at].name != NULL)
            labelling->offsets[globals[i].observation] = globals[i].address - symbols[at].address;
    }
    free(symbols);
    free(addresses);
}

static void label_globals(struct labelling *labelling)
{
    struct pending_global *globals = labelling->globals.items;
    size_t count = labelling->globals.count, end;

    if (count > 0)
        qsort(globals, count, sizeof(*globals), compare_globals);
    for (size_t i = 0; i < count; i = end) {
        for (end = i + 1; end < count && globals[end].module == globals[i].module; end++)
            ;
        label_globals_of_module(labelling, globals + i, end - i);
    }
}

/* Of other kinds the place of a probe is an offset. */
static bool tells_address(uint8_t kind)
{
    return kind == OBJECT_GLOBAL || kind == OBJECT_UNKNOWN;
}

/* Left without a kind if the observation tells of no object. */
static struct object_reference reference_of(const struct model *model, size_t observation)
{
    struct object_reference reference = {.kind = OBJECT_KIND_NONE};

    /* Names cost time: outside the region they are not needed. */
    if (!model->exact && model->region != NULL && model->region[observation] == GROUP_NONE)
        return reference;
    if (model->exact) {
        const struct record_histogram *histogram =
            analysis_histogram(model->analysis, observation, &reference.profile);

        if (histogram->scope != SCOPE_OBJECT || !model_splits(model) ||
            !model_counts(model, reference.profile, histogram))
            return reference;
        reference.kind = (uint8_t)(histogram->key >> 32);
        reference.id = (uint32_t)histogram->key;
        reference.address = histogram->key2;
    } else {
        const struct analysed_probe *probe =
            analysis_probe(model->analysis, observation, &reference.profile);

        reference.kind = probe->object_kind;
        reference.id = probe->object_reference;
        reference.address = tells_address(probe->object_kind) ? probe->place : 0;
        reference.monotonic_ns = analysis_probe_burst(model->analysis, observation)->monotonic_ns;
    }
    return reference;
}

/* Probes tell no sizes of blocks; the accesses that were watched, and one of each burst, do. */
struct known_sizes {
    struct intern_table *keys;
    ARRAY(uint64_t) bytes;
};

static void note_size(struct known_sizes *sizes, size_t profile, const struct record_sample *sample)
{
    uint64_t key[3] = {profile, sample->object_kind, sample->object_reference};
    uint32_t number = intern_table_insert(sizes->keys, key, sizeof(key));

    if (number == sizes->bytes.count)
        ARRAY_PUSH(&sizes->bytes, 0);
    if (sample->object_size > sizes->bytes.items[number])
        sizes->bytes.items[number] = sample->object_size;
}

static void note_sizes(const struct model *model, struct known_sizes *sizes)
{
    size_t profile;

    for (size_t i = 0; i < analysis_sample_count(model->analysis); i++) {
        const struct record_sample *sample = analysis_sample(model->analysis, i, &profile);
        note_size(sizes, profile, sample);
    }
    for (size_t i = 0; i < analysis_watch_count(model->analysis); i++) {
        const struct record_sample *sample = analysis_watch(model->analysis, i, &profile);
        note_size(sizes, profile, sample);
    }
}

static uint64_t size_of(const struct known_sizes *sizes, const struct object_reference *reference)
{
    uint64_t key[3] = {reference->profile, reference->kind, reference->id};
    uint32_t number = intern_table_find(sizes->keys, key, sizeof(key));

    return number < sizes->bytes.count ? sizes->bytes.items[number] : 0;
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
    label_globals(&labelling);
    remark_newer_sources(&labelling);
    free(labelling.globals.items);
    free(labelling.site_objects.items);
    intern_table_free(labelling.newer_sources);
    intern_table_free(labelling.sites);
    intern_table_free(labelling.keys);
}

void object_labels_assign(struct model *model)
{
    struct object_reference *references = allocate_zeroed(model->observations, sizeof(*references));
    struct known_sizes sizes = {.keys = intern_table_create()};

    if (!model->exact)
        note_sizes(model, &sizes);
    for (size_t i = 0; i < model->observations; i++) {
        references[i] = reference_of(model, i);
        if (!model->exact)
            references[i].size = size_of(&sizes, &references[i]);
    }
    free(sizes.bytes.items);
    intern_table_free(sizes.keys);
    if (!model->exact)
        model->object_offsets =
            allocate_zeroed(model->observations, sizeof(*model->object_offsets));
    object_labels_find(model, references, model->observations, &model->objects,
                       model->by_object.labels, model->object_offsets);
    for (size_t i = 0; i < model->observations && !model->exact; i++)
        if (references[i].kind != OBJECT_KIND_NONE && !tells_address(references[i].kind))
            model->object_offsets[i] = analysis_probe(model->analysis, i, NULL)->place;
    free(references);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/structs/type_uses.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/object_labels.h"

/* A member with a smaller part of the most used one's accesses in a burst is not used in the same
 * elements, by and large. */
static const double used_together_min = 0.05;
/* malloc() aligns to this; where it puts a block in a line is not told otherwise. */
enum { BLOCK_ALIGNMENT = 16 };

/* The structures that hold one place of an object, as the cache keeps them. */
struct place_levels {
    size_t count;
    uint32_t types[TYPE_LEVELS_MAX];
    struct type_level levels[TYPE_LEVELS_MAX];
};

/* What the present burst does with the structures of one type in one object. */
struct burst_use {
    uint32_t type;
    double *members; /* accesses of each */
};

struct collection {
    struct model *model;
    struct type_uses *uses;
    struct intern_table *places, *types, *references;
    ARRAY(struct place_levels) levels; /* by number in places */
    ARRAY(uint32_t) type_numbers;      /* by number in references; GROUP_NONE: no structure */
    uint64_t *sizes;                   /* of the objects' types */
    struct intern_table *pairs;        /* (type, object) */
    ARRAY(struct burst_use) in_burst;  /* by number in pairs */
    ARRAY(uint32_t) touched;           /* pairs that this burst uses */
    ARRAY(double *) of_objects;        /* of each type: accesses by object */
    struct intern_table *blocks;       /* (profile, kind, reference) */
    ARRAY(uint64_t) bases;             /* of a block of each */
    ARRAY(bool) one_phase;             /* all of them begin at the same place of a line */
};

/* --- Where blocks begin ------------------------------------------------------------------- */

static void note_base(struct collection *collection, size_t profile,
                      const struct record_sample *sample)
{
    uint64_t key[3] = {profile, sample->object_kind, sample->object_reference};
    uint64_t line = analysis_line_size(collection->model->analysis);
    uint32_t number;

    if (sample->object_base == 0)
        return;
    number = intern_table_insert(collection->blocks, key, sizeof(key));
    if (number == collection->bases.count) {
        ARRAY_PUSH(&collection->bases, sample->object_base);
        ARRAY_PUSH(&collection->one_phase, true);
    }
    collection->one_phase.items[number] &=
        sample->object_base % line == collection->bases.items[number] % line;
}

/* Single accesses, and those that were watched, tell where their blocks begin. */
static void note_bases(struct collection *collection)
{
    const struct analysis *analysis = collection->model->analysis;
    size_t profile;

    for (size_t i = 0; i < analysis_sample_count(analysis); i++) {
        const struct record_sample *sample = analysis_sample(analysis, i, &profile);

        note_base(collection, profile, sample);
    }
    for (size_t i = 0; i < analysis_watch_count(analysis); i++) {
        const struct record_sample *sample = analysis_watch(analysis, i, &profile);

        note_base(collection, profile, sample);
    }
}

static struct struct_starts starts_of(const struct collection *collection, size_t observation,
                                      uint64_t offset, const struct type_level *level)
{
    const struct model *model = collection->model;
    size_t profile;
    const struct analysed_probe *probe = analysis_probe(model->analysis, observation, &profile);
    uint64_t key[3] = {profile, probe->object_kind, probe->object_reference};
    uint32_t number = intern_table_find(collection->blocks, key, sizeof(key));
    uint64_t line = analysis_line_size(model->analysis);
    struct struct_starts starts = {.line = line, .repeat = level->repeat, .grain = BLOCK_ALIGNMENT};

    if (probe->object_kind == OBJECT_GLOBAL) {
        starts.grain = line;
        starts.phase = (probe->place - offset + level->start) % line;
    } else if (number < collection->bases.count) {
        starts.grain = collection->one_phase.items[number] ? line : BLOCK_ALIGNMENT;
        starts.phase = (collection->bases.items[number] + level->start) % line;
    } else {
        starts.phase = level->start % line;
    }
    return starts;
}

/* --- Types -------------------------------------------------------------------------------- */

static const char *name_of_type(struct model *model, const struct type_members *members,
                                uint32_t object)
{
    const char *name = members->name;
    char *text;

    if (name != NULL)
        return name;
    text = format_string("unnamed %s of %s", members->is_union ? "union" : "structure",
                         model->objects.items[object].name);
    name = intern_table_string(model->strings, text);
    free(text);
    return name;
}

static uint32_t add_type(struct collection *collection, const struct data_type *type,
                         uint32_t object)
{
    struct model *model = collection->model;
    struct used_type used = {.module = symbol_module_name(type->module), .last_burst = UINT32_MAX};
    struct {
        const char *name, *file;
        uint64_t line, size, count;
    } key;
    uint32_t number;

    if (!data_type_members(type, &used.members))
        return GROUP_NONE;
    memset(&key, 0, sizeof(key));
    key.name = used.name = name_of_type(model, &used.members, object);
    key.file = used.members.file;
    key.line = used.members.line;
    key.size = used.members.size;
    key.count = used.members.items.count;
    number = intern_table_insert(collection->types, &key, sizeof(key));
    if (number < collection->uses->types.count) {
        free(used.members.items.items);
        return number;
    }
    used.uses = allocate_zeroed(used.members.items.count, sizeof(*used.uses));
    ARRAY_PUSH(&collection->uses->types, used);
    ARRAY_PUSH(&collection->of_objects,
               allocate_zeroed(model->objects.count, sizeof(**collection->of_objects.items)));
    return number;
}

static uint32_t type_number(struct collection *collection, const struct data_type *type,
                            uint32_t object)
{
    struct {
        struct symbol_module *module;
        uint64_t offset, alternate;
    } key;
    uint32_t number;

    memset(&key, 0, sizeof(key));
    key.module = type->module;
    key.offset = type->reference.offset;
    key.alternate = type->reference.alternate;
    number = intern_table_insert(collection->references, &key, sizeof(key));
    if (number == collection->type_numbers.count)
        ARRAY_PUSH(&collection->type_numbers, add_type(collection, type, object));
    return collection->type_numbers.items[number];
}

/* The same for all elements of an object but the first, before which a count may lie; `start` of
 * the levels counts from *element, a multiple of the size. */
static const struct place_levels *levels_of(struct collection *collection, uint32_t object,
                                            uint64_t offset, uint64_t *element)
{
    const struct data_object *known = &collection->model->objects.items[object];
    uint64_t size = collection->sizes[object], key[2];
    struct place_levels found = {.count = 0};
    uint32_t number;

    *element = size > 0 && offset >= 2 * size ? offset / size * size - size : 0;
    key[0] = object;
    key[1] = offset - *element;
    number = intern_table_insert(collection->places, key, sizeof(key));
    if (number < collection->levels.count)
        return &collection->levels.items[number];
    found.count = data_type_levels(&known->type, known->size, offset, found.levels);
    for (size_t i = 0; i < found.count; i++) {
        struct data_type type = {known->type.module, found.levels[i].type};

        found.types[i] = type_number(collection, &type, object);
        found.levels[i].start -= *element;
    }
    ARRAY_PUSH(&collection->levels, found);
    return &collection->levels.items[number];
}

/* The first member that an access of this width touches; GROUP_NONE: padding. Fields of bits are
 * read with the word around them. */
static uint32_t member_at(const struct type_members *members, uint64_t offset, uint64_t width)
{
    for (uint32_t i = 0; i < members->items.count; i++) {
        const struct type_member *member = &members->items.items[i];

        if (offset >= member->offset &&
            (offset - member->offset < member->size || member->kind == MEMBER_OPEN))
            return i;
        if (offset < member->offset && member->offset < offset + width)
            return i;
    }
    return GROUP_NONE;
}

/* --- Counting ----------------------------------------------------------------------------- */

static void note_thread(struct member_use *use, uint32_t thread, bool store, double weight)
{
    struct thread_use *found = NULL;

    for (size_t i = 0; i < use->threads.count && found == NULL; i++)
        if (use->threads.items[i].thread == thread)
            found = &use->threads.items[i];
    if (found == NULL) {
        ARRAY_PUSH(&use->threads, ((struct thread_use){.thread = thread}));
        found = &use->threads.items[use->threads.count - 1];
    }
    *(store ? &found->stores : &found->loads) += weight;
}

static void note_in_burst(struct collection *collection, uint32_t type, uint32_t object,
                          uint64_t offset, const struct analysed_probe *probe, double weight)
{
    const struct type_members *members = &collection->uses->types.items[type].members;
    uint32_t key[2] = {type, object};
    uint32_t pair = intern_table_insert(collection->pairs, key, sizeof(key));

    if (pair == collection->in_burst.count)
        ARRAY_PUSH(
            &collection->in_burst,
            ((struct burst_use){type, allocate_zeroed(members->items.count, sizeof(double))}));
    /* A wide access may use several members. */
    for (size_t i = 0; i < members->items.count; i++) {
        const struct type_member *member = &members->items.items[i];

        if (member->offset < offset + probe->width &&
            (offset < member->offset + member->size || member->kind == MEMBER_OPEN))
            collection->in_burst.items[pair].members[i] += weight;
    }
    ARRAY_PUSH(&collection->touched, pair);
}

static void note_use(struct collection *collection, uint32_t type, size_t observation,
                     const struct type_level *level)
{
    struct model *model = collection->model;
    struct used_type *used = &collection->uses->types.items[type];
    const struct analysed_probe *probe = analysis_probe(model->analysis, observation, NULL);
    double weight = analysis_probe_object_weight(model->analysis, observation);
    uint32_t member = member_at(&used->members, level->offset, probe->width);
    bool store = probe->kind == ACCESS_STORE;

    used->accesses += weight;
    used->bursts += probe->burst != used->last_burst;
    used->last_burst = probe->burst;
    collection->of_objects.items[type][model->by_object.labels[observation]] += weight;
    if (member == GROUP_NONE) {
        used->padding += weight;
        return;
    }
    used->uses[member].accesses += weight;
    used->uses[member].stores += store ? weight : 0;
    note_thread(&used->uses[member], model->by_thread.labels[observation], store, weight);
    ARRAY_PUSH(&used->observations, ((struct member_observation){(uint32_t)observation, member}));
    note_in_burst(collection, type, model->by_object.labels[observation], level->offset, probe,
                  weight);
}

/* What the burst that ends here used of each type, together. */
static void end_burst(struct collection *collection)
{
    for (size_t k = 0; k < collection->touched.count; k++) {
        struct burst_use *in_burst = &collection->in_burst.items[collection->touched.items[k]];
        struct used_type *used = &collection->uses->types.items[in_burst->type];
        double *weights = in_burst->members, most = 0, sum = 0;
        size_t count = used->members.items.count;
        struct struct_use use = {0};

        for (size_t i = 0; i < count; i++) {
            most = fmax(most, weights[i]);
            sum += weights[i];
        }
        if (sum == 0)
            continue; /* it was dealt with */
        for (size_t i = 0; i < count && i < STRUCT_MEMBERS_MAX; i++)
            if (weights[i] >= used_together_min * most)
                use.members |= 1ULL << i;
        use.weight = sum;
        ARRAY_PUSH(&used->together, use);
        memset(weights, 0, count * sizeof(*weights));
    }
    collection->touched.count = 0;
}

static void add_untyped(struct type_uses *uses, struct symbol_module *owner, double accesses)
{
    struct untyped_module added = {owner, accesses};

    uses->untyped += accesses;
    if (!symbol_module_lacks_debug(owner))
        return;
    for (size_t i = 0; i < uses->without_debug.count; i++)
        if (uses->without_debug.items[i].module == owner) {
            uses->without_debug.items[i].accesses += accesses;
            return;
        }
    ARRAY_PUSH(&uses->without_debug, added);
}

static int compare_untyped(const void *left, const void *right)
{
    const struct untyped_module *a = left, *b = right;

    if (a->accesses != b->accesses)
        return a->accesses < b->accesses ? 1 : -1;
    return strcmp(symbol_module_path(a->module), symbol_module_path(b->module));
}

static void collect(struct collection *collection)
{
    struct model *model = collection->model;
    uint32_t burst = UINT32_MAX;

    for (size_t i = 0; i < model->observations; i++) {
        uint32_t object = model->by_object.labels[i];
        const struct analysed_probe *probe = analysis_probe(model->analysis, i, NULL);
        double weight = analysis_probe_object_weight(model->analysis, i);
        const struct place_levels *levels;
        uint64_t offset = model->object_offsets[i], element;

        if (object == GROUP_NONE || probe->count == 0)
            continue;
        if (probe->burst != burst)
            end_burst(collection);
        burst = probe->burst;
        collection->uses->accesses += weight;
        if (model->objects.items[object].type.module == NULL || offset == OFFSET_UNKNOWN) {
            add_untyped(collection->uses, model->objects.items[object].owner, weight);
            continue;
        }
        levels = levels_of(collection, object, offset, &element);
        for (size_t k = 0; k < levels->count; k++) {
            struct type_level level = levels->levels[k];
            uint32_t type = levels->types[k];

            if (type == GROUP_NONE)
                continue;
            level.start += element;
            if (collection->uses->types.items[type].starts.line == 0)
                collection->uses->types.items[type].starts =
                    starts_of(collection, i, offset, &level);
            note_use(collection, type, i, &level);
        }
    }
    end_burst(collection);
}

static int compare_types(const void *left, const void *right)
{
    const struct used_type *a = left, *b = right;

    return (a->accesses < b->accesses) - (a->accesses > b->accesses);
}

/* Most accesses first: a few objects each, so a plain insertion will do. */
static void list_objects(struct collection *collection)
{
    for (size_t t = 0; t < collection->uses->types.count; t++) {
        const double *accesses = collection->of_objects.items[t];
        struct used_type *used = &collection->uses->types.items[t];

        for (uint32_t object = 0; object < collection->model->objects.count; object++) {
            size_t at = used->objects.count;

            if (!(accesses[object] > 0))
                continue;
            ARRAY_PUSH(&used->objects, object);
            for (; at > 0 && accesses[used->objects.items[at - 1]] < accesses[object]; at--)
                used->objects.items[at] = used->objects.items[at - 1];
            used->objects.items[at] = object;
        }
    }
}

struct type_uses *type_uses_of(struct model *model)
{
    struct collection collection = {.model = model,
                                    .uses = allocate_zeroed(1, sizeof(struct type_uses)),
                                    .places = intern_table_create(),
                                    .types = intern_table_create(),
                                    .references = intern_table_create(),
                                    .pairs = intern_table_create(),
                                    .blocks = intern_table_create()};

    model_label_objects(model);
    model_label_threads(model);
    collection.sizes = allocate_zeroed(model->objects.count, sizeof(*collection.sizes));
    for (size_t i = 0; i < model->objects.count; i++)
        collection.sizes[i] = data_type_size(&model->objects.items[i].type);
    note_bases(&collection);
    collect(&collection);
    list_objects(&collection);
    if (collection.uses->types.count > 0)
        qsort(collection.uses->types.items, collection.uses->types.count,
              sizeof(*collection.uses->types.items), compare_types);
    if (collection.uses->without_debug.count > 0)
        qsort(collection.uses->without_debug.items, collection.uses->without_debug.count,
              sizeof(*collection.uses->without_debug.items), compare_untyped);
    for (size_t i = 0; i < collection.in_burst.count; i++)
        free(collection.in_burst.items[i].members);
    for (size_t i = 0; i < collection.of_objects.count; i++)
        free(collection.of_objects.items[i]);
    free(collection.in_burst.items);
    free(collection.of_objects.items);
    free(collection.touched.items);
    free(collection.levels.items);
    free(collection.type_numbers.items);
    free(collection.bases.items);
    free(collection.one_phase.items);
    free(collection.sizes);
    intern_table_free(collection.blocks);
    intern_table_free(collection.pairs);
    intern_table_free(collection.references);
    intern_table_free(collection.types);
    intern_table_free(collection.places);
    return collection.uses;
}

void type_uses_free(struct type_uses *uses)
{
    for (size_t t = 0; t < uses->types.count; t++) {
        struct used_type *used = &uses->types.items[t];

        for (size_t i = 0; i < used->members.items.count; i++)
            free(used->uses[i].threads.items);
        free(used->uses);
        free(used->members.items.items);
        free(used->observations.items);
        free(used->together.items);
        free(used->objects.items);
    }
    free(uses->types.items);
    free(uses->without_debug.items);
    free(uses);
}

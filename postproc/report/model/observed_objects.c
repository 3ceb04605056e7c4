/* SPDX-License-Identifier: BSD-3-Clause */
/* What each observation says about its object. Most say the same as others: objects are looked for
 * once for all of these. */
#include <stdlib.h>

#include "report/model/object_labels.h"
#include "support/intern_table.h"

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

/* Different references, in the order of the first observations that tell of them. */
struct references {
    struct intern_table *keys;
    ARRAY(struct object_reference) items;
};

/* The number of what an observation tells. */
static uint32_t insert(const struct model *model, struct references *references,
                       const struct known_sizes *sizes, size_t observation)
{
    struct object_reference reference = reference_of(model, observation);
    uint64_t key[4] = {reference.profile, reference.kind, reference.id, reference.address};
    uint32_t number = intern_table_insert(references->keys, key, sizeof(key));

    if (number < references->items.count)
        return number;
    if (!model->exact) {
        reference.size = size_of(sizes, &reference);
        reference.monotonic_ns = analysis_probe_burst(model->analysis, observation)->monotonic_ns;
    }
    ARRAY_PUSH(&references->items, reference);
    return number;
}

static uint64_t offset_of(const struct model *model, size_t observation,
                          const struct object_reference *reference, uint64_t offset)
{
    return reference->kind == OBJECT_KIND_NONE || tells_address(reference->kind)
               ? offset
               : analysis_probe(model->analysis, observation, NULL)->place;
}

void object_labels_assign(struct model *model)
{
    struct references references = {.keys = intern_table_create()};
    struct known_sizes sizes = {.keys = intern_table_create()};
    uint32_t *numbers = model->by_object.labels, *labels;
    uint64_t *offsets;
    size_t count;

    if (!model->exact)
        note_sizes(model, &sizes);
    for (size_t i = 0; i < model->observations; i++)
        numbers[i] = insert(model, &references, &sizes, i);
    free(sizes.bytes.items);
    intern_table_free(sizes.keys);
    intern_table_free(references.keys);
    count = references.items.count;
    labels = allocate(count + 1, sizeof(*labels));
    offsets = allocate(count + 1, sizeof(*offsets));
    object_labels_find(model, references.items.items, count, &model->objects, labels, offsets);
    if (!model->exact)
        model->object_offsets = allocate(model->observations + 1, sizeof(*model->object_offsets));
    for (size_t i = 0; i < model->observations; i++) {
        if (!model->exact)
            model->object_offsets[i] =
                offset_of(model, i, &references.items.items[numbers[i]], offsets[numbers[i]]);
        model->by_object.labels[i] = labels[numbers[i]];
    }
    free(offsets);
    free(labels);
    free(references.items.items);
}

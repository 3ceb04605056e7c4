/* SPDX-License-Identifier: BSD-3-Clause */
/* Which data object each observation of a model touched: probes, or histograms of objects. */
#include <stdlib.h>

#include "report/model/object_labels.h"

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

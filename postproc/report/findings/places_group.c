/* SPDX-License-Identifier: BSD-3-Clause */
/* Observations by line and object. */
#include <stdlib.h>

#include "report/findings/findings.h"
#include "report/findings/places_internal.h"
#include "report/model/address_steps.h"

static void note_access(struct search *search, size_t observation, uint32_t group)
{
    struct candidate *candidate = &search->candidates.items[group];
    double weight;

    if (search->model->exact) {
        const struct record_histogram *histogram =
            analysis_histogram(search->model->analysis, observation, NULL);

        if (histogram->measure == MEASURE_STACK_DISTANCE)
            candidate->accesses += (double)histogram->accesses;
        return;
    }
    const struct analysed_probe *probe = analysis_probe(search->model->analysis, observation, NULL);

    weight = analysis_probe_weight(search->model->analysis, observation);
    candidate->accesses += weight;
    candidate->width_sum += weight * probe->width;
    candidate->sampled_sum +=
        probe->tracked_log2 > 0 || probe->object_kind == OBJECT_HEAP_UNTRACKED ? weight : 0;
    candidate->crowded_sum +=
        weight * address_steps_crowded(address_steps_of(search->model, observation));
    candidate->load_sum += probe->kind == ACCESS_LOAD ? weight : 0;
    if (probe->late)
        search->late.labels[observation] = group;
}

static bool grows_there(const struct model *model, size_t observation)
{
    uint32_t context = model->by_context.labels[observation];

    return context != GROUP_NONE && is_growing_context(&model->contexts.items[context]);
}

void places_group(struct search *search)
{
    struct model *model = search->model;
    struct intern_table *keys = intern_table_create();

    model_label_lines(model);
    if (!model->exact)
        model_label_objects(model);
    if (search->grows)
        model_label_contexts(model);
    search->all.labels = allocate_zeroed(model->observations, sizeof(uint32_t));
    search->late.labels = allocate_zeroed(model->observations, sizeof(uint32_t));
    for (size_t i = 0; i < model->observations; i++) {
        bool growing = search->grows && grows_there(model, i);
        uint32_t key[3] = {model->by_line.labels[i],
                           model->exact ? (uint32_t)GROUP_NONE : model->by_object.labels[i],
                           growing};
        uint32_t group;

        search->all.labels[i] = search->late.labels[i] = GROUP_NONE;
        if (key[0] == GROUP_NONE)
            continue;
        group = intern_table_insert(keys, key, sizeof(key));
        if (group == search->candidates.count)
            ARRAY_PUSH(&search->candidates, ((struct candidate){.line = key[0],
                                                                .object = key[1],
                                                                .growing = growing,
                                                                .pass = GROUP_NONE,
                                                                .indexes = GROUP_NONE}));
        search->all.labels[i] = group;
        note_access(search, i, group);
    }
    intern_table_free(keys);
    search->all.count = search->late.count = search->candidates.count;
    search->late.accesses = allocate_zeroed(search->candidates.count, sizeof(double));
    if (!model->exact) {
        grouping_list_members(&search->all, model->observations);
        grouping_list_members(&search->late, model->observations);
        search->loading = loading_code_of(model);
    }
}

void places_free_groups(struct search *search)
{
    loading_code_free(search->loading);
    grouping_free(&search->all);
    grouping_free(&search->late);
    free(search->candidates.items);
}

static void list_again(struct grouping *grouping, size_t count, size_t observations)
{
    free(grouping->members);
    free(grouping->first);
    grouping->count = count;
    grouping_list_members(grouping, observations);
}

static void take_in(struct candidate *rest, const struct candidate *one)
{
    rest->accesses += one->accesses;
    rest->width_sum += one->width_sum;
    rest->load_sum += one->load_sum;
    rest->crowded_sum += one->crowded_sum;
    rest->sampled_sum += one->sampled_sum;
    rest->lines++;
}

/* The line of the most accesses stands for all of them. */
static uint32_t *rest_of_objects(struct search *search, const bool *marked)
{
    size_t count = search->candidates.count;
    uint32_t *rest = allocate_zeroed(search->model->objects.count + 1, sizeof(*rest));
    double *most = allocate_zeroed(search->model->objects.count + 1, sizeof(*most));

    for (size_t o = 0; o < search->model->objects.count; o++)
        rest[o] = GROUP_NONE;
    for (size_t g = 0; g < count; g++) {
        struct candidate one = search->candidates.items[g];

        if (marked[g] || one.object == GROUP_NONE || one.growing)
            continue;
        if (rest[one.object] == GROUP_NONE) {
            rest[one.object] = (uint32_t)search->candidates.count;
            ARRAY_PUSH(&search->candidates, ((struct candidate){.line = one.line,
                                                                .object = one.object,
                                                                .pass = GROUP_NONE,
                                                                .indexes = GROUP_NONE}));
        }
        take_in(&search->candidates.items[rest[one.object]], &one);
        if (one.accesses > most[one.object]) {
            most[one.object] = one.accesses;
            search->candidates.items[rest[one.object]].line = one.line;
        }
    }
    free(most);
    return rest;
}

void places_merge_rest(struct search *search, const bool *marked)
{
    size_t count = search->candidates.count;
    uint32_t *rest = rest_of_objects(search, marked);

    for (size_t i = 0; i < search->model->observations; i++) {
        uint32_t group = search->all.labels[i];

        if (group == GROUP_NONE || group >= count || marked[group] ||
            search->candidates.items[group].object == GROUP_NONE ||
            search->candidates.items[group].growing)
            continue;
        search->all.labels[i] = rest[search->candidates.items[group].object];
        if (search->late.labels[i] != GROUP_NONE)
            search->late.labels[i] = search->all.labels[i];
    }
    list_again(&search->all, search->candidates.count, search->model->observations);
    list_again(&search->late, search->candidates.count, search->model->observations);
    free(search->late.accesses);
    search->late.accesses = allocate_zeroed(search->candidates.count, sizeof(double));
    free(rest);
}

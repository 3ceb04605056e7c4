/* SPDX-License-Identifier: BSD-3-Clause */
/* See sector_structures.h. */
#include "report/sectors/sector_structures.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "profile/histogram_bin.h"
#include "support/descending.h"

enum { STRUCTURES_MAX = 20 /* candidates; the others are never isolated */ };

/* Structures with a smaller part of all late uses are not worth a sector. */
#define STRUCTURE_MIN 0.001

/* Names that C reserves for the implementation (C11 7.1.3): nobody writes directives for those. */
static bool is_reserved(const struct data_object *object)
{
    const char *name = object->name;

    return name[0] == '_' && (name[1] == '_' || isupper((unsigned char)name[1]) ||
                              strcmp(object->kind, "global") == 0);
}

static bool can_be_isolated(const struct data_object *object)
{
    static const char *const kinds[] = {"heap", "global", "mapping", "named"};

    if (is_reserved(object))
        return false;
    if (strchr(object->name, ' ') != NULL) /* no variable, but a description of memory */
        return false;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (strcmp(object->kind, kinds[i]) == 0)
            return true;
    return false;
}

double sector_late_uses(const struct model *model, size_t observation)
{
    const struct record_histogram *histogram;
    double late;

    if (!model->exact) {
        const struct analysed_probe *probe = analysis_probe(model->analysis, observation, NULL);

        return probe->open == 0 ? 0
                                : analysis_probe_weight(model->analysis, observation) *
                                      probe->open / probe->count;
    }
    histogram = analysis_histogram(model->analysis, observation, NULL);
    if (histogram->measure != MEASURE_STACK_DISTANCE)
        return 0;
    late = (double)histogram->cold;
    for (uint32_t i = 0; i < histogram->bin_count; i++)
        if (histogram_bin_low(histogram->bins[i].bin) >= 64)
            late += (double)histogram->bins[i].count;
    return late;
}

/* Whether an observation is uses of an object, each of them once. */
static bool counts_object(const struct model *model, size_t observation)
{
    return !model->exact ||
           analysis_histogram(model->analysis, observation, NULL)->scope == SCOPE_OBJECT;
}

void sector_structures_choose(struct sector_hints *hints)
{
    struct model *model = hints->model;
    const uint32_t *labels = model->by_object.labels;
    struct valued *objects = allocate_zeroed(model->objects.count, sizeof(*objects));
    double all = 0;

    hints->structures = allocate_zeroed(STRUCTURES_MAX, sizeof(*hints->structures));
    for (uint32_t i = 0; i < model->objects.count; i++)
        objects[i].number = i;
    for (size_t i = 0; i < model->observations; i++) {
        if (labels[i] == GROUP_NONE)
            continue;
        double late = sector_late_uses(model, i);
        objects[labels[i]].value += late;
        all += late;
    }
    sort_descending(objects, model->objects.count);
    for (size_t i = 0; i < model->objects.count && hints->structure_count < STRUCTURES_MAX; i++)
        if (objects[i].value > STRUCTURE_MIN * all &&
            can_be_isolated(&model->objects.items[objects[i].number]))
            hints->structures[hints->structure_count++] = objects[i].number;
    free(objects);
}

/* The object that a histogram of a divided cache or of a region is about. */
static uint32_t object_of_histogram(const struct model *model, size_t observation)
{
    size_t profile, other;
    const struct record_histogram *wanted =
        analysis_histogram(model->analysis, observation, &profile);

    if (wanted->scope != SCOPE_OBJECT && wanted->scope != SCOPE_PARTITION &&
        wanted->scope != SCOPE_PARTITION_REST)
        return GROUP_NONE;
    uint64_t key = wanted->key & ((UINT64_C(1) << HISTOGRAM_GROUP_SHIFT) - 1);
    for (size_t i = 0; i < model->observations; i++) {
        const struct record_histogram *histogram = analysis_histogram(model->analysis, i, &other);
        if (other == profile && histogram->scope == SCOPE_OBJECT &&
            model->by_object.labels[i] != GROUP_NONE && histogram->key == key &&
            histogram->key2 == wanted->key2)
            return model->by_object.labels[i];
    }
    return GROUP_NONE;
}

void sector_structures_label(struct sector_hints *hints)
{
    struct model *model = hints->model;

    hints->structure_of = allocate_zeroed(model->observations, sizeof(*hints->structure_of));
    for (size_t i = 0; i < model->observations; i++) {
        uint32_t object = model->exact ? object_of_histogram(model, i) : model->by_object.labels[i];

        hints->structure_of[i] = SECTOR_NO_STRUCTURE;
        for (uint32_t s = 0; s < hints->structure_count; s++)
            if (hints->structures[s] == object)
                hints->structure_of[i] = s;
    }
}

void sector_structures_of_regions(const struct sector_hints *hints, uint64_t *eligible)
{
    size_t regions = hints->regions.count, structures = hints->structure_count;
    double *late = allocate_zeroed(regions * (structures + 1), sizeof(*late));

    for (size_t i = 0; i < hints->model->observations; i++) {
        double uses = hints->structure_of[i] < structures && counts_object(hints->model, i)
                          ? sector_late_uses(hints->model, i)
                          : 0;
        for (size_t r = 0; r < regions && uses > 0; r++) {
            if (!(hints->regions.of[i] >> r & 1))
                continue;
            late[r * (structures + 1) + hints->structure_of[i]] += uses;
            late[r * (structures + 1) + structures] += uses;
        }
    }
    for (size_t r = 0; r < regions; r++) {
        const double *of = &late[r * (structures + 1)];

        eligible[r] = 0;
        for (size_t s = 0; s < structures; s++)
            if (of[s] > STRUCTURE_MIN * of[structures])
                eligible[r] |= UINT64_C(1) << s;
    }
    free(late);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/shared_caches.h"

#include <stdlib.h>
#include <string.h>

#include "report/placement/cpu_groups.h"

static size_t count_threads(const struct model *model)
{
    size_t most = 0;

    for (size_t p = 0; p < model->profile_count; p++)
        if (model->profiles[p]->threads.count > most)
            most = model->profiles[p]->threads.count;
    return most;
}

static bool is_simulated(const struct model *model)
{
    return strcmp(profile_run_text(model->profiles[0], "engine", ""), "simulate") == 0;
}

static void choose_groups(const struct model *model, size_t level, struct shared_cache *out)
{
    const struct machine_cache *cache = &model->machine.caches[level];
    const char *host = profile_run_text(model->profiles[0], "host", NULL);

    if (model->exact || is_simulated(model)) {
        out->basis = GROUPS_ONE;
        cpu_groups_by_number(0, &out->groups);
    } else if (model->options->group != NULL) {
        out->basis = GROUPS_GIVEN;
        cpu_groups_parse(model->options->group, &out->groups);
    } else if (model->options->machine == NULL && !model->machine_assumed &&
               cpu_groups_of_level(host, cache->level, &out->groups)) {
        out->basis = GROUPS_TOPOLOGY;
    } else {
        out->basis = GROUPS_BY_NUMBER;
        cpu_groups_by_number(cache->sharing_cpus, &out->groups);
    }
}

static bool same_groups(const struct cache_groups *a, const struct cache_groups *b)
{
    return a->cpus == b->cpus && memcmp(a->of_cpu, b->of_cpu, a->cpus * sizeof(*a->of_cpu)) == 0;
}

static void evaluate_truth(struct model *model, struct shared_cache *shared)
{
    struct analysis_options options = model->asked;
    char message[256];
    struct analysis *truth;

    if (model->exact || shared->group_count != 1 || model->region != NULL ||
        !analysis_has_source(model->profiles, model->profile_count, SOURCE_COUNTS))
        return;
    options.source = SOURCE_COUNTS;
    options.line_size = analysis_line_size(model->analysis);
    options.groups = &shared->groups;
    truth =
        analysis_create(model->profiles, model->profile_count, &options, message, sizeof(message));
    if (truth == NULL)
        return;
    shared->has_truth = true;
    model_evaluate_curve(model, truth, (struct subset){0}, shared->true_whole,
                         shared->true_octaves);
    analysis_compare(shared->analysis, truth, &shared->comparison);
    analysis_free(truth);
}

/* False: the profile cannot tell. */
static bool evaluate(struct model *model, struct shared_cache *shared)
{
    struct analysis_options options = model->asked;
    struct subset whole = model_whole(model);
    char message[256];

    options.groups = &shared->groups;
    shared->analysis =
        analysis_create(model->profiles, model->profile_count, &options, message, sizeof(message));
    if (shared->analysis == NULL)
        return false;
    shared->exact = analysis_is_exact(shared->analysis);
    shared->group_count = analysis_group_count(shared->analysis);
    model_evaluate_curve(model, shared->analysis, whole, shared->whole, shared->octaves);
    model_evaluate_levels(model, shared->analysis, shared->first_level, shared->levels,
                          shared->misses);
    evaluate_truth(model, shared);
    return true;
}

/* Takes over `shared` as one more, or frees it where nothing can be told. */
static void add(struct model *model, struct shared_cache *shared)
{
    if (evaluate(model, shared))
        ARRAY_PUSH(&model->shared, *shared);
    else
        free((void *)shared->groups.of_cpu);
}

static void find_levels(struct model *model)
{
    struct shared_cache shared = {0}, next;

    for (size_t i = 0; i < model->machine.levels; i++) {
        if (model->machine.caches[i].sharing_cpus == 1)
            continue;
        next = (struct shared_cache){.first_level = i, .levels = 1};
        choose_groups(model, i, &next);
        if (shared.levels > 0 && shared.first_level + shared.levels == i &&
            same_groups(&shared.groups, &next.groups)) {
            shared.levels++;
            free((void *)next.groups.of_cpu);
            continue;
        }
        if (shared.levels > 0)
            add(model, &shared);
        shared = next;
    }
    if (shared.levels == 0 && model->options->group == NULL)
        return;
    if (shared.levels == 0)
        choose_groups(model, 0, &shared);
    add(model, &shared);
}

const struct shared_cache *shared_caches(struct model *model, size_t *count)
{
    /* Of a region or one thread an exact profile does not know what it did to a shared cache. */
    bool known = model->options->thread == 0 && (!model->exact || model->region == NULL);

    if (!model->shared_done && known && count_threads(model) > 1)
        find_levels(model);
    model->shared_done = true;
    *count = model->shared.count;
    return model->shared.items;
}

void shared_caches_free(struct shared_cache *shared, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        analysis_free(shared[i].analysis);
        free((void *)shared[i].groups.of_cpu);
    }
    free(shared);
}

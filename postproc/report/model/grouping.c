/* SPDX-License-Identifier: BSD-3-Clause */
/* Which source line, calling context and thread each observation belongs to. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/model.h"
#include "report/model/object_labels.h"

static void start_grouping(const struct model *model, struct grouping *grouping)
{
    grouping->labels = allocate_zeroed(model->observations, sizeof(*grouping->labels));
    for (size_t i = 0; i < model->observations; i++)
        grouping->labels[i] = GROUP_NONE;
}

void grouping_list_members(struct grouping *grouping, size_t observations)
{
    size_t *next = allocate_zeroed(grouping->count + 2, sizeof(*next));

    /* One place ahead: filling in moves each to where the next group begins. */
    for (size_t i = 0; i < observations; i++)
        if (grouping->labels[i] != GROUP_NONE)
            next[grouping->labels[i] + 2]++;
    for (size_t g = 0; g < grouping->count; g++)
        next[g + 2] += next[g + 1];
    grouping->first = next;
    grouping->members = allocate_zeroed(next[grouping->count + 1], sizeof(*grouping->members));
    for (size_t i = 0; i < observations; i++)
        if (grouping->labels[i] != GROUP_NONE)
            grouping->members[next[grouping->labels[i] + 1]++] = (uint32_t)i;
}

struct subset grouping_subset(const struct grouping *grouping, uint32_t group)
{
    struct subset subset = {
        .groups = grouping->labels, .group = group, .objects = grouping->objects};

    if (grouping->members != NULL) {
        subset.members = grouping->members + grouping->first[group];
        subset.member_count = grouping->first[group + 1] - grouping->first[group];
    }
    return subset;
}

void grouping_count_bursts(const struct model *model, struct grouping *grouping)
{
    uint32_t *last = allocate_zeroed(grouping->count, sizeof(*last)); /* burst of the group, + 1 */

    grouping->bursts = allocate_zeroed(grouping->count, sizeof(*grouping->bursts));
    for (size_t i = 0; !model->exact && i < model->observations; i++) {
        const struct analysed_probe *probe = analysis_probe(model->analysis, i, NULL);
        uint32_t label = grouping->labels[i];

        if (label == GROUP_NONE || probe->count == 0 || last[label] == probe->burst + 1)
            continue;
        last[label] = probe->burst + 1;
        grouping->bursts[label]++;
    }
    free(last);
}

/* Adds up what each group holds; observations outside the region leave their group. */
static void finish_grouping(struct model *model, struct grouping *grouping, size_t count)
{
    grouping->count = count;
    grouping->accesses = allocate_zeroed(count, sizeof(*grouping->accesses));
    for (size_t i = 0; i < model->observations; i++) {
        uint32_t label = grouping->labels[i];

        if (label == GROUP_NONE)
            continue;
        if (model->exact) {
            const struct record_histogram *histogram = analysis_histogram(model->analysis, i, NULL);

            if (histogram->measure == MEASURE_STACK_DISTANCE)
                grouping->accesses[label] += (double)histogram->accesses;
        } else if (model->region != NULL && model->region[i] == GROUP_NONE) {
            grouping->labels[i] = GROUP_NONE;
        } else {
            grouping->accesses[label] += grouping->objects
                                             ? analysis_probe_object_weight(model->analysis, i)
                                             : analysis_probe_weight(model->analysis, i);
        }
    }
    grouping_count_bursts(model, grouping);
    if (!model->exact)
        grouping_list_members(grouping, model->observations);
}

struct code_line model_line_of_frame(struct model *model, const struct location *location,
                                     size_t frame)
{
    const struct source_frame *source = &location->frames.items[frame];
    struct code_line line = {.function = location_function(model->resolver, location, frame)};

    if (source->file != NULL && source->line != 0) {
        line.file = source->file;
        line.line = source->line;
    }
    if (location->module != NULL)
        line.module = symbol_module_name(location->module);
    return line;
}

/* Strings are shared, so their addresses identify them. */
struct line_key {
    const char *function, *file, *module;
    uint64_t line;
};

static struct line_key key_of_line(const struct code_line *line)
{
    struct line_key key;

    memset(&key, 0, sizeof(key));
    key.function = line->function;
    key.file = line->file;
    key.module = line->file == NULL ? line->module : NULL;
    key.line = line->line;
    return key;
}

struct code_line model_own_line(struct model *model, size_t profile, uint64_t ip,
                                uint32_t context_id, uint64_t monotonic_ns)
{
    uint32_t number = resolver_code(model->resolver, profile, ip, monotonic_ns, false);
    size_t frame = location_own_frame(resolver_location(model->resolver, number));
    const struct record_context *context = profile_context(model->profiles[profile], context_id);

    if (frame < resolver_location(model->resolver, number)->frames.count)
        return model_line_of_frame(model, resolver_location(model->resolver, number), frame);
    while (context != NULL &&
           (context = profile_context(model->profiles[profile], context->parent_id)) != NULL) {
        uint32_t caller = resolver_code(model->resolver, profile, context->ip, monotonic_ns, true);

        frame = location_own_frame(resolver_location(model->resolver, caller));
        if (frame < resolver_location(model->resolver, caller)->frames.count)
            return model_line_of_frame(model, resolver_location(model->resolver, caller), frame);
    }
    return model_line_of_frame(model, resolver_location(model->resolver, number), 0);
}

/* What decides the line of an observation. */
struct access_key {
    uint64_t profile, ip, context;
};

static bool access_of(const struct model *model, size_t observation, struct access_key *key,
                      uint64_t *monotonic_ns)
{
    size_t profile;

    memset(key, 0, sizeof(*key));
    *monotonic_ns = 0;
    if (model->exact) {
        const struct record_histogram *histogram =
            analysis_histogram(model->analysis, observation, &profile);

        if (histogram->scope != SCOPE_LINE || !model_splits(model) ||
            !model_counts(model, profile, histogram))
            return false;
        key->ip = histogram->key;
    } else {
        const struct analysed_probe *probe = analysis_probe(model->analysis, observation, &profile);

        key->ip = probe->ip;
        key->context = probe->context_id;
        *monotonic_ns = analysis_probe_burst(model->analysis, observation)->monotonic_ns;
    }
    key->profile = profile;
    return true;
}

void model_label_lines(struct model *model)
{
    struct intern_table *keys, *seen;
    ARRAY(uint32_t) lines = {0}; /* by the number of the access */

    if (model->by_line.labels != NULL)
        return;
    keys = intern_table_create();
    seen = intern_table_create();
    start_grouping(model, &model->by_line);
    for (size_t i = 0; i < model->observations; i++) {
        struct access_key access;
        uint64_t monotonic_ns;
        uint32_t number;

        if (!access_of(model, i, &access, &monotonic_ns))
            continue;
        number = intern_table_insert(seen, &access, sizeof(access));
        if (number == lines.count) {
            /* 0: where the exact engine puts instructions that hardly count */
            struct code_line line = access.ip != 0
                                        ? model_own_line(model, access.profile, access.ip,
                                                         (uint32_t)access.context, monotonic_ns)
                                        : (struct code_line){.function = "other instructions"};
            struct line_key key = key_of_line(&line);
            uint32_t line_number = intern_table_insert(keys, &key, sizeof(key));

            if (line_number == model->lines.count)
                ARRAY_PUSH(&model->lines, line);
            ARRAY_PUSH(&lines, line_number);
        }
        model->by_line.labels[i] = lines.items[number];
    }
    free(lines.items);
    intern_table_free(seen);
    intern_table_free(keys);
    finish_grouping(model, &model->by_line, model->lines.count);
}

struct calling_context model_resolve_context(struct model *model, size_t profile,
                                             uint32_t context_id, uint64_t ip,
                                             uint64_t monotonic_ns)
{
    ARRAY(struct code_line) frames = {0};
    const struct record_context *context = profile_context(model->profiles[profile], context_id);
    bool leaf = true;

    /* A context that could not be taken: the instruction itself is known. */
    if (context == NULL) {
        uint32_t number = resolver_code(model->resolver, profile, ip, monotonic_ns, false);
        struct code_line line =
            model_line_of_frame(model, resolver_location(model->resolver, number), 0);

        ARRAY_PUSH(&frames, line);
    }
    while (context != NULL) {
        uint32_t number = resolver_code(model->resolver, profile, context->ip, monotonic_ns, !leaf);

        for (size_t i = 0; i < resolver_location(model->resolver, number)->frames.count; i++) {
            struct code_line line =
                model_line_of_frame(model, resolver_location(model->resolver, number), i);

            ARRAY_PUSH(&frames, line);
        }
        context = profile_context(model->profiles[profile], context->parent_id);
        leaf = false;
    }
    return (struct calling_context){.frames = frames.items, .count = frames.count};
}

/* Number of the context in model->contexts; equal ones, from whatever profile, have one number. */
static uint32_t intern_context(struct model *model, struct intern_table *keys,
                               struct calling_context context)
{
    struct line_key *key = allocate_zeroed(context.count, sizeof(*key));
    uint32_t number;

    for (size_t i = 0; i < context.count; i++)
        key[i] = key_of_line(&context.frames[i]);
    number = intern_table_insert(keys, key, context.count * sizeof(*key));
    free(key);
    if (number == model->contexts.count)
        ARRAY_PUSH(&model->contexts, context);
    else
        free(context.frames);
    return number;
}

void model_label_contexts(struct model *model)
{
    struct intern_table *keys, *seen;
    ARRAY(uint32_t) numbers = {0};

    if (model->by_context.labels != NULL)
        return;
    keys = intern_table_create();
    seen = intern_table_create();
    start_grouping(model, &model->by_context);
    for (size_t i = 0; !model->exact && i < model->observations; i++) {
        struct {
            uint64_t profile, context, ip;
        } key = {0};
        size_t profile;
        const struct analysed_probe *probe = analysis_probe(model->analysis, i, &profile);
        uint64_t monotonic_ns = analysis_probe_burst(model->analysis, i)->monotonic_ns;
        uint32_t number;

        key.profile = profile;
        key.context = probe->context_id;
        key.ip = probe->context_id == 0 ? probe->ip : 0;
        number = intern_table_insert(seen, &key, sizeof(key));
        if (number == numbers.count)
            ARRAY_PUSH(&numbers,
                       intern_context(model, keys,
                                      model_resolve_context(model, profile, probe->context_id,
                                                            probe->ip, monotonic_ns)));
        model->by_context.labels[i] = numbers.items[number];
    }
    free(numbers.items);
    intern_table_free(seen);
    intern_table_free(keys);
    finish_grouping(model, &model->by_context, model->contexts.count);
}

static uint64_t cpu_time_of(const struct profile *profile, uint32_t thread_id)
{
    const struct record_totals *totals = profile_thread_totals(profile, thread_id);
    uint64_t time = totals != NULL && !profile_counts_accesses(profile) ? totals->app_ns : 0;

    for (size_t i = 0; i < profile->thread_ends.count; i++)
        if (profile->thread_ends.items[i].thread_id == thread_id &&
            profile->thread_ends.items[i].app_ns > time)
            time = profile->thread_ends.items[i].app_ns;
    return time;
}

static void list_threads(struct model *model)
{
    for (size_t p = 0; p < model->profile_count; p++) {
        for (size_t i = 0; i < model->profiles[p]->threads.count; i++) {
            const struct record_thread *thread = &model->profiles[p]->threads.items[i];
            struct thread_entry entry = {.profile = p,
                                         .thread_id = thread->thread_id,
                                         .tid = thread->tid,
                                         .cpu_ns =
                                             cpu_time_of(model->profiles[p], thread->thread_id)};
            char name[sizeof(thread->name) + 1] = {0};

            if (model->options->thread != 0 && thread->tid != model->options->thread)
                continue;
            memcpy(name, thread->name, sizeof(thread->name));
            entry.name = intern_table_string(model->strings, name);
            entry.pid = profile_origin_text(model->profiles[p], thread->origin_id, "pid", NULL);
            entry.host = profile_origin_text(model->profiles[p], thread->origin_id, "host", NULL);
            entry.rank = profile_origin_text(model->profiles[p], thread->origin_id, "rank", NULL);
            ARRAY_PUSH(&model->threads, entry);
        }
    }
}

void model_label_threads(struct model *model)
{
    struct intern_table *keys;

    if (model->by_thread.labels != NULL)
        return;
    keys = intern_table_create();
    start_grouping(model, &model->by_thread);
    list_threads(model);
    for (size_t i = 0; i < model->threads.count; i++) {
        uint64_t key[2] = {model->threads.items[i].profile, model->threads.items[i].thread_id};

        intern_table_insert(keys, key, sizeof(key));
    }
    for (size_t i = 0; i < model->observations; i++) {
        uint64_t key[2];
        size_t profile;

        if (model->exact) {
            const struct record_histogram *histogram =
                analysis_histogram(model->analysis, i, &profile);

            if (histogram->scope != SCOPE_THREAD)
                continue;
            key[1] = histogram->key;
        } else {
            analysis_probe(model->analysis, i, &profile);
            key[1] = analysis_probe_burst(model->analysis, i)->thread_id;
        }
        key[0] = profile;
        model->by_thread.labels[i] = intern_table_find(keys, key, sizeof(key));
    }
    intern_table_free(keys);
    finish_grouping(model, &model->by_thread, model->threads.count);
}

void model_label_objects(struct model *model)
{
    if (model->by_object.labels != NULL)
        return;
    start_grouping(model, &model->by_object);
    model->by_object.objects = true;
    object_labels_assign(model);
    finish_grouping(model, &model->by_object, model->objects.count);
}

double model_busy_threads(struct model *model)
{
    double most = 1;

    model_label_threads(model);
    for (size_t p = 0; p < model->profile_count; p++) {
        double sum = 0, largest = 0;
        for (size_t i = 0; i < model->threads.count; i++) {
            if (model->threads.items[i].profile != p)
                continue;
            sum += model->by_thread.accesses[i];
            largest = fmax(largest, model->by_thread.accesses[i]);
        }
        if (largest > 0)
            most = fmax(most, sum / largest);
    }
    return most;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts the transfers that coherence_model.h sees, and writes them; see communication_truth.h. */
#define _GNU_SOURCE /* gettid */
#include "communication_truth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "coherence_model.h"
#include "truth_file.h"

const uint32_t communication_line_sizes[COMMUNICATION_LINE_SIZES] = {64, 128, 256};

enum { OBJECTS_MAX = 32, MEMBERS_MAX = 80, NO_MEMBER = -1 };

struct member {
    const char *name;
    size_t offset, bytes;
};

struct object {
    const char *name;
    const void *address;
    size_t bytes, element_bytes;
    size_t shift; /* bytes between the last boundary of all line sizes and the address */
    struct member members[MEMBERS_MAX];
    size_t member_count;
    struct coherence_model *models[COMMUNICATION_LINE_SIZES];
};

/* Transfers that agree in everything but their number. */
struct flow {
    enum communication_kind kind;
    bool true_sharing;
    size_t source, destination, object;
    int source_member, destination_member;
    double count;  /* 0: the entry is free */
    double before; /* when the period that counts for many began */
};

struct flows {
    struct flow *items; /* open addressing */
    size_t size, used;
};

struct stated {
    size_t object;
    struct communication_bound bound;
};

struct communication_truth {
    const struct command *command;
    struct object objects[OBJECTS_MAX];
    size_t object_count;
    struct truth_parameters parameters;
    struct flows flows[COMMUNICATION_LINE_SIZES];
    struct stated stated[COMMUNICATION_LINE_SIZES][OBJECTS_MAX * 4];
    size_t stated_count[COMMUNICATION_LINE_SIZES];
};

static int thread_tids[THREADS_MAX]; /* each entry is written by its thread alone */

void communication_thread(size_t thread)
{
    thread_tids[thread] = gettid();
}

struct communication_truth *communication_truth_create(const struct command *command)
{
    if (command->run->truth == NULL)
        return NULL;
    struct communication_truth *t = calloc(1, sizeof *t);
    check_allocation(t, "the truth", sizeof *t);
    t->command = command;
    return t;
}

size_t communication_object(struct communication_truth *t, const char *name, const void *address,
                            size_t bytes, size_t element_bytes)
{
    if (t == NULL)
        return 0;
    if (t->object_count == OBJECTS_MAX)
        fatal("the truth knows at most %d objects", OBJECTS_MAX);
    struct object *object = &t->objects[t->object_count];
    *object = (struct object){.name = name,
                              .address = address,
                              .bytes = bytes,
                              .element_bytes = element_bytes,
                              .shift = (uintptr_t)address % ARRAY_ALIGNMENT};
    for (size_t i = 0; i < COMMUNICATION_LINE_SIZES; i++)
        object->models[i] = coherence_model_create(
            object->shift + bytes, communication_line_sizes[i], t->command->run->threads);
    return t->object_count++;
}

void communication_member(struct communication_truth *t, size_t object, const char *name,
                          size_t offset, size_t bytes)
{
    if (t == NULL)
        return;
    struct object *o = &t->objects[object];
    if (o->member_count == MEMBERS_MAX)
        fatal("the truth knows at most %d members", MEMBERS_MAX);
    o->members[o->member_count++] = (struct member){name, offset, bytes};
}

void communication_parameter(struct communication_truth *t, const char *name, uint64_t value)
{
    if (t != NULL)
        truth_parameters_add(&t->parameters,
                             (struct truth_parameter_data){.name = name, .value = value});
}

void communication_parameter_text(struct communication_truth *t, const char *name,
                                  const char *value)
{
    if (t != NULL)
        truth_parameters_add(&t->parameters,
                             (struct truth_parameter_data){.name = name, .text = value});
}

static int member_at(const struct object *object, size_t offset)
{
    size_t within = offset % object->element_bytes;
    for (size_t i = 0; i < object->member_count; i++) {
        const struct member *member = &object->members[i];
        if (within >= member->offset && within - member->offset < member->bytes)
            return (int)i;
    }
    return NO_MEMBER;
}

static bool agree(const struct flow *a, const struct flow *b)
{
    return a->kind == b->kind && a->true_sharing == b->true_sharing && a->source == b->source &&
           a->destination == b->destination && a->object == b->object &&
           a->source_member == b->source_member && a->destination_member == b->destination_member;
}

static struct flow *place_of(struct flow *items, size_t size, const struct flow *flow)
{
    uint64_t hash = flow->source * 256 + flow->destination;
    hash = hash * 64 + flow->object * 2 + flow->true_sharing;
    hash = (hash * 128 + (uint64_t)(flow->source_member + 1)) * 128;
    hash = (hash + (uint64_t)(flow->destination_member + 1)) * 4 + flow->kind;
    for (uint64_t i = hash * 0x9e3779b97f4a7c15u >> 20;; i++) {
        struct flow *place = &items[i & (size - 1)];
        if (place->count == 0 || agree(place, flow))
            return place;
    }
}

static void count_flow(struct flows *flows, const struct flow *flow)
{
    if (2 * (flows->used + 1) > flows->size) {
        size_t size = flows->size ? 2 * flows->size : 256;
        struct flow *items = calloc(size, sizeof *items);
        check_allocation(items, "the truth", size * sizeof *items);
        for (size_t i = 0; i < flows->size; i++)
            if (flows->items[i].count > 0)
                *place_of(items, size, &flows->items[i]) = flows->items[i];
        free(flows->items);
        flows->items = items;
        flows->size = size;
    }
    struct flow *place = place_of(flows->items, flows->size, flow);
    if (place->count == 0) {
        *place = *flow;
        flows->used++;
    }
    place->count++;
}

struct sight {
    struct communication_truth *truth;
    size_t object, line_size_index;
};

static void see(void *context, const struct coherence_event *event)
{
    const struct sight *sight = context;
    const struct object *object = &sight->truth->objects[sight->object];
    struct flow flow = {.kind = event->kind,
                        .true_sharing = event->true_sharing,
                        .source = event->source,
                        .destination = event->destination,
                        .object = sight->object,
                        .source_member = member_at(object, event->source_offset - object->shift),
                        .destination_member =
                            member_at(object, event->destination_offset - object->shift)};
    count_flow(&sight->truth->flows[sight->line_size_index], &flow);
}

void communication_access(struct communication_truth *t, size_t thread, size_t object,
                          size_t offset, size_t width, enum access_effect effect)
{
    if (t == NULL)
        return;
    for (size_t i = 0; i < COMMUNICATION_LINE_SIZES; i++) {
        struct sight sight = {t, object, i};
        coherence_model_access(t->objects[object].models[i], thread,
                               t->objects[object].shift + offset, width, effect, see, &sight);
    }
}

/* What the flows gained since `before` was noted happens `times` more often. */
static void repeat_gain(struct communication_truth *t, double times)
{
    for (size_t i = 0; i < COMMUNICATION_LINE_SIZES; i++) {
        for (size_t k = 0; k < t->flows[i].size; k++) {
            struct flow *flow = &t->flows[i].items[k];
            flow->count += times * (flow->count - flow->before);
        }
    }
}

static void note_gain(struct communication_truth *t)
{
    for (size_t i = 0; i < COMMUNICATION_LINE_SIZES; i++)
        for (size_t k = 0; k < t->flows[i].size; k++)
            t->flows[i].items[k].before = t->flows[i].items[k].count;
}

void communication_rounds(struct communication_truth *t, communication_replay *replay,
                          void *context, uint64_t rounds, uint64_t period)
{
    if (t == NULL)
        return;
    uint64_t settled = 2 * period + (period > 0 ? rounds % period : 0);
    bool all = period == 0 || rounds <= settled + period;
    uint64_t round = 1;
    for (; round <= (all ? rounds : settled); round++)
        replay(context, t, round);
    if (all)
        return;
    note_gain(t);
    for (uint64_t i = 0; i < period; i++)
        replay(context, t, round++);
    repeat_gain(t, (double)((rounds - settled - period) / period));
}

void communication_bounds(struct communication_truth *t, size_t line_size_index, size_t object,
                          const struct communication_bound *bound)
{
    if (t == NULL)
        return;
    size_t *count = &t->stated_count[line_size_index];
    if (*count == sizeof t->stated[0] / sizeof t->stated[0][0])
        fatal("the truth knows at most %zu bounds", *count);
    t->stated[line_size_index][(*count)++] = (struct stated){object, *bound};
}

static const char *const kind_names[COMMUNICATION_KINDS] = {"RAW", "WAR", "WAW"};

static void write_member(FILE *out, const char *key, const struct object *object, int member)
{
    if (member == NO_MEMBER)
        fprintf(out, ", \"%s\": null", key);
    else
        fprintf(out, ", \"%s\": \"%s\"", key, object->members[member].name);
}

static void write_number(FILE *out, const char *key, double value)
{
    if (isfinite(value))
        fprintf(out, ", \"%s\": %.17g", key, value);
    else
        fprintf(out, ", \"%s\": null", key);
}

static void write_flows(FILE *out, const struct communication_truth *t, const struct flows *flows)
{
    const char *separator = "";
    fprintf(out, "     \"transfers\": [");
    for (size_t i = 0; i < flows->size; i++) {
        const struct flow *flow = &flows->items[i];
        if (flow->count == 0)
            continue;
        const struct object *object = &t->objects[flow->object];
        fprintf(out, "%s\n      {\"from\": %zu, \"to\": %zu, \"kind\": \"%s\", \"true\": %s",
                separator, flow->source, flow->destination, kind_names[flow->kind],
                flow->true_sharing ? "true" : "false");
        fprintf(out, ", \"object\": \"%s\"", object->name);
        write_member(out, "from_member", object, flow->source_member);
        write_member(out, "to_member", object, flow->destination_member);
        fprintf(out, ", \"count\": %.17g}", flow->count);
        separator = ",";
    }
    fprintf(out, "],\n");
}

static void write_totals(FILE *out, const struct flows *flows)
{
    double kinds[COMMUNICATION_KINDS] = {0}, sharing[2] = {0};
    for (size_t i = 0; i < flows->size; i++) {
        kinds[flows->items[i].kind] += flows->items[i].count;
        sharing[flows->items[i].true_sharing] += flows->items[i].count;
    }
    fprintf(out,
            "     \"total\": {\"all\": %.17g, \"true\": %.17g, \"false\": %.17g, \"raw\": %.17g, "
            "\"war\": %.17g, \"waw\": %.17g},\n",
            sharing[0] + sharing[1], sharing[1], sharing[0], kinds[RAW], kinds[WAR], kinds[WAW]);
}

static void write_bounds(FILE *out, const struct communication_truth *t, size_t line_size_index)
{
    fprintf(out, "     \"bounds\": [");
    for (size_t i = 0; i < t->stated_count[line_size_index]; i++) {
        const struct stated *stated = &t->stated[line_size_index][i];
        const struct communication_bound *bound = &stated->bound;
        fprintf(out, "%s\n      {\"object\": \"%s\"", i ? "," : "",
                t->objects[stated->object].name);
        if (bound->kind >= 0)
            fprintf(out, ", \"kind\": \"%s\"", kind_names[bound->kind]);
        if (bound->sharing >= 0)
            fprintf(out, ", \"true\": %s", bound->sharing ? "true" : "false");
        write_number(out, "lo", bound->lo);
        write_number(out, "expected", bound->expected);
        write_number(out, "hi", bound->hi);
        fprintf(out, "}");
    }
    fprintf(out, "]}");
}

struct outcome {
    const struct communication_truth *truth;
    const uint64_t *done;
    double checksum;
};

static void write_head(FILE *out, const struct outcome *outcome)
{
    const struct communication_truth *t = outcome->truth;
    fprintf(out, "{\"schema\": \"libreuse-truth/1\",\n \"program\": \"%s\",\n ", t->command->name);
    truth_parameters_write(&t->parameters, out);
    fprintf(out, ",\n \"checksum\": %.17g,\n \"threads\": [", outcome->checksum);
    for (size_t i = 0; i < t->command->run->threads; i++)
        fprintf(out, "%s\n  {\"thread\": %zu, \"tid\": %d, \"iterations\": %llu}", i ? "," : "", i,
                thread_tids[i], (unsigned long long)outcome->done[i]);
    fprintf(out, "],\n \"objects\": [");
    for (size_t i = 0; i < t->object_count; i++)
        fprintf(out, "%s\n  {\"name\": \"%s\", \"bytes\": %zu, \"address\": %llu}", i ? "," : "",
                t->objects[i].name, t->objects[i].bytes,
                (unsigned long long)(uintptr_t)t->objects[i].address);
    fprintf(out, "],\n");
}

static bool write_truth(const void *context, FILE *out)
{
    const struct outcome *outcome = context;
    const struct communication_truth *t = outcome->truth;
    write_head(out, outcome);
    fprintf(out, " \"communication\": [");
    for (size_t i = 0; i < COMMUNICATION_LINE_SIZES; i++) {
        fprintf(out, "%s\n    {\"line_size\": %u,\n", i ? "," : "", communication_line_sizes[i]);
        write_totals(out, &t->flows[i]);
        write_flows(out, t, &t->flows[i]);
        write_bounds(out, t, i);
    }
    fprintf(out, "]}\n");
    return !ferror(out);
}

static void truth_free(struct communication_truth *t)
{
    for (size_t i = 0; i < COMMUNICATION_LINE_SIZES; i++) {
        for (size_t k = 0; k < t->object_count; k++)
            coherence_model_free(t->objects[k].models[i]);
        free(t->flows[i].items);
    }
    free(t);
}

void communication_truth_finish(struct communication_truth *t, const struct run_options *options,
                                const uint64_t *done, double checksum)
{
    if (t != NULL) {
        truth_file_write(options, write_truth, &(struct outcome){t, done, checksum});
        truth_free(t);
    }
    print_result(options, done, checksum);
}

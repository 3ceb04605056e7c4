/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/model/communication_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/runtime_code.h"

static void list_threads(const struct model *model, struct communication_view *view)
{
    for (size_t p = 0; p < model->profile_count; p++) {
        const struct profile *profile = model->profiles[p];

        for (size_t i = 0; i < profile->threads.count; i++) {
            const struct record_thread *thread = &profile->threads.items[i];
            char name[sizeof(thread->name) + 1] = {0};
            struct party party = {.profile = p, .id = thread->thread_id, .number = thread->tid};

            memcpy(name, thread->name, sizeof(thread->name));
            party.name = intern_table_string(model->strings, name);
            ARRAY_PUSH(&view->threads, party);
        }
    }
}

static uint32_t number_of_party(const struct intern_table *keys, size_t profile, uint32_t id)
{
    uint64_t key[2] = {profile, id};

    return intern_table_find(keys, key, sizeof(key));
}

static struct intern_table *keys_of_parties(const party_list *parties)
{
    struct intern_table *keys = intern_table_create();

    for (size_t i = 0; i < parties->count; i++) {
        uint64_t key[2] = {parties->items[i].profile, parties->items[i].id};

        intern_table_insert(keys, key, sizeof(key));
    }
    return keys;
}

static uint32_t *new_labels(const struct communication_view *view)
{
    return allocate_zeroed(view->count, sizeof(uint32_t));
}

static void label_threads(struct communication_view *view)
{
    struct intern_table *keys = keys_of_parties(&view->threads);

    view->from_thread = new_labels(view);
    view->to_thread = new_labels(view);
    for (size_t i = 0; i < view->count; i++) {
        const struct flow *flow = communication_flow(view->communication, i);

        view->from_thread[i] = number_of_party(keys, flow->profile_index, flow->source.thread_id);
        view->to_thread[i] =
            number_of_party(keys, flow->profile_index, flow->destination.thread_id);
    }
    intern_table_free(keys);
}

/* Where each thread's process is among the parties; GROUP_NONE: nowhere. */
static uint32_t *by_process(const struct communication_view *view, const struct model *model,
                            const party_list *parties, const uint32_t *threads, bool ranks)
{
    struct intern_table *keys = keys_of_parties(parties);
    uint32_t *labels = new_labels(view);

    for (size_t i = 0; i < view->count; i++) {
        const struct party *thread;
        uint32_t origin;
        size_t profile;

        labels[i] = GROUP_NONE;
        if (threads[i] >= view->threads.count)
            continue;
        thread = &view->threads.items[threads[i]];
        profile = thread->profile;
        origin = profile_thread(model->profiles[profile], thread->id)->origin_id;
        if (ranks)
            origin = (uint32_t)strtoul(
                profile_origin_text(model->profiles[profile], origin, "rank", ""), NULL, 10);
        labels[i] = number_of_party(keys, ranks ? 0 : profile, origin);
    }
    intern_table_free(keys);
    return labels;
}

static void list_process(struct model *model, struct communication_view *view, size_t profile,
                         uint32_t origin)
{
    const struct profile *whole = model->profiles[profile];
    const char *path = profile_origin_text(whole, origin, "program", "");
    const char *slash = strrchr(path, '/');
    const char *pid = profile_origin_text(whole, origin, "pid", "0");
    const char *rank = profile_origin_text(whole, origin, "rank", "");
    struct party party = {
        .profile = profile,
        .id = origin,
        .number = strtol(pid, NULL, 10),
        .name = intern_table_string(model->strings, slash != NULL ? slash + 1 : path)};

    ARRAY_PUSH(&view->processes, party);
    if (*rank == '\0')
        return;
    party = (struct party){.id = (uint32_t)strtoul(rank, NULL, 10), .name = "rank"};
    party.number = party.id;
    for (size_t i = 0; i < view->ranks.count; i++)
        if (view->ranks.items[i].id == party.id)
            return;
    ARRAY_PUSH(&view->ranks, party);
}

static int compare_parties(const void *left, const void *right)
{
    const struct party *a = left, *b = right;

    return (a->number > b->number) - (a->number < b->number);
}

static void label_processes(struct model *model, struct communication_view *view)
{
    for (size_t p = 0; p < model->profile_count; p++) {
        const struct profile *profile = model->profiles[p];

        for (size_t i = 0; i < profile->origins.count; i++)
            list_process(model, view, p, profile->origins.items[i]->origin_id);
        if (profile->origins.count == 0)
            list_process(model, view, p, 0);
    }
    if (view->processes.count > 1) {
        view->from_process = by_process(view, model, &view->processes, view->from_thread, false);
        view->to_process = by_process(view, model, &view->processes, view->to_thread, false);
    }
    if (view->ranks.count > 1) {
        qsort(view->ranks.items, view->ranks.count, sizeof(*view->ranks.items), compare_parties);
        view->from_rank = by_process(view, model, &view->ranks, view->from_thread, true);
        view->to_rank = by_process(view, model, &view->ranks, view->to_thread, true);
    }
}

enum { CPUS_MAX = 1 << 16 }; /* a CPU's number has 16 bits */

/* CPUs with a number are taken as those of one machine, whatever profile they come from. */
static void label_cores(struct communication_view *view)
{
    uint32_t *numbers = allocate_zeroed(CPUS_MAX, sizeof(*numbers)); /* 0: not seen, else + 1 */
    bool any = false;

    for (size_t i = 0; i < view->count; i++) {
        const struct flow *flow = communication_flow(view->communication, i);

        if (flow->source.cpu_known && flow->destination.cpu_known) {
            numbers[flow->source.cpu] = numbers[flow->destination.cpu] = 1;
            any = true;
        }
    }
    for (uint32_t cpu = 0; any && cpu < CPUS_MAX; cpu++) {
        struct party party = {.id = cpu, .number = cpu, .name = ""};

        if (numbers[cpu] == 0)
            continue;
        ARRAY_PUSH(&view->cores, party);
        numbers[cpu] = (uint32_t)view->cores.count;
    }
    if (any) {
        view->from_core = new_labels(view);
        view->to_core = new_labels(view);
    }
    for (size_t i = 0; any && i < view->count; i++) {
        const struct flow *flow = communication_flow(view->communication, i);
        bool known = flow->source.cpu_known && flow->destination.cpu_known;

        view->from_core[i] = known ? numbers[flow->source.cpu] - 1 : (uint32_t)GROUP_NONE;
        view->to_core[i] = known ? numbers[flow->destination.cpu] - 1 : (uint32_t)GROUP_NONE;
    }
    free(numbers);
}

/* Of one thread: what comes to it or goes from it. */
static bool is_asked_for(const struct model *model, const struct flow *flow)
{
    uint32_t thread = model->asked.thread_id;

    return thread == 0 || flow->source.thread_id == thread || flow->destination.thread_id == thread;
}

static void label_places(struct model *model, struct communication_view *view)
{
    struct runtime_code *code = runtime_code_create(model);

    view->place = new_labels(view);
    for (size_t i = 0; i < view->count; i++) {
        const struct flow *flow = communication_flow(view->communication, i);
        bool in_runtime =
            model->options->runtime != RUNTIME_INCLUDE && runtime_code_made(code, flow);

        view->place[i] = !is_asked_for(model, flow)                ? (uint32_t)GROUP_NONE
                         : !in_runtime                             ? (uint32_t)FLOW_PROGRAM
                         : model->options->runtime == RUNTIME_DROP ? (uint32_t)GROUP_NONE
                                                                   : (uint32_t)FLOW_RUNTIME;
    }
    runtime_code_free(code);
}

/*
 * For the lines that the report is about. Counted transfers are of the run's lines alone: a machine
 * that has others gets these, with a remark; a user who asks for others is told that there are
 * none.
 */
static void create_communication(struct model *model, struct communication_view *view)
{
    uint32_t size = analysis_line_size(model->analysis);
    const struct analysis *analysis = model->analysis;

    if (model->asked.thread_id != 0 && !model->exact) {
        /* Samples of one thread do not tell who else was there. */
        struct analysis_options options = model->asked;

        options.thread_id = 0;
        analysis = view->whole = analysis_create(model->profiles, model->profile_count, &options,
                                                 view->message, sizeof(view->message));
        if (analysis == NULL)
            return;
    }
    view->communication =
        communication_create(analysis, size, view->message, sizeof(view->message));
    if (view->communication != NULL || model->options->line_size != 0)
        return;
    view->communication = communication_create(analysis, 0, view->message, sizeof(view->message));
    if (view->communication == NULL)
        return;
    char *text = format_string("Transfers are of the run's lines, as they were counted: for lines "
                               "of %" PRIu32 " bytes record with --line-size %" PRIu32,
                               size, size);
    ARRAY_PUSH(&model->remarks, intern_table_string(model->strings, text));
    free(text);
}

struct communication_view *communication_view_of(struct model *model)
{
    struct communication_view *view = model->communication;

    if (view != NULL)
        return view;
    model->communication = view = allocate_zeroed(1, sizeof(*view));
    create_communication(model, view);
    if (view->communication == NULL)
        return view;
    view->count = communication_flow_count(view->communication);
    list_threads(model, view);
    label_threads(view);
    label_cores(view);
    label_processes(model, view);
    label_places(model, view);
    return view;
}

void communication_view_free(struct communication_view *view)
{
    if (view == NULL)
        return;
    communication_free(view->communication);
    analysis_free(view->whole);
    free(view->threads.items);
    free(view->cores.items);
    free(view->from_thread);
    free(view->to_thread);
    free(view->processes.items);
    free(view->ranks.items);
    free(view->from_process);
    free(view->to_process);
    free(view->from_rank);
    free(view->to_rank);
    free(view->from_core);
    free(view->to_core);
    free(view->place);
    free(view->from_line);
    free(view->to_line);
    free(view->lines.items);
    free(view->from_object);
    free(view->to_object);
    free(view->from_offset);
    free(view->to_offset);
    free(view->objects.items);
    free(view);
}

/*
 * Transfers do not say when they were made: where two modules had the address one after the other,
 * either could be meant.
 */
bool code_is_ambiguous(const struct profile *profile, uint64_t ip)
{
    const struct record_module *found = NULL;

    for (size_t i = 0; i < profile->modules.count; i++) {
        const struct record_module *module = profile->modules.items[i];

        if (ip < module->start || ip >= module->end)
            continue;
        if (found != NULL && strcmp(found->path, module->path) != 0)
            return true;
        found = module;
    }
    return false;
}

struct line_labelling {
    struct model *model;
    struct communication_view *view;
    struct intern_table *seen, *keys;
    ARRAY(uint32_t) numbers; /* by what was seen */
};

static uint32_t line_of(struct line_labelling *labelling, size_t profile,
                        const struct flow_end *end)
{
    struct model *model = labelling->model;
    uint64_t seen[3] = {profile, end->ip, end->context_id};
    struct {
        const char *function, *file, *module;
        uint64_t line;
    } key = {0};
    struct code_line line;
    uint32_t number;

    if (end->ip == 0)
        return GROUP_NONE;
    number = intern_table_insert(labelling->seen, seen, sizeof(seen));
    if (number < labelling->numbers.count)
        return labelling->numbers.items[number];
    if (code_is_ambiguous(model->profiles[profile], end->ip))
        line = (struct code_line){.function = "code of several modules, one after the other"};
    else
        line = model_own_line(model, profile, end->ip, end->context_id, 0);
    key.function = line.function;
    key.file = line.file;
    key.module = line.file == NULL ? line.module : NULL;
    key.line = line.line;
    number = intern_table_insert(labelling->keys, &key, sizeof(key));
    if (number == labelling->view->lines.count)
        ARRAY_PUSH(&labelling->view->lines, line);
    ARRAY_PUSH(&labelling->numbers, number);
    return number;
}

void communication_view_label_code(struct model *model, struct communication_view *view)
{
    struct line_labelling labelling = {.model = model, .view = view};

    if (view->from_line != NULL)
        return;
    labelling.seen = intern_table_create();
    labelling.keys = intern_table_create();
    view->from_line = new_labels(view);
    view->to_line = new_labels(view);
    for (size_t i = 0; i < view->count; i++) {
        const struct flow *flow = communication_flow(view->communication, i);

        view->from_line[i] = line_of(&labelling, flow->profile_index, &flow->source);
        view->to_line[i] = line_of(&labelling, flow->profile_index, &flow->destination);
    }
    free(labelling.numbers.items);
    intern_table_free(labelling.keys);
    intern_table_free(labelling.seen);
}

static bool lies_in_block(const struct flow *flow, uint64_t address)
{
    return address >= flow->object_base && address - flow->object_base < flow->object_size;
}

/* Flows in order of their lines, to find out what else lies on one. */
struct flow_order {
    const struct communication_view *view;
    uint32_t *numbers;
};

static const struct communication_view *ordered_view; /* for compare_lines only */

static int compare_lines(const void *left, const void *right)
{
    const struct flow *a = communication_flow(ordered_view->communication, *(const uint32_t *)left);
    const struct flow *b =
        communication_flow(ordered_view->communication, *(const uint32_t *)right);

    if (a->profile_index != b->profile_index)
        return a->profile_index < b->profile_index ? -1 : 1;
    if (a->line_address != b->line_address)
        return a->line_address < b->line_address ? -1 : 1;
    return (a->object_base > b->object_base) - (a->object_base < b->object_base);
}

static struct flow_order order_by_line(const struct communication_view *view)
{
    struct flow_order order = {.view = view,
                               .numbers = allocate_zeroed(view->count, sizeof(uint32_t))};

    for (size_t i = 0; i < view->count; i++)
        order.numbers[i] = (uint32_t)i;
    ordered_view = view;
    if (view->count > 0)
        qsort(order.numbers, view->count, sizeof(*order.numbers), compare_lines);
    return order;
}

/* A flow of the same line whose block holds the address; NULL if none was seen. */
static const struct flow *neighbour_at(const struct flow_order *order, const struct flow *flow,
                                       uint64_t address)
{
    size_t low = 0, high = order->view->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct flow *other =
            communication_flow(order->view->communication, order->numbers[middle]);

        if (other->profile_index < flow->profile_index ||
            (other->profile_index == flow->profile_index &&
             other->line_address < flow->line_address))
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < order->view->count; low++) {
        const struct flow *other =
            communication_flow(order->view->communication, order->numbers[low]);

        if (other->profile_index != flow->profile_index ||
            other->line_address != flow->line_address)
            return NULL;
        if (lies_in_block(other, address))
            return other;
    }
    return NULL;
}

static struct object_reference reference_to(const struct flow *flow, uint64_t address)
{
    struct object_reference reference = {.profile = flow->profile_index,
                                         .kind = flow->object_kind,
                                         .id = flow->object_reference,
                                         .address = address,
                                         .base = flow->object_base,
                                         .size = flow->object_size};

    /* Added up over lines, only the object is known; added up over objects, not even that. */
    if (flow->line_address == 0)
        reference.address = flow->object_base;
    if (flow->line_address == 0 && flow->object_kind == OBJECT_UNKNOWN && flow->destination.ip == 0)
        reference.kind = OBJECT_KIND_NONE;
    return reference;
}

/*
 * The object that the source had used. The profile names that of the destination; outside of its
 * block it is another one, which is known if something came for it as well.
 */
static struct object_reference reference_of_source(const struct flow_order *order,
                                                   const struct flow *flow)
{
    uint64_t address = flow->line_address + flow->source.offset;
    struct object_reference reference = reference_to(flow, address);
    const struct flow *neighbour;

    if (flow->line_address == 0 || flow->object_size == 0 || lies_in_block(flow, address))
        return reference;
    neighbour = neighbour_at(order, flow, address);
    if (neighbour != NULL)
        return reference_to(neighbour, address);
    reference.kind =
        flow->object_kind == OBJECT_HEAP ? (uint8_t)OBJECT_HEAP_UNTRACKED : (uint8_t)OBJECT_UNKNOWN;
    reference.base = 0;
    return reference;
}

void communication_view_label_objects(struct model *model, struct communication_view *view)
{
    struct object_reference *references;
    struct flow_order order;
    uint32_t *labels;
    uint64_t *offsets;

    if (view->to_object != NULL)
        return;
    order = order_by_line(view);
    references = allocate_zeroed(2 * view->count, sizeof(*references));
    labels = allocate_zeroed(2 * view->count, sizeof(*labels));
    offsets = allocate_zeroed(2 * view->count, sizeof(*offsets));
    for (size_t i = 0; i < view->count; i++) {
        const struct flow *flow = communication_flow(view->communication, i);

        references[i] = reference_of_source(&order, flow);
        references[view->count + i] =
            reference_to(flow, flow->line_address + flow->destination.offset);
    }
    object_labels_find(model, references, 2 * view->count, &view->objects, labels, offsets);
    for (size_t i = 0; i < view->count; i++)
        if (communication_flow(view->communication, i)->line_address == 0)
            offsets[i] = offsets[view->count + i] = OFFSET_UNKNOWN;
    view->from_object = new_labels(view);
    view->to_object = new_labels(view);
    memcpy(view->from_object, labels, view->count * sizeof(*labels));
    memcpy(view->to_object, labels + view->count, view->count * sizeof(*labels));
    view->from_offset = allocate_zeroed(view->count, sizeof(*offsets));
    view->to_offset = allocate_zeroed(view->count, sizeof(*offsets));
    memcpy(view->from_offset, offsets, view->count * sizeof(*offsets));
    memcpy(view->to_offset, offsets + view->count, view->count * sizeof(*offsets));
    free(offsets);
    free(order.numbers);
    free(labels);
    free(references);
}

char *party_text(const struct party *party, size_t number)
{
    if (*party->name == '\0')
        return format_string("%zu: CPU %" PRId64, number, party->number);
    return format_string("%zu: %s (%" PRId64 ")", number, party->name, party->number);
}

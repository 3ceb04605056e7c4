/* SPDX-License-Identifier: BSD-3-Clause */
/* From whom to whom each flow goes: threads, cores, processes, ranks. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "path_name.h"
#include "report/model/communication_view_internal.h"

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

static void label_threads(struct communication_view *view)
{
    struct intern_table *keys = keys_of_parties(&view->threads);

    view->from_thread = flow_labels(view);
    view->to_thread = flow_labels(view);
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
    uint32_t *labels = flow_labels(view);

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
    const char *pid = profile_origin_text(whole, origin, "pid", "0");
    const char *rank = profile_origin_text(whole, origin, "rank", "");
    struct party party = {.profile = profile,
                          .id = origin,
                          .number = strtol(pid, NULL, 10),
                          .name = intern_table_string(model->strings, path_name(path))};

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
        view->from_core = flow_labels(view);
        view->to_core = flow_labels(view);
    }
    for (size_t i = 0; any && i < view->count; i++) {
        const struct flow *flow = communication_flow(view->communication, i);
        bool known = flow->source.cpu_known && flow->destination.cpu_known;

        view->from_core[i] = known ? numbers[flow->source.cpu] - 1 : (uint32_t)GROUP_NONE;
        view->to_core[i] = known ? numbers[flow->destination.cpu] - 1 : (uint32_t)GROUP_NONE;
    }
    free(numbers);
}

void communication_view_label_parties(struct model *model, struct communication_view *view)
{
    list_threads(model, view);
    label_threads(view);
    label_cores(view);
    label_processes(model, view);
}

char *party_text(const struct party *party, size_t number)
{
    if (*party->name == '\0')
        return format_string("%zu: CPU %" PRId64, number, party->number);
    return format_string("%zu: %s (%" PRId64 ")", number, party->name, party->number);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contexts of the instructions that bursts met. A burst's groups name the path that led to their
 * function, not a context of their own: in a large program nearly each of them would be a new one,
 * and these two thirds of the file. They are made here, with the numbers after those of the file,
 * so that all who read the profile find contexts of one kind.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/probes.h"
#include "profile/reader_internal.h"
#include "support/memory.h"

struct instruction {
    uint64_t ip;
    uint32_t path_id;
};

static int compare_instructions(const void *left, const void *right)
{
    const struct instruction *a = left;
    const struct instruction *b = right;
    if (a->path_id != b->path_id)
        return a->path_id < b->path_id ? -1 : 1;
    return (a->ip > b->ip) - (a->ip < b->ip);
}

/* What a damaged file names beyond its own contexts might else be one that is made here. */
static struct instruction instruction_of(uint32_t path_id, uint64_t ip, uint64_t last_id)
{
    return (struct instruction){.ip = ip, .path_id = path_id <= last_id ? path_id : 0};
}

/* Of the file's contexts, which are in order. */
static uint64_t last_id_of(const struct profile *profile)
{
    size_t count = profile->contexts.count;
    return count > 0 ? profile->contexts.items[count - 1].context_id : 0;
}

/* Of all groups, each once, in order; the caller frees them. */
static struct instruction *list_instructions(const struct profile *profile, uint64_t last_id,
                                             size_t *count)
{
    struct instruction *list;
    size_t room = 0, n = 0, kept = 0;
    for (size_t i = 0; i < profile->bursts.count; i++)
        room += profile->bursts.items[i]->groups;
    list = allocate(room + 1, sizeof(*list));
    for (size_t i = 0; i < profile->bursts.count; i++) {
        struct probe_decoder decoder;
        struct probe_group group;
        struct probe_count counts[PROBE_COUNTS_MAX];
        size_t sizes[PROBE_LINE_SIZES];
        probe_decoder_begin(&decoder, profile->bursts.items[i]);
        while (n < room && probe_decode(&decoder, &group, counts, PROBE_COUNTS_MAX, sizes))
            list[n++] = instruction_of(group.path_id, group.ip, last_id);
    }
    qsort(list, n, sizeof(*list), compare_instructions);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || compare_instructions(&list[i - 1], &list[i]) != 0)
            list[kept++] = list[i];
    *count = kept;
    return list;
}

void add_instruction_contexts(struct profile *profile)
{
    uint64_t last_id = last_id_of(profile);
    size_t count;
    struct instruction *list = list_instructions(profile, last_id, &count);
    for (size_t i = 0; i < profile->contexts.count; i++)
        if (profile->contexts.items[i].parent_id > last_id)
            profile->contexts.items[i].parent_id = 0;
    if (last_id + count <= UINT32_MAX) {
        profile->instruction_contexts.items =
            allocate(count + 1, sizeof(*profile->instruction_contexts.items));
        for (size_t i = 0; i < count; i++)
            profile->instruction_contexts.items[i] =
                (struct record_context){.context_id = (uint32_t)(last_id + 1 + i),
                                        .parent_id = list[i].path_id,
                                        .ip = list[i].ip};
        profile->instruction_contexts.count = count;
    }
    free(list);
}

const struct record_context *find_instruction_context(const struct profile *profile,
                                                      uint32_t context_id)
{
    uint64_t first_id = last_id_of(profile) + 1;
    return context_id >= first_id && context_id - first_id < profile->instruction_contexts.count
               ? &profile->instruction_contexts.items[context_id - first_id]
               : NULL;
}

uint32_t profile_instruction_context(const struct profile *profile, uint32_t path_id, uint64_t ip)
{
    const struct instruction wanted = instruction_of(path_id, ip, last_id_of(profile));
    size_t low = 0, high = profile->instruction_contexts.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct record_context *context = &profile->instruction_contexts.items[middle];
        struct instruction there = {.ip = context->ip, .path_id = context->parent_id};
        int order = compare_instructions(&there, &wanted);
        if (order == 0)
            return context->context_id;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

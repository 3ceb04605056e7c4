/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Contexts of the instructions that bursts met. A burst's groups name the path that led to their
 * function, not a context of their own: in a large program nearly each of them would be a new one,
 * and these two thirds of the file. Those that the file does not have (a sample's may be there) are
 * made here, with the numbers after those of the file, so that all who read the profile find
 * contexts of one kind.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/probes.h"
#include "profile/reader_internal.h"
#include "support/memory.h"

static int compare_frames(const struct framed_context *a, const struct framed_context *b)
{
    if (a->path_id != b->path_id)
        return a->path_id < b->path_id ? -1 : 1;
    return (a->ip > b->ip) - (a->ip < b->ip);
}

/* Of those with one path and instruction, first the one that has the lowest number, last those that
 * have none. */
static int compare_entries(const void *left, const void *right)
{
    const struct framed_context *a = left;
    const struct framed_context *b = right;
    int order = compare_frames(a, b);
    if (order != 0 || a->context_id == b->context_id)
        return order;
    return a->context_id - 1 < b->context_id - 1 ? -1 : 1;
}

/* Of the file's contexts, which are in order. */
static uint64_t last_id_of(const struct profile *profile)
{
    size_t count = profile->contexts.count;
    return count > 0 ? profile->contexts.items[count - 1].context_id : 0;
}

/* What a damaged file names beyond its own contexts might else be one that is made here. */
static uint32_t known_id(const struct profile *profile, uint32_t id)
{
    return id <= last_id_of(profile) ? id : 0;
}

static size_t list_contexts(struct profile *profile, struct framed_context *list)
{
    size_t n = 0;
    for (size_t i = 0; i < profile->contexts.count; i++) {
        struct record_context *context = &profile->contexts.items[i];
        context->parent_id = known_id(profile, context->parent_id);
        list[n++] = (struct framed_context){
            .ip = context->ip, .path_id = context->parent_id, .context_id = context->context_id};
    }
    return n;
}

/* Groups without a path have no context either, unless the file has it. */
static size_t list_groups(const struct profile *profile, struct framed_context *list, size_t room)
{
    size_t n = 0;
    for (size_t i = 0; i < profile->bursts.count; i++) {
        struct probe_decoder decoder;
        struct probe_group group;
        struct probe_count counts[PROBE_COUNTS_MAX];
        size_t sizes[PROBE_LINE_SIZES];
        probe_decoder_begin(&decoder, profile->bursts.items[i]);
        while (n < room && probe_decode(&decoder, &group, counts, PROBE_COUNTS_MAX, sizes)) {
            uint32_t path_id = known_id(profile, group.path_id);
            if (path_id != 0)
                list[n++] = (struct framed_context){.ip = group.ip, .path_id = path_id};
        }
    }
    return n;
}

/* All, each path and instruction once, in order. */
static void list_all(struct profile *profile)
{
    struct profile_index *index = profile->index;
    size_t groups = 0, n;
    for (size_t i = 0; i < profile->bursts.count; i++)
        groups += profile->bursts.items[i]->groups;
    index->frames = allocate(profile->contexts.count + groups + 1, sizeof(*index->frames));
    n = list_contexts(profile, index->frames);
    n += list_groups(profile, index->frames + n, groups);
    qsort(index->frames, n, sizeof(*index->frames), compare_entries);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || compare_frames(&index->frames[i - 1], &index->frames[i]) != 0)
            index->frames[index->frame_count++] = index->frames[i];
}

static size_t count_unnumbered(const struct profile_index *index)
{
    size_t count = 0;
    for (size_t i = 0; i < index->frame_count; i++)
        count += index->frames[i].context_id == 0;
    return count;
}

void add_instruction_contexts(struct profile *profile)
{
    struct profile_index *index = profile->index;
    uint64_t last_id = last_id_of(profile);
    size_t count, made = 0;
    list_all(profile);
    count = count_unnumbered(index);
    if (last_id + count > UINT32_MAX)
        return;
    profile->instruction_contexts.items =
        allocate(count + 1, sizeof(*profile->instruction_contexts.items));
    profile->instruction_contexts.count = count;
    for (size_t i = 0; i < index->frame_count; i++) {
        struct framed_context *frame = &index->frames[i];
        if (frame->context_id != 0)
            continue;
        frame->context_id = (uint32_t)(last_id + 1 + made);
        profile->instruction_contexts.items[made++] = (struct record_context){
            .context_id = frame->context_id, .parent_id = frame->path_id, .ip = frame->ip};
    }
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
    const struct profile_index *index = profile->index;
    const struct framed_context wanted = {.ip = ip, .path_id = known_id(profile, path_id)};
    size_t low = 0, high = index->frame_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_frames(&index->frames[middle], &wanted);
        if (order == 0)
            return index->frames[middle].context_id;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Merging of watches in all threads, and of turns: their samples' new numbers, threads, places. */
#include <stdlib.h>

#include "profile/merge_internal.h"
#include "support/memory.h"

/* A sample's number in the input and where it has gone. */
struct moved_sample {
    uint64_t from, to;
    uint64_t move; /* of data addresses */
};

struct moved_samples {
    struct moved_sample *items; /* sorted by from */
    size_t count;
};

static int compare_moved(const void *left, const void *right)
{
    const struct moved_sample *a = left, *b = right;
    return a->from < b->from ? -1 : a->from > b->from;
}

static const struct moved_sample *find(const struct moved_samples *moved, uint64_t sample_id)
{
    struct moved_sample key = {.from = sample_id};
    return bsearch(&key, moved->items, moved->count, sizeof(key), compare_moved);
}

static uint64_t moved_address(uint64_t address, uint64_t move)
{
    return address ? address + move : 0;
}

static void merge_watches(struct merge_input *input, const struct moved_samples *moved)
{
    for (size_t i = 0; i < input->profile->line_watches.count; i++) {
        struct record_line_watch watch = input->profile->line_watches.items[i];
        const struct moved_sample *sample = find(moved, watch.sample_id);
        if (!sample)
            continue;
        watch.sample_id = sample->to;
        watch.address = moved_address(watch.address, sample->move);
        watch.address2 = moved_address(watch.address2, sample->move);
        merge_append(input->merge, RECORD_LINE_WATCH, &watch, sizeof(watch), NULL, 0);
    }
}

static void merge_events(struct merge_input *input, const struct moved_samples *moved)
{
    for (size_t i = 0; i < input->profile->line_events.count; i++) {
        struct record_line_event event = input->profile->line_events.items[i];
        const struct moved_sample *sample = find(moved, event.sample_id);
        if (!sample)
            continue;
        event.sample_id = sample->to;
        event.thread_id = merge_thread(input, event.thread_id);
        event.context_id = merge_context(input, event.context_id, event.monotonic_ns);
        event.ip = merge_code_if_set(input, event.ip, event.monotonic_ns);
        merge_append(input->merge, RECORD_LINE_EVENT, &event, sizeof(event), NULL, 0);
    }
}

static void merge_ends(struct merge_input *input, const struct moved_samples *moved)
{
    for (size_t i = 0; i < input->profile->line_ends.count; i++) {
        struct record_line_end end = input->profile->line_ends.items[i];
        const struct moved_sample *sample = find(moved, end.sample_id);
        if (!sample)
            continue;
        end.sample_id = sample->to;
        merge_append(input->merge, RECORD_LINE_END, &end, sizeof(end), NULL, 0);
    }
}

static void merge_turns(struct merge_input *input, const struct moved_samples *moved)
{
    for (size_t i = 0; i < input->profile->turns.count; i++) {
        struct record_turn turn = input->profile->turns.items[i];
        const struct moved_sample *sample = find(moved, turn.sample_id);
        uint64_t when = turn.monotonic_ns;
        turn.sample_id = sample ? sample->to : 0;
        turn.thread_id = merge_thread(input, turn.thread_id);
        turn.wait_ip = merge_code_address(input, turn.wait_ip, when);
        if (turn.loop)
            turn.loop = merge_code_address(input, turn.loop, when);
        merge_append(input->merge, RECORD_TURN, &turn, sizeof(turn), NULL, 0);
    }
}

void merge_line_watches(struct merge_input *input)
{
    const struct profile *profile = input->profile;
    struct moved_samples moved = {allocate(profile->samples.count, sizeof(*moved.items)), 0};
    for (size_t i = 0; i < profile->samples.count; i++) {
        const struct record_sample *sample = &profile->samples.items[i];
        moved.items[moved.count++] = (struct moved_sample){
            sample->sample_id, input->samples_before + i + 1,
            merge_data_move(input, sample->object_kind, sample->object_reference)};
    }
    qsort(moved.items, moved.count, sizeof(*moved.items), compare_moved);
    merge_watches(input, &moved);
    merge_events(input, &moved);
    merge_ends(input, &moved);
    merge_turns(input, &moved);
    free(moved.items);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The merge's bursts: new numbers, and their probes with addresses and identifiers translated. */
#include <stdlib.h>

#include "profile/merge_internal.h"
#include "profile/probes.h"
#include "support/memory.h"

/* What a group may be longer with other addresses and identifiers: all that is not a count. */
enum { GROUP_BYTES_MAX = 64 };

uint64_t merge_burst(const struct merge_input *input, uint64_t burst_id)
{
    size_t index = profile_burst_index(input->profile, burst_id);
    return index == input->profile->bursts.count ? 0 : input->bursts_before + index + 1;
}

static void translate_group(struct merge_input *input, struct probe_group *group, uint64_t time_ns)
{
    group->ip = merge_code_if_set(input, group->ip, time_ns);
    group->reuse_ip = merge_code_if_set(input, group->reuse_ip, time_ns);
    group->path_id = merge_context(input, group->path_id, time_ns);
    group->place += merge_data_move(input, group->object_kind, group->object_reference);
    group->object_reference = merge_reference(input, group->object_kind, group->object_reference);
}

/* The burst's probes in terms of the output; returns their bytes. */
static size_t translate_probes(struct merge_input *input, const struct record_burst *burst,
                               unsigned char *out, size_t room)
{
    struct probe_decoder decoder;
    struct probe_encoder encoder;
    struct probe_group group;
    struct probe_count decoded[PROBE_COUNTS_MAX];
    size_t sizes[PROBE_LINE_SIZES];
    probe_decoder_begin(&decoder, burst);
    probe_encoder_begin(&encoder, out, room);
    while (probe_decode(&decoder, &group, decoded, PROBE_COUNTS_MAX, sizes)) {
        const struct probe_count *counts[PROBE_LINE_SIZES];
        const struct probe_count *next = decoded;
        for (unsigned i = 0; i < PROBE_LINE_SIZES; i++) {
            counts[i] = next;
            next += sizes[i];
        }
        translate_group(input, &group, burst->monotonic_ns);
        probe_encode(&encoder, &group, decoder.line_sizes, counts, sizes);
    }
    return encoder.used;
}

static void merge_one(struct merge_input *input, const struct record_burst *original, uint64_t id)
{
    struct profile_merge *merge = input->merge;
    struct record_burst burst = *original;
    uint64_t time = burst.monotonic_ns;
    size_t room = burst.probe_size + (size_t)burst.groups * GROUP_BYTES_MAX;
    merge_reserve((void **)&merge->probes, &merge->probe_capacity, room, 1);
    burst.burst_id = id;
    burst.thread_id = merge_thread(input, burst.thread_id);
    burst.context_id = merge_context(input, burst.context_id, time);
    burst.loop = merge_code_if_set(input, burst.loop, time);
    burst.region_id = merge_region(input, burst.region_id);
    burst.probe_size = (uint32_t)translate_probes(input, original, merge->probes, room);
    merge_append(merge, RECORD_BURST, &burst, sizeof(burst), merge->probes, burst.probe_size);
}

static void merge_steps(struct merge_input *input, const struct record_steps *original)
{
    const struct record_burst *burst = profile_burst(input->profile, original->burst_id);
    struct record_steps record = *original;
    struct address_steps *steps;
    if (!burst)
        return;
    record.burst_id = merge_burst(input, original->burst_id);
    steps = allocate(record.count, sizeof(*steps));
    for (uint32_t i = 0; i < record.count; i++) {
        steps[i] = original->steps[i];
        steps[i].ip = merge_code_if_set(input, steps[i].ip, burst->monotonic_ns);
        steps[i].loaded_by = merge_code_if_set(input, steps[i].loaded_by, burst->monotonic_ns);
    }
    merge_append(input->merge, RECORD_STEPS, &record, sizeof(record), steps,
                 record.count * sizeof(*steps));
    free(steps);
}

static void merge_timed_loads(struct merge_input *input, const struct record_timed_loads *original)
{
    const struct record_burst *burst = profile_burst(input->profile, original->burst_id);
    struct record_timed_loads record = *original;
    struct timed_loads *loads;
    if (!burst)
        return;
    record.burst_id = merge_burst(input, original->burst_id);
    loads = allocate(record.count, sizeof(*loads));
    for (uint32_t i = 0; i < record.count; i++) {
        loads[i] = original->loads[i];
        loads[i].ip = merge_code_if_set(input, loads[i].ip, burst->monotonic_ns);
    }
    merge_append(input->merge, RECORD_TIMED_LOADS, &record, sizeof(record), loads,
                 record.count * sizeof(*loads));
    free(loads);
}

void merge_bursts(struct merge_input *input)
{
    input->bursts_before = input->merge->bursts;
    for (size_t i = 0; i < input->profile->bursts.count; i++)
        merge_one(input, input->profile->bursts.items[i], ++input->merge->bursts);
    for (size_t i = 0; i < input->profile->steps.count; i++)
        merge_steps(input, input->profile->steps.items[i]);
    for (size_t i = 0; i < input->profile->timed_loads.count; i++)
        merge_timed_loads(input, input->profile->timed_loads.items[i]);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The merge's shared memory: mappings get new numbers, their uses the output's bursts and code. */
#include <stdlib.h>
#include <string.h>

#include "profile/merge_internal.h"
#include "profile/reader_internal.h"

/* The object of a use that is not in a mapping. */
static void move_object(struct merge_input *input, struct record_shared_use *use)
{
    uint64_t move = merge_data_move(input, use->object_kind, use->object_reference);

    if (use->mapping_id != 0)
        return;
    use->line += move;
    use->object_base += use->object_base ? move : 0;
    use->object_reference = merge_reference(input, use->object_kind, use->object_reference);
}

static void merge_uses(struct merge_input *input, uint32_t mappings_before)
{
    const struct record_array *mappings =
        (const struct record_array *)&input->profile->shared_mappings;

    for (size_t i = 0; i < input->profile->shared_uses.count; i++) {
        struct record_shared_use use = input->profile->shared_uses.items[i];
        const struct record_burst *burst = profile_burst(input->profile, use.burst_id);
        size_t mapping = find_position(mappings, 0, sizeof(use.mapping_id), use.mapping_id);

        if (!burst || (use.mapping_id != 0 && mapping == NOT_FOUND))
            continue;
        use.burst_id = merge_burst(input, use.burst_id);
        if (use.mapping_id != 0)
            use.mapping_id = mappings_before + (uint32_t)mapping + 1;
        move_object(input, &use);
        use.load_ip = merge_code_if_set(input, use.load_ip, burst->monotonic_ns);
        use.store_ip = merge_code_if_set(input, use.store_ip, burst->monotonic_ns);
        merge_append(input->merge, RECORD_SHARED_USE, &use, sizeof(use), NULL, 0);
    }
}

/* Their keys stay apart: mappings of inputs have numbers of their own. */
static void merge_process_transfers(struct merge_input *input, uint32_t mappings_before)
{
    const struct record_array *mappings =
        (const struct record_array *)&input->profile->shared_mappings;

    for (size_t i = 0; i < input->profile->process_transfers.count; i++) {
        struct record_process_transfer transfer = input->profile->process_transfers.items[i];
        size_t mapping =
            find_position(mappings, 0, sizeof(transfer.mapping_id), transfer.mapping_id);

        if (mapping == NOT_FOUND)
            continue;
        transfer.mapping_id = mappings_before + (uint32_t)mapping + 1;
        transfer.destination_thread = merge_thread(input, transfer.destination_thread);
        transfer.destination_ip = merge_code_if_set(input, transfer.destination_ip, 0);
        merge_append(input->merge, RECORD_PROCESS_TRANSFER, &transfer, sizeof(transfer), NULL, 0);
    }
}

void merge_shared_memory(struct merge_input *input)
{
    uint32_t before = input->merge->shared_mappings;

    for (size_t i = 0; i < input->profile->shared_mappings.count; i++) {
        const struct record_shared_mapping *original = input->profile->shared_mappings.items[i];
        struct record_shared_mapping mapping = *original;

        mapping.mapping_id = ++input->merge->shared_mappings;
        mapping.origin_id = merge_origin(input, mapping.origin_id);
        merge_append(input->merge, RECORD_SHARED_MAPPING, &mapping,
                     offsetof(struct record_shared_mapping, path), original->path,
                     strlen(original->path) + 1);
    }
    merge_uses(input, before);
    merge_process_transfers(input, before);
}

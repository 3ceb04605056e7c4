/* SPDX-License-Identifier: BSD-3-Clause */
/* The merge's hardware counts: those of the same event are added up. */
#include <string.h>

#include "profile/merge_internal.h"

/* A counter's number in the output: the key is its record with the counts blank, and its name. */
static uint32_t intern(struct profile_merge *merge, const struct record_counter *counter)
{
    enum { NAME_MAX_BYTES = 256 };
    const struct record_counter head = {.type = counter->type,
                                        .flags = counter->flags,
                                        .kind = counter->kind,
                                        .trust = counter->trust,
                                        .config = counter->config,
                                        .levels = counter->levels};
    unsigned char key[sizeof(head) + NAME_MAX_BYTES];
    bool added;
    size_t length = strnlen(counter->name, NAME_MAX_BYTES - 1);
    memcpy(key, &head, sizeof(head));
    memcpy(key + sizeof(head), counter->name, length);
    key[sizeof(head) + length] = '\0';
    return key_map_intern(&merge->counters, key, sizeof(head) + length + 1, &added);
}

void merge_counters(struct merge_input *input)
{
    struct profile_merge *merge = input->merge;
    for (size_t i = 0; i < input->profile->counters.count; i++) {
        const struct record_counter *counter = input->profile->counters.items[i];
        uint32_t number = intern(merge, counter);
        merge_reserve((void **)&merge->counter_sums, &merge->counter_capacity, number,
                      sizeof(*merge->counter_sums));
        struct record_counter *sum = &merge->counter_sums[number - 1];
        sum->count += counter->count;
        sum->estimate += counter->estimate;
        sum->enabled_ns += counter->enabled_ns;
        sum->running_ns += counter->running_ns;
        sum->processes += counter->processes;
    }
}

void merge_write_counters(struct profile_merge *merge)
{
    for (uint32_t i = 0; i < merge->counters.count; i++) {
        const unsigned char *key = merge->counters.keys[i] + 8;
        const struct record_counter *sum = &merge->counter_sums[i];
        struct record_counter head;
        memcpy(&head, key, sizeof(head));
        head.count = sum->count;
        head.estimate = sum->estimate;
        head.enabled_ns = sum->enabled_ns;
        head.running_ns = sum->running_ns;
        head.processes = sum->processes;
        merge_append(merge, RECORD_COUNTER, &head, sizeof(head), key + sizeof(head),
                     strlen((const char *)key + sizeof(head)) + 1);
    }
}

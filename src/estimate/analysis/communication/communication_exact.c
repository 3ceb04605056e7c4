/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flows of an engine that saw every access: one per RECORD_TRANSFER. The most frequent transfers
 * are told by line and instructions; what remains of a pair of threads is a flow without them.
 */
#include <stdio.h>

#include "analysis/communication/communication_internal.h"

static bool wanted(const struct communication *communication, const struct record_transfer *record)
{
    uint32_t thread_id = communication->analysis->options.thread_id;

    return record->line_size == communication->line_size && record->transfers > 0 &&
           (!thread_id || record->source_thread == thread_id ||
            record->destination_thread == thread_id);
}

static void add(struct communication *communication, size_t profile_index,
                const struct record_transfer *record)
{
    struct flow *flow = communication_add(communication);

    flow->profile_index = profile_index;
    flow->kind = record->kind;
    flow->true_sharing = record->true_sharing != 0;
    flow->object_kind = record->object_kind;
    flow->object_reference = record->object_reference;
    flow->object_base = record->object_base;
    flow->object_size = record->object_size;
    flow->line_address = record->object_address;
    flow->source.thread_id = record->source_thread;
    flow->source.ip = record->source_ip;
    flow->source.offset = record->source_offset;
    flow->source.width = record->source_width;
    flow->destination.thread_id = record->destination_thread;
    flow->destination.ip = record->destination_ip;
    flow->destination.offset = record->destination_offset;
    flow->destination.width = record->destination_width;
    flow->transfers = record->transfers;
}

bool communication_from_counts(struct communication *communication, char *message,
                               size_t message_size)
{
    const struct analysis *analysis = communication->analysis;
    size_t counted = 0, fitting = 0, threads = 0;

    for (size_t p = 0; p < analysis->profile_count; p++) {
        const struct profile *profile = analysis->profiles[p];

        threads = profile->threads.count > threads ? profile->threads.count : threads;
        for (size_t i = 0; i < profile->transfers.count; i++) {
            const struct record_transfer *record = &profile->transfers.items[i];

            counted++;
            fitting += record->line_size == communication->line_size;
            if (wanted(communication, record))
                add(communication, p, record);
        }
    }
    if (counted == 0 && threads > 1) {
        snprintf(message, message_size,
                 "%s tells nothing of communication between its threads: record it without "
                 "--no-sharing",
                 analysis->profiles[0]->path);
        return false;
    }
    if (counted > 0 && fitting == 0) {
        snprintf(message, message_size,
                 "%s holds no communication for %u-byte lines: record it with that line size",
                 analysis->profiles[0]->path, communication->line_size);
        return false;
    }
    return true;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The merge's copying of one input: every record with its identifiers and addresses translated. */
#include <stdlib.h>
#include <string.h>

#include "profile/merge_internal.h"
#include "profile/reader_internal.h"
#include "support/memory.h"

#define RECORDS(member) ((const struct record_array *)&input->profile->member)

static uint32_t number_at(const uint32_t *numbers, size_t position)
{
    return position == NOT_FOUND ? 0 : numbers[position];
}

uint32_t merge_origin(const struct merge_input *input, uint32_t origin_id)
{
    size_t position = find_position(RECORDS(origins), 0, sizeof(origin_id), origin_id);
    return position == NOT_FOUND ? input->own_origin : input->origins[position];
}

uint32_t merge_thread(const struct merge_input *input, uint32_t thread_id)
{
    return number_at(input->threads, find_position(RECORDS(threads), sizeof(struct record_thread),
                                                   sizeof(thread_id), thread_id));
}

uint32_t merge_region(const struct merge_input *input, uint32_t region_id)
{
    return number_at(input->regions,
                     find_position(RECORDS(regions), 0, sizeof(region_id), region_id));
}

uint32_t merge_reference(const struct merge_input *input, uint8_t object_kind, uint32_t reference)
{
    switch (object_kind) {
    case OBJECT_HEAP:
    case OBJECT_MAPPING:
    case OBJECT_NAMED:
        return number_at(input->sites,
                         find_position(RECORDS(sites), 0, sizeof(reference), reference));
    case OBJECT_GLOBAL:
        return number_at(input->modules,
                         find_position(RECORDS(modules), 0, sizeof(reference), reference));
    case OBJECT_STACK:
        return merge_thread(input, reference);
    default:
        return 0;
    }
}

static uint64_t move_if_set(uint64_t address, uint64_t move)
{
    return address ? address + move : 0;
}

uint64_t merge_code_if_set(const struct merge_input *input, uint64_t address, uint64_t time_ns)
{
    return address ? merge_code_address(input, address, time_ns) : 0;
}

static void merge_threads(struct merge_input *input)
{
    struct profile_merge *merge = input->merge;
    for (size_t i = 0; i < input->profile->threads.count; i++) {
        struct record_thread thread = input->profile->threads.items[i];
        input->threads[i] = ++merge->threads;
        thread.thread_id = input->threads[i];
        thread.origin_id = merge_origin(input, thread.origin_id);
        merge_append(merge, RECORD_THREAD, &thread, sizeof(thread), NULL, 0);
    }
    for (size_t i = 0; i < input->profile->thread_ends.count; i++) {
        struct record_thread_end end = input->profile->thread_ends.items[i];
        end.thread_id = merge_thread(input, end.thread_id);
        if (end.thread_id)
            merge_append(merge, RECORD_THREAD_END, &end, sizeof(end), NULL, 0);
    }
    for (size_t i = 0; i < input->profile->totals.count; i++) {
        struct record_totals totals = input->profile->totals.items[i];
        totals.thread_id = merge_thread(input, totals.thread_id);
        if (totals.thread_id)
            merge_append(merge, RECORD_TOTALS, &totals, sizeof(totals), NULL, 0);
    }
}

static void merge_mappings_and_notes(struct merge_input *input)
{
    for (size_t i = 0; i < input->profile->mappings.count; i++) {
        const struct record_mapping *original = input->profile->mappings.items[i];
        struct record_mapping mapping = *original;
        mapping.origin_id = merge_origin(input, mapping.origin_id);
        merge_append(input->merge, RECORD_MAPPING, &mapping, sizeof(mapping), original->path,
                     strlen(original->path) + 1);
    }
    for (size_t i = 0; i < input->profile->notes.count; i++) {
        const struct record_note *original = input->profile->notes.items[i];
        struct record_note note = *original;
        note.origin_id = merge_origin(input, note.origin_id);
        merge_append(input->merge, RECORD_NOTE, &note, sizeof(note), original->text,
                     strlen(original->text) + 1);
    }
}

static void merge_watch_end(struct merge_input *input, const struct record_watch_end *original,
                            uint64_t sample_id)
{
    struct record_watch_end end = *original;
    end.sample_id = sample_id;
    end.thread_id = merge_thread(input, end.thread_id);
    end.context_id = merge_context(input, end.context_id, end.monotonic_ns);
    end.ip = merge_code_if_set(input, end.ip, end.monotonic_ns);
    merge_append(input->merge, RECORD_WATCH_END, &end, sizeof(end), NULL, 0);
}

static void merge_invalidation(struct merge_input *input,
                               const struct record_invalidation *original, uint64_t sample_id)
{
    struct record_invalidation invalidation = *original;
    uint64_t time = invalidation.monotonic_ns;
    invalidation.sample_id = sample_id;
    invalidation.thread_id = merge_thread(input, invalidation.thread_id);
    invalidation.context_id = merge_context(input, invalidation.context_id, time);
    invalidation.ip = merge_code_if_set(input, invalidation.ip, time);
    merge_append(input->merge, RECORD_INVALIDATION, &invalidation, sizeof(invalidation), NULL, 0);
}

static void merge_samples(struct merge_input *input)
{
    input->samples_before = input->merge->samples;
    for (size_t i = 0; i < input->profile->samples.count; i++) {
        const struct record_sample *original = &input->profile->samples.items[i];
        struct record_sample sample = *original;
        uint64_t time = sample.monotonic_ns;
        uint64_t move = merge_data_move(input, sample.object_kind, sample.object_reference);
        sample.sample_id = ++input->merge->samples;
        sample.thread_id = merge_thread(input, sample.thread_id);
        sample.context_id = merge_context(input, sample.context_id, time);
        sample.burst_id = merge_burst(input, sample.burst_id);
        if (sample.region_id)
            sample.region_id = merge_region(input, sample.region_id);
        sample.ip = merge_code_if_set(input, sample.ip, time);
        sample.loop = merge_code_if_set(input, sample.loop, time);
        sample.reuse_ip = merge_code_if_set(input, sample.reuse_ip, time);
        sample.address = move_if_set(sample.address, move);
        sample.object_base = move_if_set(sample.object_base, move);
        sample.watch_address = move_if_set(sample.watch_address, move);
        sample.invalidation_address = move_if_set(sample.invalidation_address, move);
        sample.object_reference =
            merge_reference(input, sample.object_kind, sample.object_reference);
        merge_append(input->merge, RECORD_SAMPLE, &sample, sizeof(sample), NULL, 0);
        const struct record_invalidation *invalidation =
            profile_invalidation(input->profile, original->sample_id);
        if (invalidation)
            merge_invalidation(input, invalidation, sample.sample_id);
        const struct record_watch_end *end = profile_watch_end(input->profile, original->sample_id);
        if (end)
            merge_watch_end(input, end, sample.sample_id);
    }
}

/* Addresses of data are told apart by thread. */
static void merge_progress(struct merge_input *input)
{
    for (size_t i = 0; i < input->profile->progress.count; i++) {
        const struct record_progress *original = input->profile->progress.items[i];
        struct record_progress progress = *original;

        progress.thread_id = merge_thread(input, progress.thread_id);
        progress.loop = merge_code_if_set(input, progress.loop, progress.monotonic_ns);
        progress.burst_id = merge_burst(input, progress.burst_id);
        progress.ip = merge_code_if_set(input, progress.ip, progress.monotonic_ns);
        for (unsigned k = 0; k < TICKS_MAX; k++)
            progress.ticks[k] = merge_code_if_set(input, progress.ticks[k], progress.monotonic_ns);
        merge_append(input->merge, RECORD_PROGRESS, &progress, sizeof(progress),
                     original->variables, progress.count * sizeof *original->variables);
    }
}

/* A thread is in one input only: nothing to add up. */
static void merge_served(struct merge_input *input)
{
    for (size_t i = 0; i < input->profile->served.count; i++) {
        struct record_served served = input->profile->served.items[i];
        uint64_t move = merge_data_move(input, served.object_kind, served.object_reference);
        served.thread_id = merge_thread(input, served.thread_id);
        served.ip = merge_code_if_set(input, served.ip, served.monotonic_ns);
        served.address_low = move_if_set(served.address_low, move);
        served.address_high = move_if_set(served.address_high, move);
        served.object_reference =
            merge_reference(input, served.object_kind, served.object_reference);
        merge_append(input->merge, RECORD_SERVED, &served, sizeof(served), NULL, 0);
    }
}

static int compare_transfers(const void *left, const void *right)
{
    return memcmp(left, right, offsetof(struct record_transfer, transfers));
}

/* Two keys of the input may have become one, if it held an object or a context twice. */
static void merge_transfers(struct merge_input *input)
{
    size_t count = input->profile->transfers.count;
    struct record_transfer *transfers = allocate(count, sizeof(*transfers));
    for (size_t i = 0; i < count; i++) {
        struct record_transfer transfer = input->profile->transfers.items[i];
        uint64_t move = merge_data_move(input, transfer.object_kind, transfer.object_reference);
        transfer.source_thread = merge_thread(input, transfer.source_thread);
        transfer.destination_thread = merge_thread(input, transfer.destination_thread);
        transfer.object_address = move_if_set(transfer.object_address, move);
        transfer.object_base = move_if_set(transfer.object_base, move);
        transfer.source_ip = merge_code_if_set(input, transfer.source_ip, 0);
        transfer.destination_ip = merge_code_if_set(input, transfer.destination_ip, 0);
        transfer.object_reference =
            merge_reference(input, transfer.object_kind, transfer.object_reference);
        transfers[i] = transfer;
    }
    qsort(transfers, count, sizeof(*transfers), compare_transfers);
    for (size_t i = 0; i < count; i++) {
        if (i + 1 < count && compare_transfers(&transfers[i], &transfers[i + 1]) == 0) {
            transfers[i + 1].transfers += transfers[i].transfers;
            transfers[i + 1].variance += transfers[i].variance;
        } else {
            merge_append(input->merge, RECORD_TRANSFER, &transfers[i], sizeof(transfers[i]), NULL,
                         0);
        }
    }
    free(transfers);
}

void merge_input_open(struct merge_input *input, struct profile_merge *merge,
                      const struct profile *profile)
{
    *input = (struct merge_input){
        .merge = merge,
        .profile = profile,
        .threads = allocate_zeroed(profile->threads.count, sizeof(uint32_t)),
        .sites = allocate_zeroed(profile->sites.count, sizeof(uint32_t)),
        .modules = allocate_zeroed(profile->modules.count, sizeof(uint32_t)),
        .regions = allocate_zeroed(profile->regions.count, sizeof(uint32_t)),
        .origins = allocate_zeroed(profile->origins.count, sizeof(uint32_t)),
        .contexts = allocate_zeroed(profile->contexts.count, sizeof(uint32_t)),
        .path = allocate_zeroed(profile->contexts.count, sizeof(uint32_t)),
        .module_moves = allocate_zeroed(profile->modules.count, sizeof(uint64_t)),
    };
}

void merge_input_close(struct merge_input *input)
{
    free(input->threads);
    free(input->sites);
    free(input->modules);
    free(input->regions);
    free(input->origins);
    free(input->contexts);
    free(input->path);
    free(input->module_moves);
}

void merge_input_records(struct merge_input *input)
{
    merge_origins(input);
    merge_modules(input);
    merge_threads(input);
    merge_sites(input);
    merge_regions(input);
    merge_mappings_and_notes(input);
    merge_bursts(input);
    merge_shared_memory(input);
    merge_samples(input);
    merge_line_watches(input);
    merge_progress(input);
    merge_served(input);
    merge_transfers(input);
    merge_histograms(input);
    merge_counters(input);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flows of an engine that saw every access: one per RECORD_TRANSFER. The most frequent transfers
 * are told by line and instructions; what remains of a pair of threads is a flow without them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/communication/communication_internal.h"
#include "analysis/communication/process_lines.h"
#include "support/memory.h"

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

/* ---- between processes ---- */

/* A thread as other processes know it. */
struct known_thread {
    uint64_t pid;
    int64_t tid;
    const char *host;
    uint32_t thread_id;
};

static int compare_known(const void *left, const void *right)
{
    const struct known_thread *a = left, *b = right;

    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    return (a->tid > b->tid) - (a->tid < b->tid);
}

static const char *text_of(const struct profile *profile, uint32_t thread_id, const char *key)
{
    const struct record_thread *thread = profile_thread(profile, thread_id);

    return profile_origin_text(profile, thread ? thread->origin_id : 0, key, "");
}

/* The threads of a profile, sorted. */
static struct known_thread *list_threads(const struct profile *profile)
{
    struct known_thread *threads = allocate(profile->threads.count, sizeof *threads);

    for (size_t i = 0; i < profile->threads.count; i++) {
        const struct record_thread *thread = &profile->threads.items[i];

        threads[i] = (struct known_thread){
            .pid = strtoull(text_of(profile, thread->thread_id, "pid"), NULL, 10),
            .tid = thread->tid,
            .host = text_of(profile, thread->thread_id, "host"),
            .thread_id = thread->thread_id};
    }
    qsort(threads, profile->threads.count, sizeof *threads, compare_known);
    return threads;
}

/* 0: its process's file is not among those that were read. */
static uint32_t find_source(const struct profile *profile, const struct known_thread *threads,
                            const struct record_process_transfer *record)
{
    const struct known_thread key = {.pid = record->source_pid, .tid = record->source_tid};
    const struct known_thread *found =
        bsearch(&key, threads, profile->threads.count, sizeof key, compare_known);

    return found && strcmp(found->host, text_of(profile, record->destination_thread, "host")) == 0
               ? found->thread_id
               : 0;
}

static void add_between(struct communication *communication, const struct process_lines *lines,
                        size_t profile_index, const struct known_thread *threads,
                        const struct record_process_transfer *record)
{
    const struct profile *profile = communication->analysis->profiles[profile_index];
    uint32_t file = process_lines_file(lines, (uint32_t)profile_index, record->mapping_id);
    uint32_t only = communication->analysis->options.thread_id;
    uint32_t source = find_source(profile, threads, record);
    struct flow *flow;

    if (record->line_size != communication->line_size || !(record->transfers > 0) ||
        file == NO_FILE || (only && source != only && record->destination_thread != only))
        return;
    flow = communication_add(communication);
    *flow = (struct flow){
        .profile_index = profile_index,
        .kind = record->kind,
        .true_sharing = record->true_sharing != 0,
        .object_kind = OBJECT_SHARED,
        .object_reference = lines->files[file].mapping_id,
        .object_base = shared_file_address(file, 0),
        .object_size = lines->files[file].bytes,
        .line_address = shared_file_address(file, record->line),
        .source = {.thread_id = source,
                   .offset = record->source_offset,
                   .width = record->source_width},
        .destination = {.thread_id = record->destination_thread,
                        .ip = record->destination_ip,
                        .offset = record->destination_offset,
                        .width = record->destination_width},
        .transfers = record->transfers,
    };
}

static void add_processes(struct communication *communication)
{
    const struct analysis *analysis = communication->analysis;
    struct process_lines lines;

    process_lines_create(analysis, communication->line_size, &lines);
    for (size_t p = 0; p < analysis->profile_count; p++) {
        const struct profile *profile = analysis->profiles[p];
        struct known_thread *threads = list_threads(profile);

        for (size_t i = 0; i < profile->process_transfers.count; i++)
            add_between(communication, &lines, p, threads, &profile->process_transfers.items[i]);
        free(threads);
    }
    process_lines_free(&lines);
}

bool communication_from_counts(struct communication *communication, char *message,
                               size_t message_size)
{
    const struct analysis *analysis = communication->analysis;
    size_t counted = 0, fitting = 0;
    bool threads = false;

    for (size_t p = 0; p < analysis->profile_count; p++) {
        const struct profile *profile = analysis->profiles[p];

        threads |= profile_runs_threads(profile);
        for (size_t i = 0; i < profile->process_transfers.count; i++) {
            counted++;
            fitting += profile->process_transfers.items[i].line_size == communication->line_size;
        }
        for (size_t i = 0; i < profile->transfers.count; i++) {
            const struct record_transfer *record = &profile->transfers.items[i];

            counted++;
            fitting += record->line_size == communication->line_size;
            if (wanted(communication, record))
                add(communication, p, record);
        }
    }
    if (counted == 0 && threads) {
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
    add_processes(communication);
    return true;
}

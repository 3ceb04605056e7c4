/* SPDX-License-Identifier: BSD-3-Clause */
/* See recorded_names.h and recording.h. */
#include "perfdata/recorded_names.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "pmu/bytes.h"

/* Not in the headers of the oldest system that we build on. */
enum { MISC_MMAP_BUILD_ID = 1 << 14 };

/* A text inside a record; NULL if it has no end. */
static const char *text_at(const struct perf_file_record *record, size_t at)
{
    if (at >= record->header.size || !memchr(record->bytes + at, 0, record->header.size - at))
        return NULL;
    return (const char *)record->bytes + at;
}

static void add_map(struct recording *recording, const struct perf_file_record *record,
                    uint64_t time)
{
    bool second = record->header.type == PERF_RECORD_MMAP2;
    size_t name = second ? 72 : 40;
    struct recorded_map map = {.time = time, .path = text_at(record, name)};
    const uint8_t *bytes = record->bytes;

    if (!map.path || (record->header.misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER)
        return;
    map.pid = load32(bytes + 8);
    map.start = load64(bytes + 16);
    map.end = map.start + load64(bytes + 24);
    map.offset = load64(bytes + 32);
    if (map.end <= map.start)
        return;
    if (second && record->header.misc & MISC_MMAP_BUILD_ID && bytes[40] <= RECORDED_BUILD_ID_MAX) {
        map.build_id = bytes + 44;
        map.build_id_size = bytes[40];
    }
    ARRAY_PUSH(&recording->maps, map);
}

static void add_thread(struct recording *recording, const struct perf_file_record *record)
{
    struct recorded_thread thread = {.name = text_at(record, 16)};

    if (!thread.name)
        return;
    thread.pid = load32(record->bytes + 8);
    thread.tid = load32(record->bytes + 12);
    for (size_t i = 0; i < recording->threads.count; i++)
        if (recording->threads.items[i].tid == thread.tid) {
            recording->threads.items[i] = thread;
            return;
        }
    ARRAY_PUSH(&recording->threads, thread);
}

static void add_fork(struct recording *recording, const struct perf_file_record *record)
{
    struct recorded_fork fork = {0};

    if (record->header.size < 16)
        return;
    fork.pid = load32(record->bytes + 8);
    fork.parent = load32(record->bytes + 12);
    if (fork.pid != fork.parent)
        ARRAY_PUSH(&recording->forks, fork);
}

void recorded_names_take(struct recording *recording, const struct perf_file_record *record,
                         uint64_t time)
{
    switch (record->header.type) {
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2:
        if (time != UINT64_MAX)
            add_map(recording, record, time);
        break;
    case PERF_RECORD_COMM:
        add_thread(recording, record);
        break;
    case PERF_RECORD_FORK:
        add_fork(recording, record);
        break;
    default:
        break;
    }
}

static int compare_maps(const void *left, const void *right)
{
    const struct recorded_map *a = left, *b = right;

    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->time < b->time ? -1 : a->time > b->time;
}

void recorded_names_sort(struct recording *recording)
{
    if (recording->maps.count > 0)
        qsort(recording->maps.items, recording->maps.count, sizeof recording->maps.items[0],
              compare_maps);
}

/* ---- questions ---- */

/* Index of the first map of pid that starts above the address. */
static size_t upper_map(const struct recording *recording, uint32_t pid, uint64_t address)
{
    size_t low = 0, high = recording->maps.count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct recorded_map *map = &recording->maps.items[middle];

        if (map->pid < pid || (map->pid == pid && map->start <= address))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct recorded_map *own_map(const struct recording *recording, uint32_t pid,
                                          uint64_t address, uint64_t time)
{
    enum { OVERLAPS = 64 }; /* mappings that may lie one upon the other */
    size_t at = upper_map(recording, pid, address);
    const struct recorded_map *best = NULL;

    for (size_t i = 0; i < OVERLAPS && at > 0; i++) {
        const struct recorded_map *map = &recording->maps.items[--at];

        if (map->pid != pid)
            break;
        if (address < map->end && map->time <= time && (!best || map->time > best->time))
            best = map;
    }
    return best;
}

const struct recorded_map *recording_map(const struct recording *recording, uint32_t pid,
                                         uint64_t address, uint64_t time)
{
    enum { GENERATIONS = 8 };

    for (int i = 0; i < GENERATIONS; i++) {
        const struct recorded_map *map = own_map(recording, pid, address, time);
        uint32_t parent = pid;

        if (map)
            return map;
        for (size_t k = 0; k < recording->forks.count; k++)
            if (recording->forks.items[k].pid == pid)
                parent = recording->forks.items[k].parent;
        if (parent == pid)
            return NULL;
        pid = parent;
    }
    return NULL;
}

const char *recording_thread_name(const struct recording *recording, uint32_t tid)
{
    for (size_t i = 0; i < recording->threads.count; i++)
        if (recording->threads.items[i].tid == tid)
            return recording->threads.items[i].name;
    return NULL;
}

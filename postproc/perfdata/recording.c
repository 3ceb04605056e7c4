/* SPDX-License-Identifier: BSD-3-Clause */
/* See recording.h. */
#include "perfdata/recording.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "pmu/bytes.h"
#include "pmu/ibs.h"
#include "pmu/spe.h"

/* Not in the headers of the oldest system that we build on. */
enum { MISC_MMAP_BUILD_ID = 1 << 14 };

bool recording_is_perf_data(const char *path)
{
    char magic[8] = "";
    FILE *file = fopen(path, "rbe");
    bool read = file && fread(magic, 1, sizeof magic, file) == sizeof magic;

    if (file)
        fclose(file);
    return read && (memcmp(magic, "PERFILE2", 8) == 0 || memcmp(magic, "2ELIFREP", 8) == 0 ||
                    memcmp(magic, "PERFFILE", 8) == 0);
}

/* ---- records that give names ---- */

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

/* ---- accesses ---- */

static void add_access(struct recording *recording, const struct access_record *access)
{
    enum access_use use = access_use(access);

    if (use == USE_ACCESS)
        ARRAY_PUSH(&recording->accesses, *access);
    else
        recording->left_out[use]++;
}

/* What decides on how a sample is read. */
struct reading {
    struct recording *recording;
    int ibs_type; /* of ibs_op on the machine of the file; -1: none */
    struct ibs_processor processor;
    enum perf_sample_unit unit;
    enum spe_source_table sources;
    struct perf_file_event *events; /* file.events of them */
    bool *readable;
    uint64_t unknown; /* bits of sample_type or read_format that keep events from being read */
    bool pebs_seen, ibs_seen, spe_seen;
};

/* The event that a record belongs to: the only one, or by its identifier. NULL: unknown. */
static const struct perf_file_event *event_of(const struct reading *reading,
                                              const struct perf_file_record *record)
{
    const struct perf_file *file = &reading->recording->file;
    const struct perf_layout *first = &reading->events[0].layout;
    bool sample = record->header.type == PERF_RECORD_SAMPLE;
    int place =
        sample ? perf_sample_identifier_offset(first) : perf_record_identifier_from_end(first);
    int index = 0;

    if (file->events > 1 && place >= 0 && record->header.size >= place + 8) {
        size_t at = sample ? (size_t)place : record->header.size - (size_t)place;
        uint64_t id = load64(record->bytes + at);

        /* Records that perf made up itself have 0. */
        index = id == 0 ? 0 : perf_file_event_by_id(file, id);
    }
    return index >= 0 && reading->readable[index] ? &reading->events[index] : NULL;
}

static void add_sample(struct reading *reading, const struct perf_file_record *record)
{
    const struct perf_file_event *event = event_of(reading, record);
    struct recording *recording = reading->recording;
    struct access_record access, registers_access;
    struct ibs_registers registers;
    struct perf_sample sample;

    if (!event ||
        !perf_sample_decode(&event->layout, record->bytes, record->header.size, &sample)) {
        recording->left_out[USE_DAMAGED]++;
        return;
    }
    if ((int)event->type == reading->ibs_type) {
        perf_sample_to_record(&event->layout, &sample, record->header.misc, UNIT_IBS, 0, &access);
        reading->ibs_seen = true;
        /* The registers tell more than what the kernel makes of them. */
        if (sample.raw && ibs_decode(sample.raw, sample.raw_size, &registers) &&
            ibs_to_record(&registers, &reading->processor, &registers_access)) {
            registers_access.time = access.time;
            registers_access.pid = access.pid;
            registers_access.tid = access.tid;
            registers_access.cpu = access.cpu;
            registers_access.privilege = access.privilege;
            access = registers_access;
        }
    } else {
        perf_sample_to_record(&event->layout, &sample, record->header.misc, reading->unit, 0,
                              &access);
        reading->pebs_seen |= access.kinds != 0;
    }
    add_access(recording, &access);
}

/* ---- SPE ---- */

/* One AUX buffer of the recording machine. */
struct aux_buffer {
    uint32_t index;
    uint64_t next; /* offset that the next piece should have */
    struct spe_stream stream;
};
typedef ARRAY(struct aux_buffer) aux_buffers;

static uint32_t process_of(const struct recording *recording, uint32_t tid)
{
    for (size_t i = 0; i < recording->threads.count; i++)
        if (recording->threads.items[i].tid == tid)
            return recording->threads.items[i].pid;
    return tid;
}

static void add_aux(struct reading *reading, aux_buffers *buffers,
                    const struct perf_file_record *record)
{
    struct aux_buffer *buffer = NULL;
    struct perf_file_aux aux;
    struct spe_record spe;

    if (!perf_file_aux(record, &aux))
        return;
    for (size_t i = 0; i < buffers->count; i++)
        if (buffers->items[i].index == aux.index)
            buffer = &buffers->items[i];
    if (!buffer) {
        struct aux_buffer fresh = {.index = aux.index, .next = aux.offset};

        spe_begin(&fresh.stream);
        ARRAY_PUSH(buffers, fresh);
        buffer = &buffers->items[buffers->count - 1];
    }
    if (aux.offset != buffer->next)
        spe_gap(&buffer->stream);
    buffer->next = aux.offset + record->data_size;
    spe_feed(&buffer->stream, record->data, record->data_size);
    while (spe_next(&buffer->stream, &spe)) {
        struct access_record access;

        spe_to_record(&spe, reading->sources, &access);
        /* The thread is the buffer's, or in the record where the kernel puts it there. */
        if (aux.tid != UINT32_MAX)
            access.tid = aux.tid;
        access.cpu = aux.cpu;
        access.pid = access.tid ? process_of(reading->recording, access.tid) : 0;
        /* Ticks of the system counter are not the clock of the mappings. */
        access.time = UINT64_MAX;
        reading->spe_seen = true;
        add_access(reading->recording, &access);
    }
}

/* ---- the whole file ---- */

static int compare_maps(const void *left, const void *right)
{
    const struct recorded_map *a = left, *b = right;

    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->time < b->time ? -1 : a->time > b->time;
}

/* First what gives names: the file is not in the order of time. */
static void read_names(struct reading *reading)
{
    struct recording *recording = reading->recording;
    struct perf_file_record record;
    struct perf_sample identity;
    size_t at = 0;

    while (perf_file_next(&recording->file, &at, &record)) {
        const struct perf_file_event *event;

        switch (record.header.type) {
        case PERF_RECORD_MMAP:
        case PERF_RECORD_MMAP2:
            event = event_of(reading, &record);
            if (event &&
                perf_record_identity(&event->layout, record.bytes, record.header.size, &identity))
                add_map(recording, &record, identity.time);
            break;
        case PERF_RECORD_COMM:
            add_thread(recording, &record);
            break;
        case PERF_RECORD_FORK:
            add_fork(recording, &record);
            break;
        default:
            break;
        }
    }
    if (recording->maps.count > 0)
        qsort(recording->maps.items, recording->maps.count, sizeof recording->maps.items[0],
              compare_maps);
}

/* False if the file is compressed. */
static bool read_accesses(struct reading *reading)
{
    struct recording *recording = reading->recording;
    struct perf_file_record record;
    struct perf_stream_record stream;
    aux_buffers buffers = {0};
    bool compressed = false;
    size_t at = 0;

    while (perf_file_next(&recording->file, &at, &record) && !compressed) {
        switch (record.header.type) {
        case PERF_RECORD_SAMPLE:
            add_sample(reading, &record);
            break;
        case PERF_FILE_AUXTRACE:
            add_aux(reading, &buffers, &record);
            break;
        case PERF_FILE_COMPRESSED:
        case PERF_FILE_COMPRESSED_2:
            compressed = true;
            break;
        default:
            if (!perf_stream_decode(record.bytes, record.header.size, &stream))
                recording->left_out[USE_DAMAGED]++;
            recording->lost += stream.event == STREAM_LOST ? stream.count : 0;
            recording->throttled += stream.event == STREAM_THROTTLED;
            recording->truncated +=
                stream.event == STREAM_AUX && stream.flags & PERF_AUX_FLAG_TRUNCATED;
        }
    }
    free(buffers.items);
    return !compressed;
}

/* Whose machine it was. */
static void read_machine(struct reading *reading)
{
    struct recording *recording = reading->recording;
    char cpuid[128];
    const uint8_t *bytes;
    size_t size;
    unsigned family, model;

    perf_file_string(&recording->file, PERF_FEATURE_HOSTNAME, recording->host,
                     sizeof recording->host);
    perf_file_string(&recording->file, PERF_FEATURE_CPU_DESCRIPTION, recording->processor,
                     sizeof recording->processor);
    perf_file_string(&recording->file, PERF_FEATURE_CPUID, cpuid, sizeof cpuid);
    reading->ibs_type = perf_file_pmu_type(&recording->file, "ibs_op");
    reading->unit = UNIT_GENERIC;
    if (sscanf(cpuid, "GenuineIntel,%u,%u", &family, &model) == 2)
        reading->unit = UNIT_PEBS;
    else if (sscanf(cpuid, "AuthenticAMD,%u,%u", &family, &model) == 2)
        reading->processor = (struct ibs_processor){family, model};
    else if (strncmp(cpuid, "0x", 2) == 0)
        reading->sources = spe_source_table_for(strtoull(cpuid, NULL, 16));
    /* Arguments: their number, then texts with their lengths. */
    if (!perf_file_feature(&recording->file, PERF_FEATURE_COMMAND_LINE, &bytes, &size) || size < 4)
        return;
    for (size_t at = 4; size - at >= 4;) {
        uint32_t length = load32(bytes + at);
        size_t used = strlen(recording->command);

        at += 4;
        if (length > size - at)
            break;
        snprintf(recording->command + used, sizeof recording->command - used, "%s%.*s",
                 used ? " " : "", (int)(length < 256 ? length : 256), (const char *)bytes + at);
        at += length;
    }
}

static void prepare_events(struct reading *reading)
{
    const struct perf_file *file = &reading->recording->file;

    reading->events = allocate_zeroed(file->events, sizeof reading->events[0]);
    reading->readable = allocate_zeroed(file->events, sizeof reading->readable[0]);
    for (size_t i = 0; i < file->events; i++) {
        bool there = perf_file_event(file, i, &reading->events[i]);
        uint64_t unknown = there ? perf_layout_unknown(&reading->events[i].layout) : 0;

        reading->readable[i] = there && unknown == 0;
        reading->unknown |= unknown;
    }
}

static uint8_t *read_file(const char *path, size_t *size, char *message, size_t message_size)
{
    FILE *file = fopen(path, "rbe");
    struct stat status;
    uint8_t *bytes;

    if (!file || fstat(fileno(file), &status) != 0) {
        snprintf(message, message_size, "%s: %s", path, strerror(errno));
        if (file)
            fclose(file);
        return NULL;
    }
    bytes = allocate_zeroed((size_t)status.st_size + 1, 1);
    *size = fread(bytes, 1, (size_t)status.st_size, file);
    fclose(file);
    return bytes;
}

static const char *unit_name(const struct reading *reading)
{
    return reading->spe_seen                                  ? "SPE"
           : reading->ibs_seen                                ? "IBS"
           : reading->unit == UNIT_PEBS && reading->pebs_seen ? "PEBS"
                                                              : "hardware events";
}

struct recording *recording_load(const char *path, char *message, size_t message_size)
{
    struct recording *recording = allocate_zeroed(1, sizeof *recording);
    struct reading reading = {.recording = recording};
    enum perf_file_status status;

    recording->bytes = read_file(path, &recording->size, message, message_size);
    if (!recording->bytes) {
        recording_free(recording);
        return NULL;
    }
    status = perf_file_open(&recording->file, recording->bytes, recording->size);
    if (status != PERF_FILE_GOOD) {
        snprintf(message, message_size, "%s %s", path, perf_file_explain(status));
        recording_free(recording);
        return NULL;
    }
    read_machine(&reading);
    prepare_events(&reading);
    read_names(&reading);
    if (!read_accesses(&reading)) {
        snprintf(message, message_size,
                 "%s is compressed: record it without -z, or decompress it with `perf inject`",
                 path);
        recording_free(recording);
        recording = NULL;
    } else if (recording->accesses.count == 0 && reading.unknown) {
        snprintf(
            message, message_size,
            "%s has samples with fields that are not known here (bits 0x%llx of sample_type or "
            "read_format): a newer perf recorded it, or it is damaged",
            path, (unsigned long long)reading.unknown);
        recording_free(recording);
        recording = NULL;
    } else if (recording->accesses.count == 0) {
        snprintf(message, message_size,
                 "%s has no sampled access of user space with an address (record with `perf mem "
                 "record` or `perf c2c record`)",
                 path);
        recording_free(recording);
        recording = NULL;
    } else {
        recording->units = unit_name(&reading);
    }
    free(reading.events);
    free(reading.readable);
    return recording;
}

void recording_free(struct recording *recording)
{
    if (!recording)
        return;
    free(recording->accesses.items);
    free(recording->maps.items);
    free(recording->threads.items);
    free(recording->forks.items);
    free(recording->bytes);
    free(recording);
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

/* SPDX-License-Identifier: BSD-3-Clause */
/* See recording.h. */
#include "perfdata/recording.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "perfdata/recorded_names.h"
#include "pmu/bytes.h"
#include "pmu/ibs.h"
#include "pmu/spe.h"

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

/* ---- accesses ---- */

/* Whether it is one that the report is about. */
static bool add_access(struct recording *recording, const struct access_record *access)
{
    enum access_use use = access_use(access);

    if (use == USE_ACCESS)
        ARRAY_PUSH(&recording->accesses, *access);
    else
        recording->left_out[use]++;
    return use == USE_ACCESS;
}

static void add_stack(struct recording *recording, const struct perf_layout *layout,
                      const struct perf_sample *sample, bool is_access)
{
    enum { ABI_64 = 2 }; /* PERF_SAMPLE_REGS_ABI_64 */
    struct recorded_sample recorded = {
        .pid = sample->pid,
        .tid = sample->tid,
        .time = layout->sample_type & PERF_SAMPLE_TIME ? sample->time : UINT64_MAX,
        .access = is_access ? recording->accesses.count - 1 : SIZE_MAX,
        .stack = {.chain = sample->callchain, .chain_count = sample->callchain_count},
    };

    if (sample->user_registers && sample->user_abi == ABI_64 && sample->stack) {
        recorded.stack.registers = sample->user_registers;
        recorded.stack.register_mask = layout->registers_user;
        recorded.stack.bytes = sample->stack;
        recorded.stack.size = sample->stack_size;
    }
    if (recorded.stack.chain || recorded.stack.registers)
        ARRAY_PUSH(&recording->samples, recorded);
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
    bool is_access;

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
    is_access = add_access(recording, &access);
    if (access.privilege != PRIVILEGE_KERNEL && access.privilege != PRIVILEGE_HYPERVISOR)
        add_stack(recording, &event->layout, &sample, is_access);
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

/* First what gives names: the file is not in the order of time. */
static void read_names(struct reading *reading)
{
    struct recording *recording = reading->recording;
    struct perf_file_record record;
    struct perf_sample identity;
    size_t at = 0;

    while (perf_file_next(&recording->file, &at, &record)) {
        const struct perf_file_event *event = NULL;

        if (record.header.type == PERF_RECORD_MMAP || record.header.type == PERF_RECORD_MMAP2)
            event = event_of(reading, &record);
        if (!event ||
            !perf_record_identity(&event->layout, record.bytes, record.header.size, &identity))
            identity.time = UINT64_MAX;
        recorded_names_take(recording, &record, identity.time);
    }
    recorded_names_sort(recording);
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
    perf_file_string(&recording->file, PERF_FEATURE_ARCHITECTURE, recording->machine,
                     sizeof recording->machine);
    perf_file_event_name(&recording->file, 0, recording->event, sizeof recording->event);
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
    } else if (recording->accesses.count + recording->samples.count == 0 && reading.unknown) {
        snprintf(
            message, message_size,
            "%s has samples with fields that are not known here (bits 0x%llx of sample_type or "
            "read_format): a newer perf recorded it, or it is damaged",
            path, (unsigned long long)reading.unknown);
        recording_free(recording);
        recording = NULL;
    } else if (recording->accesses.count + recording->samples.count == 0) {
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
    free(recording->samples.items);
    free(recording->maps.items);
    free(recording->threads.items);
    free(recording->forks.items);
    free(recording->bytes);
    free(recording);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* See perf_file.h. */
#include "pmu/perf_file.h"

#include <string.h>

#include "pmu/bytes.h"

enum {
    HEADER_SIZE = 104,
    HEADER_SIZE_PIPE = 16,
    SECTION = 16,         /* offset and size of a part of the file */
    ATTRIBUTE_LEAST = 64, /* first published size of perf_event_attr */
};

/* Places in the file's header and in perf_event_attr. */
enum {
    AT_HEADER_SIZE = 8,
    AT_ATTRIBUTE_SIZE = 16,
    AT_ATTRIBUTES = 24,
    AT_DATA = 40,
    AT_FEATURES = 72,

    ATTR_TYPE = 0,
    ATTR_SIZE = 4,
    ATTR_CONFIG = 8,
    ATTR_PERIOD = 16,
    ATTR_SAMPLE_TYPE = 24,
    ATTR_READ_FORMAT = 32,
    ATTR_FLAGS = 40,
    ATTR_CONFIG1 = 56,
    ATTR_CONFIG2 = 64,
    ATTR_BRANCH_TYPE = 72,
    ATTR_REGISTERS_USER = 80,
    ATTR_REGISTERS_INTERRUPTED = 96,
    FLAG_FREQUENCY = 10,
    FLAG_PRECISE = 15, /* two bits */
    FLAG_SAMPLE_ID_ALL = 18,
};

const char *perf_file_explain(enum perf_file_status status)
{
    switch (status) {
    case PERF_FILE_GOOD:
        return "is a good perf.data file";
    case PERF_FILE_FOREIGN:
        return "is not a perf.data file";
    case PERF_FILE_OLD:
        return "was written by a perf older than Linux 2.6.39: record it again with a newer one";
    case PERF_FILE_BYTE_ORDER:
        return "was written on a machine of the other byte order: read it on such a machine";
    case PERF_FILE_PIPE:
        return "was written to a pipe: convert it with `perf inject -i PIPED -o perf.data`, or "
               "record with `perf mem record -o FILE`";
    case PERF_FILE_DAMAGED:
        return "is damaged: its header points outside of the file";
    case PERF_FILE_EMPTY:
        return "describes no event";
    }
    return "cannot be read";
}

/* Whether `count` bytes at `offset` are inside. */
static bool inside(const struct perf_file *file, uint64_t offset, uint64_t count)
{
    return offset <= file->size && count <= file->size - offset;
}

enum perf_file_status perf_file_open(struct perf_file *file, const uint8_t *bytes, size_t size)
{
    uint64_t section_size, data_size;

    memset(file, 0, sizeof *file);
    file->bytes = bytes;
    file->size = size;
    if (size < HEADER_SIZE_PIPE)
        return PERF_FILE_FOREIGN;
    if (memcmp(bytes, "2ELIFREP", 8) == 0)
        return PERF_FILE_BYTE_ORDER;
    if (memcmp(bytes, "PERFFILE", 8) == 0)
        return PERF_FILE_OLD;
    if (memcmp(bytes, "PERFILE2", 8) != 0)
        return PERF_FILE_FOREIGN;
    if (load64(bytes + AT_HEADER_SIZE) == HEADER_SIZE_PIPE)
        return PERF_FILE_PIPE;
    if (size < HEADER_SIZE || load64(bytes + AT_HEADER_SIZE) < HEADER_SIZE)
        return PERF_FILE_DAMAGED;
    file->attribute_size = load64(bytes + AT_ATTRIBUTE_SIZE);
    file->attributes = load64(bytes + AT_ATTRIBUTES);
    section_size = load64(bytes + AT_ATTRIBUTES + 8);
    if (file->attribute_size < ATTRIBUTE_LEAST + SECTION ||
        !inside(file, file->attributes, section_size))
        return PERF_FILE_DAMAGED;
    file->events = section_size / file->attribute_size;
    if (file->events == 0)
        return PERF_FILE_EMPTY;
    file->data = load64(bytes + AT_DATA);
    data_size = load64(bytes + AT_DATA + 8);
    if (file->data > size)
        return PERF_FILE_DAMAGED;
    /* perf writes the size when it ends: 0 after a crash. */
    file->cut = data_size == 0 || !inside(file, file->data, data_size);
    file->data_end = file->cut ? size : file->data + data_size;
    if (!file->cut)
        memcpy(file->features, bytes + AT_FEATURES, sizeof file->features);
    return PERF_FILE_GOOD;
}

bool perf_file_event(const struct perf_file *file, size_t index, struct perf_file_event *event)
{
    const uint8_t *attribute = file->bytes + file->attributes + index * file->attribute_size;
    size_t length = file->attribute_size - SECTION;
    uint64_t flags, ids, id_bytes;

    if (index >= file->events)
        return false;
    ids = load64(attribute + length);
    id_bytes = load64(attribute + length + 8);
    if (!inside(file, ids, id_bytes))
        return false;
    flags = load64(attribute + ATTR_FLAGS);
    *event = (struct perf_file_event){
        .type = load32(attribute + ATTR_TYPE),
        .config = load64(attribute + ATTR_CONFIG),
        .config1 = load64(attribute + ATTR_CONFIG1),
        .period = load64(attribute + ATTR_PERIOD),
        .frequency = bits(flags, FLAG_FREQUENCY, 1),
        .precise = (unsigned)bits(flags, FLAG_PRECISE, 2),
        .layout = {.sample_type = load64(attribute + ATTR_SAMPLE_TYPE),
                   .read_format = load64(attribute + ATTR_READ_FORMAT),
                   .sample_id_all = bits(flags, FLAG_SAMPLE_ID_ALL, 1)},
        .ids = file->bytes + ids,
        .id_count = id_bytes / 8,
    };
    /* What the attribute of an older kernel does not have is 0. */
    if (length >= ATTR_CONFIG2 + 8)
        event->config2 = load64(attribute + ATTR_CONFIG2);
    if (length >= ATTR_BRANCH_TYPE + 8)
        event->layout.branch_sample_type = load64(attribute + ATTR_BRANCH_TYPE);
    if (length >= ATTR_REGISTERS_USER + 8)
        event->layout.registers_user = load64(attribute + ATTR_REGISTERS_USER);
    if (length >= ATTR_REGISTERS_INTERRUPTED + 8)
        event->layout.registers_interrupted = load64(attribute + ATTR_REGISTERS_INTERRUPTED);
    return true;
}

int perf_file_event_by_id(const struct perf_file *file, uint64_t id)
{
    struct perf_file_event event;

    for (size_t i = 0; i < file->events; i++)
        if (perf_file_event(file, i, &event))
            for (size_t k = 0; k < event.id_count; k++)
                if (load64(event.ids + 8 * k) == id)
                    return (int)i;
    return -1;
}

bool perf_file_next(struct perf_file *file, size_t *at, struct perf_file_record *record)
{
    enum { AUXTRACE_SIZE = 48, TRACING_SIZE = 12 };
    const uint8_t *bytes;
    size_t left, follows = 0;

    if (*at == 0)
        *at = file->data;
    if (*at >= file->data_end)
        return false;
    bytes = file->bytes + *at;
    left = file->data_end - *at;
    if (!perf_record_header(bytes, left, &record->header)) {
        file->cut = true;
        *at = file->data_end;
        return false;
    }
    record->bytes = bytes;
    record->data = NULL;
    if (record->header.type == PERF_FILE_AUXTRACE && record->header.size >= AUXTRACE_SIZE) {
        follows = load64(bytes + 8);
        record->data = bytes + record->header.size;
    } else if (record->header.type == PERF_FILE_TRACING_DATA &&
               record->header.size >= TRACING_SIZE) {
        follows = ((size_t)load32(bytes + 8) + 7) / 8 * 8;
    }
    left -= record->header.size;
    if (follows > left) {
        /* What is there of it is still good. */
        file->cut = true;
        follows = left;
    }
    record->data_size = record->data ? follows : 0;
    *at += record->header.size + follows;
    return true;
}

bool perf_file_aux(const struct perf_file_record *record, struct perf_file_aux *aux)
{
    if (!record->data)
        return false;
    *aux = (struct perf_file_aux){
        .offset = load64(record->bytes + 16),
        .index = load32(record->bytes + 32),
        .tid = load32(record->bytes + 36),
        .cpu = load32(record->bytes + 40),
    };
    return true;
}

bool perf_file_feature(const struct perf_file *file, enum perf_file_feature feature,
                       const uint8_t **bytes, size_t *size)
{
    uint64_t offset, length;
    size_t place = file->data_end;

    if (!(file->features[feature / 64] >> (feature % 64) & 1))
        return false;
    /* Sections stand in the order of their bits. */
    for (unsigned i = 0; i < (unsigned)feature; i++)
        place += file->features[i / 64] >> (i % 64) & 1 ? SECTION : 0;
    if (!inside(file, place, SECTION))
        return false;
    offset = load64(file->bytes + place);
    length = load64(file->bytes + place + 8);
    if (!inside(file, offset, length))
        return false;
    *bytes = file->bytes + offset;
    *size = length;
    return true;
}

void perf_file_string(const struct perf_file *file, enum perf_file_feature feature, char *text,
                      size_t size)
{
    const uint8_t *bytes;
    size_t length;

    text[0] = '\0';
    if (!perf_file_feature(file, feature, &bytes, &length) || length < 4)
        return;
    length -= 4;
    if (length > load32(bytes))
        length = load32(bytes);
    if (length > size - 1)
        length = size - 1;
    memcpy(text, bytes + 4, length);
    text[length] = '\0';
}

void perf_file_event_name(const struct perf_file *file, size_t index, char *text, size_t size)
{
    const uint8_t *bytes;
    size_t left, attribute;

    text[0] = '\0';
    if (!perf_file_feature(file, PERF_FEATURE_EVENTS, &bytes, &left) || left < 8 ||
        load32(bytes) <= index)
        return;
    attribute = load32(bytes + 4);
    bytes += 8;
    left -= 8;
    /* Each: the attribute, the number of identifiers, length of the name, name, identifiers. */
    for (;; index--) {
        size_t length, identifiers;

        if (left < 8 || left - 8 < attribute)
            return;
        identifiers = (size_t)load32(bytes + attribute) * 8;
        length = load32(bytes + attribute + 4);
        bytes += attribute + 8;
        left -= attribute + 8;
        if (length > left)
            return;
        if (index == 0) {
            length = length < size ? length : size - 1;
            memcpy(text, bytes, length);
            text[length] = '\0';
            return;
        }
        if (identifiers > left - length)
            return;
        bytes += length + identifiers;
        left -= length + identifiers;
    }
}

int perf_file_pmu_type(const struct perf_file *file, const char *name)
{
    const uint8_t *bytes, *end;
    size_t size, wanted = strlen(name);
    uint32_t count;

    if (!perf_file_feature(file, PERF_FEATURE_PMU_MAPPINGS, &bytes, &size) || size < 4)
        return -1;
    end = bytes + size;
    count = load32(bytes);
    bytes += 4;
    while (count-- > 0 && end - bytes >= 8) {
        uint32_t type = load32(bytes), length = load32(bytes + 4);

        bytes += 8;
        if (length > (size_t)(end - bytes))
            return -1;
        /* Padded with zeros to a multiple of 64 bytes. */
        if (length > wanted && memcmp(bytes, name, wanted + 1) == 0)
            return type > INT32_MAX ? -1 : (int)type;
        bytes += length;
    }
    return -1;
}

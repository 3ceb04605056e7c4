/* SPDX-License-Identifier: BSD-3-Clause */
/* See perf_sample.h. Signal-safe. */
#include "pmu/perf_sample.h"

#include <linux/perf_event.h>
#include <string.h>

#include "pmu/bytes.h"
#include "pmu/data_source.h"

#include "signal_safe.h"

enum {
    BRANCH_ENTRY = 24, /* bytes */
    /* Newer than the headers of the oldest system that we build on. */
    READ_FORMAT_LOST = 1 << 4,
    READ_FORMAT_KNOWN = 0x1f,
    BRANCH_COUNTERS = 1 << 19,
};

uint64_t perf_layout_unknown(const struct perf_layout *layout)
{
    uint64_t unknown = layout->sample_type >> PERF_SAMPLE_BITS_KNOWN << PERF_SAMPLE_BITS_KNOWN;

    if (layout->sample_type & PERF_SAMPLE_READ)
        unknown |= layout->read_format & ~(uint64_t)READ_FORMAT_KNOWN;
    return unknown;
}

bool perf_record_header(const uint8_t *bytes, size_t available, struct perf_record_header *header)
{
    if (available < PERF_RECORD_HEADER)
        return false;
    header->type = load32(bytes);
    header->misc = load16(bytes + 4);
    header->size = load16(bytes + 6);
    return header->size >= PERF_RECORD_HEADER && header->size <= available;
}

/* The rest of a record; empty once something did not fit. */
struct cursor {
    const uint8_t *at, *end;
    bool failed;
};

static inline uint64_t next_word(struct cursor *cursor)
{
    uint64_t value;

    if (__builtin_expect(cursor->end - cursor->at < 8, 0)) {
        cursor->failed = true;
        cursor->at = cursor->end;
        return 0;
    }
    value = load64(cursor->at);
    cursor->at += 8;
    return value;
}

/* `count` pieces of `unit` bytes; NULL if they are not there. */
static const uint8_t *next_bytes(struct cursor *cursor, uint64_t count, size_t unit)
{
    const uint8_t *bytes = cursor->at;

    if (count > (size_t)(cursor->end - cursor->at) / unit) {
        cursor->failed = true;
        cursor->at = cursor->end;
        return NULL;
    }
    cursor->at += count * unit;
    return bytes;
}

/* Two halves of a word. */
static inline void next_pair(struct cursor *cursor, uint32_t *first, uint32_t *second)
{
    uint64_t word = next_word(cursor);

    *first = (uint32_t)word;
    *second = (uint32_t)(word >> 32);
}

static void decode_read(struct cursor *cursor, uint64_t format, struct perf_sample *sample)
{
    const uint8_t *start = cursor->at;
    unsigned times =
        !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) + !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
    unsigned each = 1 + !!(format & PERF_FORMAT_ID) + !!(format & READ_FORMAT_LOST);

    if (format & PERF_FORMAT_GROUP) {
        uint64_t events = next_word(cursor);

        next_bytes(cursor, times, 8);
        next_bytes(cursor, events, 8 * (size_t)each);
    } else {
        next_bytes(cursor, times + each, 8);
    }
    sample->read = start;
    sample->read_size = (size_t)(cursor->at - start);
}

static void decode_branches(struct cursor *cursor, uint64_t type, struct perf_sample *sample)
{
    sample->branch_count = next_word(cursor);
    if (type & PERF_SAMPLE_BRANCH_HW_INDEX)
        next_word(cursor);
    sample->branches = next_bytes(cursor, sample->branch_count, BRANCH_ENTRY);
    if (type & BRANCH_COUNTERS)
        next_bytes(cursor, sample->branch_count, 8);
}

static const uint8_t *decode_registers(struct cursor *cursor, uint64_t mask, uint64_t *abi)
{
    *abi = next_word(cursor);
    if (*abi == PERF_SAMPLE_REGS_ABI_NONE)
        return NULL;
    return next_bytes(cursor, (unsigned)__builtin_popcountll(mask), 8);
}

static void decode_raw(struct cursor *cursor, struct perf_sample *sample)
{
    const uint8_t *size = next_bytes(cursor, 1, 4);

    if (!size)
        return;
    sample->raw_size = load32(size);
    sample->raw = next_bytes(cursor, sample->raw_size, 1);
    /* The kernel pads so that what follows is aligned; a file that was not written by it may not.
     */
    if (sample->raw)
        next_bytes(cursor, (8 - (4 + (size_t)sample->raw_size) % 8) % 8, 1);
}

static void decode_stack(struct cursor *cursor, struct perf_sample *sample)
{
    uint64_t size = next_word(cursor);

    if (size == 0)
        return;
    sample->stack = next_bytes(cursor, size, 1);
    sample->stack_size = next_word(cursor);
    if (sample->stack_size > size)
        cursor->failed = true;
}

static void decode_weight(uint64_t weight, uint64_t type, struct perf_sample *sample)
{
    bool parts = type & PERF_SAMPLE_WEIGHT_STRUCT && !(type & PERF_SAMPLE_WEIGHT);

    sample->weight = parts ? (uint32_t)weight : weight;
    sample->weight_2 = parts ? (uint16_t)(weight >> 32) : 0;
    sample->weight_3 = parts ? (uint16_t)(weight >> 48) : 0;
}

/* The fields of variable length and those that are seldom asked for. */
static void decode_middle(const struct perf_layout *layout, struct cursor *cursor,
                          struct perf_sample *sample)
{
    uint64_t type = layout->sample_type;

    if (type & PERF_SAMPLE_READ)
        decode_read(cursor, layout->read_format, sample);
    if (type & PERF_SAMPLE_CALLCHAIN) {
        sample->callchain_count = next_word(cursor);
        sample->callchain = next_bytes(cursor, sample->callchain_count, 8);
    }
    if (type & PERF_SAMPLE_RAW)
        decode_raw(cursor, sample);
    if (type & PERF_SAMPLE_BRANCH_STACK)
        decode_branches(cursor, layout->branch_sample_type, sample);
    if (type & PERF_SAMPLE_REGS_USER)
        sample->user_registers =
            decode_registers(cursor, layout->registers_user, &sample->user_abi);
    if (type & PERF_SAMPLE_STACK_USER)
        decode_stack(cursor, sample);
}

/* Field by field: a struct of this size is cleared by an instruction that takes longer than the
 * rest. */
static void clear_variable(struct perf_sample *sample)
{
    sample->read = sample->callchain = sample->raw = sample->branches = NULL;
    sample->user_registers = sample->interrupted_registers = sample->stack = sample->aux = NULL;
    sample->read_size = 0;
    sample->raw_size = 0;
    sample->callchain_count = sample->branch_count = sample->stack_size = sample->aux_size = 0;
    sample->user_abi = sample->interrupted_abi = 0;
}

/* The next word if the layout has it, else 0. */
static inline uint64_t optional_word(struct cursor *cursor, uint64_t present)
{
    return present ? next_word(cursor) : 0;
}

bool perf_sample_decode(const struct perf_layout *layout, const uint8_t *record, size_t size,
                        struct perf_sample *sample)
{
    static const uint64_t middle = PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW |
                                   PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER |
                                   PERF_SAMPLE_STACK_USER;
    uint64_t type = layout->sample_type, pair;
    struct cursor cursor = {record + PERF_RECORD_HEADER, record + size, false};

    if (size < PERF_RECORD_HEADER || perf_layout_unknown(layout) != 0)
        return false;
    clear_variable(sample);
    sample->identifier = optional_word(&cursor, type & PERF_SAMPLE_IDENTIFIER);
    sample->ip = optional_word(&cursor, type & PERF_SAMPLE_IP);
    pair = optional_word(&cursor, type & PERF_SAMPLE_TID);
    sample->pid = (uint32_t)pair;
    sample->tid = (uint32_t)(pair >> 32);
    sample->time = optional_word(&cursor, type & PERF_SAMPLE_TIME);
    sample->address = optional_word(&cursor, type & PERF_SAMPLE_ADDR);
    sample->id = optional_word(&cursor, type & PERF_SAMPLE_ID);
    sample->stream_id = optional_word(&cursor, type & PERF_SAMPLE_STREAM_ID);
    sample->cpu = (uint32_t)optional_word(&cursor, type & PERF_SAMPLE_CPU);
    sample->period = optional_word(&cursor, type & PERF_SAMPLE_PERIOD);
    if (type & middle)
        decode_middle(layout, &cursor, sample);
    decode_weight(optional_word(&cursor, type & PERF_SAMPLE_WEIGHT_TYPE), type, sample);
    sample->data_source = optional_word(&cursor, type & PERF_SAMPLE_DATA_SRC);
    sample->transaction = optional_word(&cursor, type & PERF_SAMPLE_TRANSACTION);
    if (type & PERF_SAMPLE_REGS_INTR)
        sample->interrupted_registers =
            decode_registers(&cursor, layout->registers_interrupted, &sample->interrupted_abi);
    sample->physical = optional_word(&cursor, type & PERF_SAMPLE_PHYS_ADDR);
    sample->cgroup = optional_word(&cursor, type & PERF_SAMPLE_CGROUP);
    sample->data_page_size = optional_word(&cursor, type & PERF_SAMPLE_DATA_PAGE_SIZE);
    sample->code_page_size = optional_word(&cursor, type & PERF_SAMPLE_CODE_PAGE_SIZE);
    if (type & PERF_SAMPLE_AUX) {
        sample->aux_size = next_word(&cursor);
        sample->aux = next_bytes(&cursor, sample->aux_size, 1);
    }
    return !cursor.failed;
}

bool perf_record_identity(const struct perf_layout *layout, const uint8_t *record, size_t size,
                          struct perf_sample *sample)
{
    uint64_t type =
        layout->sample_type & (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
                               PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER);
    size_t length = 8 * (size_t)__builtin_popcountll(type);
    struct cursor cursor;
    uint32_t reserved;

    memset(sample, 0, sizeof *sample);
    if (!layout->sample_id_all)
        return true;
    if (size < PERF_RECORD_HEADER + length)
        return false;
    cursor = (struct cursor){record + size - length, record + size, false};
    if (type & PERF_SAMPLE_TID)
        next_pair(&cursor, &sample->pid, &sample->tid);
    if (type & PERF_SAMPLE_TIME)
        sample->time = next_word(&cursor);
    if (type & PERF_SAMPLE_ID)
        sample->id = next_word(&cursor);
    if (type & PERF_SAMPLE_STREAM_ID)
        sample->stream_id = next_word(&cursor);
    if (type & PERF_SAMPLE_CPU)
        next_pair(&cursor, &sample->cpu, &reserved);
    if (type & PERF_SAMPLE_IDENTIFIER)
        sample->identifier = next_word(&cursor);
    return !cursor.failed;
}

int perf_sample_identifier_offset(const struct perf_layout *layout)
{
    uint64_t before_id = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;

    if (layout->sample_type & PERF_SAMPLE_IDENTIFIER)
        return PERF_RECORD_HEADER;
    if (!(layout->sample_type & PERF_SAMPLE_ID))
        return -1;
    return PERF_RECORD_HEADER + 8 * __builtin_popcountll(layout->sample_type & before_id);
}

int perf_record_identifier_from_end(const struct perf_layout *layout)
{
    uint64_t after_id = PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU;

    if (!layout->sample_id_all)
        return -1;
    if (layout->sample_type & PERF_SAMPLE_IDENTIFIER)
        return 8;
    if (!(layout->sample_type & PERF_SAMPLE_ID))
        return -1;
    return 8 + 8 * __builtin_popcountll(layout->sample_type & after_id);
}

enum access_privilege perf_privilege(uint16_t misc)
{
    static const uint8_t privileges[PERF_RECORD_MISC_CPUMODE_MASK + 1] = {
        [PERF_RECORD_MISC_USER] = PRIVILEGE_USER,
        [PERF_RECORD_MISC_GUEST_USER] = PRIVILEGE_USER,
        [PERF_RECORD_MISC_KERNEL] = PRIVILEGE_KERNEL,
        [PERF_RECORD_MISC_GUEST_KERNEL] = PRIVILEGE_KERNEL,
        [PERF_RECORD_MISC_HYPERVISOR] = PRIVILEGE_HYPERVISOR,
    };

    return (enum access_privilege)privileges[misc & PERF_RECORD_MISC_CPUMODE_MASK];
}

static void weight_to_record(const struct perf_layout *layout, const struct perf_sample *sample,
                             enum perf_sample_unit unit, struct access_record *record)
{
    if (!(layout->sample_type & PERF_SAMPLE_WEIGHT_TYPE))
        return;
    /* Stores and hits carry 0, which means that nothing was measured. */
    record->latency = sample->weight > UINT32_MAX ? UINT32_MAX : (uint32_t)sample->weight;
    if (record->latency)
        record->flags |= PMU_HAS_LATENCY;
    if (unit != UNIT_GENERIC)
        record->latency_instruction = sample->weight_2;
    if (unit == UNIT_PEBS)
        record->latency_retire = sample->weight_3;
}

void perf_sample_to_record(const struct perf_layout *layout, const struct perf_sample *sample,
                           uint16_t misc, enum perf_sample_unit unit, unsigned event_kinds,
                           struct access_record *record)
{
    uint64_t type = layout->sample_type;

    memset(record, 0, sizeof *record);
    record->ip = sample->ip;
    record->address = sample->address;
    record->physical = sample->physical;
    record->time = sample->time;
    record->period = sample->period;
    record->pid = sample->pid;
    record->tid = sample->tid;
    record->cpu = sample->cpu;
    record->privilege = (uint8_t)perf_privilege(misc);
    /* The kernel leaves 0 where a unit told no address. */
    record->flags = (type & PERF_SAMPLE_IP ? PMU_HAS_IP : 0) |
                    (type & PERF_SAMPLE_ADDR && sample->address ? PMU_HAS_ADDRESS : 0) |
                    (type & PERF_SAMPLE_PHYS_ADDR && sample->physical ? PMU_HAS_PHYSICAL : 0) |
                    (type & PERF_SAMPLE_TIME ? PMU_HAS_TIME : 0) |
                    (type & PERF_SAMPLE_TID ? PMU_HAS_THREAD : 0) |
                    (type & PERF_SAMPLE_CPU ? PMU_HAS_CPU : 0) |
                    (type & PERF_SAMPLE_IP && misc & PERF_RECORD_MISC_EXACT_IP ? PMU_EXACT_IP : 0);
    weight_to_record(layout, sample, unit, record);
    if (type & PERF_SAMPLE_DATA_SRC)
        data_source_to_record(sample->data_source, record);
    if (record->kinds == 0)
        record->kinds = (uint8_t)event_kinds;
}

bool perf_stream_decode(const uint8_t *record, size_t size, struct perf_stream_record *stream)
{
    struct cursor cursor = {record + PERF_RECORD_HEADER, record + size, false};

    memset(stream, 0, sizeof *stream);
    if (size < PERF_RECORD_HEADER)
        return false;
    switch (load32(record)) {
    case PERF_RECORD_LOST:
        stream->event = STREAM_LOST;
        stream->id = next_word(&cursor);
        stream->count = next_word(&cursor);
        break;
    case PERF_RECORD_LOST_SAMPLES:
        stream->event = STREAM_LOST;
        stream->count = next_word(&cursor);
        break;
    case PERF_RECORD_THROTTLE:
    case PERF_RECORD_UNTHROTTLE:
        stream->event =
            load32(record) == PERF_RECORD_THROTTLE ? STREAM_THROTTLED : STREAM_UNTHROTTLED;
        stream->time = next_word(&cursor);
        stream->id = next_word(&cursor);
        break;
    case PERF_RECORD_ITRACE_START:
        stream->event = STREAM_TRACE_BEGUN;
        break;
    case PERF_RECORD_AUX:
        stream->event = STREAM_AUX;
        stream->offset = next_word(&cursor);
        stream->count = next_word(&cursor);
        stream->flags = next_word(&cursor);
        break;
    default:
        break;
    }
    return !cursor.failed;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* SPE records from accesses. See encode.h. Signal-safe. */
#include <string.h>

#include "pmu/bytes.h"
#include "pmu/encode.h"

#include "signal_safe.h"

enum {
    HEADER_ADDRESS = 0xb0,
    HEADER_COUNTER = 0x98,
    HEADER_EVENTS = 0x62, /* four bytes of payload */
    HEADER_OPERATION = 0x48,
    HEADER_CONTEXT_1 = 0x64,
    HEADER_DATA_SOURCE = 0x43,
    HEADER_TIMESTAMP = 0x71,
    HEADER_END = 0x01,
    ALIGNMENT = 64,
    OPERATION_STORE = 1,
    OPERATION_ATOMIC = 0x06, /* extended, atomic */
    OPERATION_VECTOR = 0x04,
    OPERATION_SVE = 0x08,
    OPERATION_GATHER_SCATTER = 0x80,
    OPERATION_COPY = 0x20,
};

/* A packet with the payload that its header asks for. */
static uint8_t *put_packet(uint8_t *at, unsigned header, uint64_t payload)
{
    *at++ = (uint8_t)header;
    memcpy(at, &payload, 1u << (header >> 4 & 3));
    return at + (1u << (header >> 4 & 3));
}

static uint64_t instruction_payload(const struct access_record *record)
{
    static const uint64_t non_secure = UINT64_C(1) << 63;
    uint64_t level = record->privilege == PRIVILEGE_KERNEL       ? 1
                     : record->privilege == PRIVILEGE_HYPERVISOR ? 3
                                                                 : 0;

    return (record->ip & ((UINT64_C(1) << 56) - 1)) | level << 61 | non_secure;
}

static uint32_t events_of(const struct access_record *record)
{
    uint32_t flags = record->flags;
    uint32_t events = flags & PMU_SPECULATIVE ? 0 : SPE_RETIRED;

    if (record->kinds == 0)
        return events;
    events |= SPE_L1D_ACCESS | (flags & PMU_L1_MISSED ? SPE_L1D_REFILL : 0) |
              (flags & PMU_L2_MISSED ? SPE_L2D_ACCESS | SPE_L2D_MISS : 0) |
              (flags & PMU_L3_MISSED ? SPE_LLC_ACCESS | SPE_LLC_MISS : 0) |
              (flags & PMU_REMOTE ? SPE_REMOTE : 0) | (flags & PMU_MISALIGNED ? SPE_ALIGNMENT : 0) |
              (flags & PMU_MODIFIED_ELSEWHERE ? SPE_MODIFIED : 0);
    if (record->level == LEVEL_L2)
        events |= SPE_L2D_ACCESS;
    if (record->level == LEVEL_L3)
        events |= SPE_LLC_ACCESS;
    if (record->level == LEVEL_FILL_BUFFER)
        events |= SPE_RECENTLY_FETCHED;
    if (record->translation != TRANSLATION_UNKNOWN)
        events |= SPE_TLB_ACCESS;
    if (record->translation == TRANSLATION_WALK)
        events |= SPE_TLB_WALK;
    return events;
}

static unsigned operation_of(const struct access_record *record)
{
    unsigned store = record->kinds & ACCESS_STORE ? OPERATION_STORE : 0;

    if (record->flags & PMU_BLOCK_OPERATION)
        return OPERATION_COPY | store;
    if (record->flags & PMU_ATOMIC)
        return OPERATION_ATOMIC | store;
    if (record->flags & PMU_GATHER_SCATTER)
        return OPERATION_SVE | OPERATION_GATHER_SCATTER | store;
    if (record->flags & PMU_VECTOR)
        return (record->width >= 4
                    ? OPERATION_SVE | ((unsigned)__builtin_ctz(record->width) - 2) << 4
                    : OPERATION_VECTOR) |
               store;
    return store;
}

/* The number that the table gives to a load's level; -1 if it has none. */
static int source_of(enum spe_source_table table, const struct access_record *record)
{
    static const int8_t neoverse[LEVEL_COUNT] = {
        -1,
        [LEVEL_L1] = 0,
        [LEVEL_FILL_BUFFER] = -1,
        [LEVEL_L2] = 8,
        [LEVEL_L3] = 11,
        [LEVEL_L4] = -1,
        [LEVEL_PEER_CACHE] = 9,
        [LEVEL_DRAM] = 14,
        [LEVEL_PERSISTENT] = -1,
        [LEVEL_REMOTE_CACHE] = 13,
        [LEVEL_REMOTE_DRAM] = 14,
        [LEVEL_CXL] = -1,
        [LEVEL_IO] = -1,
    };
    static const int8_t ampere[LEVEL_COUNT] = {
        -1,
        [LEVEL_L1] = 8,
        [LEVEL_FILL_BUFFER] = -1,
        [LEVEL_L2] = 9,
        [LEVEL_L3] = 3,
        [LEVEL_L4] = -1,
        [LEVEL_PEER_CACHE] = 0,
        [LEVEL_DRAM] = 7,
        [LEVEL_PERSISTENT] = -1,
        [LEVEL_REMOTE_CACHE] = 5,
        [LEVEL_REMOTE_DRAM] = 7,
        [LEVEL_CXL] = -1,
        [LEVEL_IO] = -1,
    };
    static const int8_t hisi[LEVEL_COUNT] = {
        -1,
        [LEVEL_L1] = 18,
        [LEVEL_FILL_BUFFER] = -1,
        [LEVEL_L2] = 16,
        [LEVEL_L3] = 2,
        [LEVEL_L4] = -1,
        [LEVEL_PEER_CACHE] = 0,
        [LEVEL_DRAM] = 8,
        [LEVEL_PERSISTENT] = -1,
        [LEVEL_REMOTE_CACHE] = 6,
        [LEVEL_REMOTE_DRAM] = 9,
        [LEVEL_CXL] = -1,
        [LEVEL_IO] = 13,
    };
    const int8_t *numbers = table == SPE_SOURCE_NEOVERSE ? neoverse
                            : table == SPE_SOURCE_AMPERE ? ampere
                            : table == SPE_SOURCE_HISI   ? hisi
                                                         : NULL;

    return numbers && record->level < LEVEL_COUNT ? numbers[record->level] : -1;
}

static uint8_t *put_memory(uint8_t *at, enum spe_source_table table,
                           const struct access_record *record)
{
    int source = record->kinds & ACCESS_LOAD ? source_of(table, record) : -1;

    at = put_packet(at, HEADER_OPERATION | SPE_MEMORY, operation_of(record));
    if (record->flags & PMU_HAS_ADDRESS)
        at = put_packet(at, HEADER_ADDRESS | SPE_VIRTUAL,
                        record->address & ((UINT64_C(1) << 56) - 1));
    if (record->latency_translation)
        at = put_packet(at, HEADER_COUNTER | SPE_TRANSLATION_LATENCY, record->latency_translation);
    if (record->flags & PMU_HAS_PHYSICAL)
        at = put_packet(at, HEADER_ADDRESS | SPE_PHYSICAL, record->physical);
    if (source >= 0)
        at = put_packet(at, HEADER_DATA_SOURCE, (uint64_t)source);
    return at;
}

size_t encode_spe(enum spe_source_table table, const struct access_record *record, uint8_t *out,
                  size_t capacity)
{
    uint8_t *at = out, *last;
    size_t length;

    if (capacity < SPE_RECORD_LARGEST)
        return 0;
    if (record->flags & PMU_HAS_IP)
        at = put_packet(at, HEADER_ADDRESS | SPE_PC, instruction_payload(record));
    if (record->latency_issue)
        at = put_packet(at, HEADER_COUNTER | SPE_ISSUE_LATENCY, record->latency_issue);
    if (record->flags & PMU_HAS_LATENCY)
        at = put_packet(at, HEADER_COUNTER | SPE_TOTAL_LATENCY,
                        record->latency > UINT16_MAX ? UINT16_MAX : record->latency);
    at = put_packet(at, HEADER_EVENTS, events_of(record));
    if (record->kinds)
        at = put_memory(at, table, record);
    else
        at = put_packet(
            at, HEADER_OPERATION | (record->flags & PMU_BRANCH ? SPE_BRANCH : SPE_OTHER), 0);
    if (record->flags & PMU_HAS_THREAD)
        at = put_packet(at, HEADER_CONTEXT_1, record->tid);
    /* The end of the record is the end of its aligned block. */
    length = (size_t)(at - out) + (record->flags & PMU_HAS_TIME ? 9 : 1);
    length = (length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    memset(at, 0, length - (size_t)(at - out));
    last = out + length - (record->flags & PMU_HAS_TIME ? 9 : 1);
    if (record->flags & PMU_HAS_TIME)
        put_packet(last, HEADER_TIMESTAMP, record->time);
    else
        *last = HEADER_END;
    return length;
}

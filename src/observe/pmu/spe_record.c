/* SPDX-License-Identifier: BSD-3-Clause */
/* SPE records as accesses. See spe.h. Signal-safe. */
#include "pmu/spe.h"

#include <string.h>

#include "pmu/bytes.h"

#include "signal_safe.h"

/* Payload of an operation packet of class SPE_MEMORY. */
enum {
    OPERATION_STORE = 1 << 0,
    EXTENDED_MASK = 0xe2,
    EXTENDED = 0x02,
    EXTENDED_ATOMIC = 1 << 2,
    VECTOR_REGISTER_MASK = 0xfe, /* SIMD and floating point */
    VECTOR_REGISTER = 0x04,
    SVE_MASK = 0x0a, /* SVE and SME */
    SVE = 0x08,
    SVE_GATHER_SCATTER = 1 << 7,
    COPY_MASK = 0xfe,
    COPY = 0x20,
    SET = 0x25,
};

static const uint64_t address_bits = (UINT64_C(1) << 56) - 1;

uint64_t spe_virtual_address(uint64_t payload)
{
    uint64_t address = payload & address_bits;

    /* The upper byte may hold a tag. Kernel addresses are known by their next four bits. */
    return address >> 52 == 0xf ? address | UINT64_C(0xff) << 56 : address;
}

unsigned spe_exception_level(uint64_t payload)
{
    return (unsigned)bits(payload, 61, 2);
}

uint64_t spe_instruction_address(uint64_t payload)
{
    uint64_t address = payload & address_bits;
    bool non_secure = payload >> 63;
    unsigned level = spe_exception_level(payload);

    return non_secure && (level == 1 || level == 2) ? address | UINT64_C(0xff) << 56 : address;
}

enum spe_source_table spe_source_table_for(uint64_t midr)
{
    /* Implementer and part number; source: the kernel's asm/cputype.h and perf's arm-spe.c. */
    static const struct {
        uint8_t implementer;
        uint16_t part;
        uint8_t table;
    } parts[] = {
        {0x41, 0xd0c, SPE_SOURCE_NEOVERSE}, /* Neoverse N1 */
        {0x41, 0xd40, SPE_SOURCE_NEOVERSE}, /* V1 */
        {0x41, 0xd49, SPE_SOURCE_NEOVERSE}, /* N2 */
        {0x41, 0xd4f, SPE_SOURCE_NEOVERSE}, /* V2 */
        {0x41, 0xd84, SPE_SOURCE_NEOVERSE}, /* V3 */
        {0x41, 0xd83, SPE_SOURCE_NEOVERSE}, /* V3AE */
        {0x41, 0xd44, SPE_SOURCE_NEOVERSE}, /* Cortex-X1 */
        {0x41, 0xd4c, SPE_SOURCE_NEOVERSE}, /* X1C */
        {0x41, 0xd4b, SPE_SOURCE_NEOVERSE}, /* A78C */
        {0x41, 0xd4d, SPE_SOURCE_NEOVERSE}, /* A715 */
        {0x41, 0xd4e, SPE_SOURCE_NEOVERSE}, /* X3 */
        {0x41, 0xd81, SPE_SOURCE_NEOVERSE}, /* A720 */
        {0x41, 0xd82, SPE_SOURCE_NEOVERSE}, /* X4 */
        {0x41, 0xd85, SPE_SOURCE_NEOVERSE}, /* X925 */
        {0x41, 0xd87, SPE_SOURCE_NEOVERSE}, /* A725 */
        {0x4e, 0x010, SPE_SOURCE_NEOVERSE}, /* NVIDIA Olympus */
        {0xc0, 0xac3, SPE_SOURCE_AMPERE},   /* AmpereOne */
        {0xc0, 0xac4, SPE_SOURCE_AMPERE},   /* AmpereOne A */
        {0x48, 0xd06, SPE_SOURCE_HISI},     /* HIP12 */
    };
    unsigned implementer = (unsigned)bits(midr, 24, 8), part = (unsigned)bits(midr, 4, 12);

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (parts[i].implementer == implementer && parts[i].part == part)
            return (enum spe_source_table)parts[i].table;
    return SPE_SOURCE_NONE;
}

/* Where a load's data came from by its data source packet; LEVEL_UNKNOWN if the table does not say.
 */
static inline enum access_level level_by_source(enum spe_source_table table, unsigned source,
                                                uint32_t *flags)
{
    /* A system cache stands behind L2, as L3 does elsewhere: so perf takes it
     * (tools/perf/util/arm-spe.c), and our descriptions of these machines. */
    static const uint8_t neoverse[16] = {
        [0x0] = LEVEL_L1,
        [0x8] = LEVEL_L2,
        [0x9] = LEVEL_PEER_CACHE /* peer core */,
        [0xa] = LEVEL_L3 /* local cluster */,
        [0xb] = LEVEL_L3 /* system cache */,
        [0xc] = LEVEL_PEER_CACHE /* peer cluster */,
        [0xd] = LEVEL_REMOTE_CACHE,
        [0xe] = LEVEL_DRAM,
    };
    static const uint8_t ampere[16] = {
        [0] = LEVEL_PEER_CACHE /* or device */,
        [3] = LEVEL_L3 /* system cache */,
        [5] = LEVEL_REMOTE_CACHE,
        [7] = LEVEL_DRAM,
        [8] = LEVEL_L1,
        [9] = LEVEL_L2,
    };
    /* Odd numbers up to 7, and 17: the same place, modified there. */
    static const uint8_t hisi[32] = {
        [0] = LEVEL_PEER_CACHE,   [1] = LEVEL_PEER_CACHE,   [2] = LEVEL_L3,
        [3] = LEVEL_L3,           [4] = LEVEL_PEER_CACHE,   [5] = LEVEL_PEER_CACHE,
        [6] = LEVEL_REMOTE_CACHE, [7] = LEVEL_REMOTE_CACHE, [8] = LEVEL_DRAM,
        [9] = LEVEL_REMOTE_DRAM,  [13] = LEVEL_IO,          [16] = LEVEL_L2,
        [17] = LEVEL_L2,          [18] = LEVEL_L1,
    };

    switch (table) {
    case SPE_SOURCE_NEOVERSE:
        return source < sizeof neoverse ? (enum access_level)neoverse[source] : LEVEL_UNKNOWN;
    case SPE_SOURCE_AMPERE:
        return source < sizeof ampere ? (enum access_level)ampere[source] : LEVEL_UNKNOWN;
    case SPE_SOURCE_HISI:
        if ((source < 8 && source % 2) || source == 17)
            *flags |= PMU_MODIFIED_ELSEWHERE | PMU_FROM_OTHER_CACHE;
        return source < sizeof hisi ? (enum access_level)hisi[source] : LEVEL_UNKNOWN;
    default:
        return LEVEL_UNKNOWN;
    }
}

/* The farthest cache that was looked into and hit. Each line overrules those before it; without
 * branches, for which event comes next cannot be predicted. */
static inline enum access_level level_by_events(uint32_t events)
{
    unsigned level = events & SPE_L1D_ACCESS ? LEVEL_L1 : LEVEL_UNKNOWN;

    level = events & SPE_L1D_REFILL ? LEVEL_UNKNOWN : level;
    level = events & SPE_L2D_ACCESS ? LEVEL_L2 : level;
    level = events & SPE_L2D_MISS ? LEVEL_UNKNOWN : level;
    level = events & SPE_RECENTLY_FETCHED ? LEVEL_FILL_BUFFER : level;
    level = events & SPE_LLC_ACCESS ? LEVEL_L3 : level;
    level = events & SPE_LLC_MISS ? LEVEL_UNKNOWN : level;
    return (enum access_level)level;
}

static inline enum access_translation translation_by_events(uint32_t events)
{
    unsigned translation = events & SPE_TLB_ACCESS ? TRANSLATION_CACHED : TRANSLATION_UNKNOWN;

    return (enum access_translation)(events & SPE_TLB_WALK ? TRANSLATION_WALK : translation);
}

/* What the events packet says by itself. */
static inline uint32_t flags_by_events(uint32_t events)
{
    return (events & SPE_L1D_REFILL ? PMU_L1_MISSED : 0) |
           (events & SPE_L2D_MISS ? PMU_L1_MISSED | PMU_L2_MISSED : 0) |
           (events & SPE_LLC_MISS ? PMU_L1_MISSED | PMU_L2_MISSED | PMU_L3_MISSED : 0) |
           (events & SPE_REMOTE ? PMU_REMOTE : 0) |
           (events & SPE_MODIFIED ? PMU_MODIFIED_ELSEWHERE | PMU_FROM_OTHER_CACHE : 0) |
           (events & SPE_SNOOPED ? PMU_FROM_OTHER_CACHE : 0) |
           (events & SPE_ALIGNMENT ? PMU_MISALIGNED : 0);
}

static inline void memory_to_record(const struct spe_record *spe, enum spe_source_table table,
                                    struct access_record *record)
{
    uint32_t events = (uint32_t)spe->events;
    enum access_level level = LEVEL_UNKNOWN;

    if (spe->fields & SPE_HAS_DATA_SOURCE && record->kinds & ACCESS_LOAD)
        level = level_by_source(table, (uint16_t)spe->data_source, &record->flags);
    if (level == LEVEL_UNKNOWN)
        level = level_by_events(events);
    if (level == LEVEL_DRAM && events & SPE_REMOTE)
        level = LEVEL_REMOTE_DRAM;
    record->level = (uint8_t)level;
    record->translation = (uint8_t)translation_by_events(events);
    record->flags |= access_level_implies[level] | flags_by_events(events);
}

/* What a load or store was that is not of an ordinary register. */
static void special_to_record(unsigned operation, struct access_record *record)
{
    enum { WIDTH_LARGEST = 64 };

    if (operation == SET || (operation & COPY_MASK) == COPY) {
        record->flags |= PMU_BLOCK_OPERATION;
        return;
    }
    if ((operation & EXTENDED_MASK) == EXTENDED) {
        if (operation & EXTENDED_ATOMIC) {
            record->kinds = ACCESS_LOAD | ACCESS_STORE;
            record->flags |= PMU_ATOMIC;
        }
        return;
    }
    if ((operation & VECTOR_REGISTER_MASK) == VECTOR_REGISTER) {
        record->flags |= PMU_VECTOR;
        return;
    }
    if ((operation & SVE_MASK) == SVE) {
        unsigned bytes = 4u << (operation >> 4 & 7);

        record->flags |= PMU_VECTOR;
        if (operation & SVE_GATHER_SCATTER)
            record->flags |= PMU_GATHER_SCATTER;
        else if (bytes <= WIDTH_LARGEST)
            record->width = (uint8_t)bytes;
    }
}

/* Of every record, whatever the operation was. */
static inline uint32_t flags_by_fields(uint32_t fields)
{
    return (fields & SPE_HAS_PC ? PMU_HAS_IP | PMU_EXACT_IP : 0) |
           (fields & SPE_HAS_TIME ? PMU_HAS_TIME : 0) |
           (fields & (SPE_HAS_CONTEXT_1 | SPE_HAS_CONTEXT_2) ? PMU_HAS_THREAD : 0) |
           (fields & SPE_HAS_TOTAL ? PMU_HAS_LATENCY : 0) |
           (fields & (SPE_BAD_BYTES | SPE_REPEATED) ? PMU_DAMAGED : 0) |
           (fields & SPE_CUT ? PMU_AFTER_GAP : 0);
}

void spe_to_record(const struct spe_record *spe, enum spe_source_table table,
                   struct access_record *record)
{
    static const uint8_t privileges[4] = {PRIVILEGE_USER, PRIVILEGE_KERNEL,
                                          /* a host kernel with virtualisation extensions */
                                          PRIVILEGE_KERNEL, PRIVILEGE_HYPERVISOR};
    uint32_t fields = spe->fields;
    uint64_t pc = spe->address[SPE_PC];

    /* What is not there is 0 in both. */
    *record = (struct access_record){
        .ip = spe_instruction_address(pc),
        .privilege =
            fields & SPE_HAS_PC ? privileges[spe_exception_level(pc)] : (uint8_t)PRIVILEGE_UNKNOWN,
        .time = spe->time,
        .tid = (uint32_t)spe->context[fields & SPE_HAS_CONTEXT_2 ? 1 : 0],
        .latency = (uint32_t)spe->counter[SPE_TOTAL_LATENCY],
        .latency_issue = (uint16_t)spe->counter[SPE_ISSUE_LATENCY],
        .latency_translation = (uint16_t)spe->counter[SPE_TRANSLATION_LATENCY],
        .flags = flags_by_fields(fields),
    };
    if (fields & SPE_HAS_EVENTS && !(spe->events & SPE_RETIRED))
        record->flags |= PMU_SPECULATIVE;
    if (!(fields & SPE_HAS_OPERATION))
        return;
    if (spe->operation_class == SPE_BRANCH)
        record->flags |= PMU_BRANCH;
    if (spe->operation_class != SPE_MEMORY)
        return;
    record->kinds = spe->operation & OPERATION_STORE ? ACCESS_STORE : ACCESS_LOAD;
    if (spe->operation & ~(uint32_t)OPERATION_STORE)
        special_to_record(spe->operation, record);
    record->address = spe_virtual_address(spe->address[SPE_VIRTUAL]);
    record->physical = spe->address[SPE_PHYSICAL] & address_bits;
    record->flags |= (fields & SPE_HAS_VIRTUAL ? PMU_HAS_ADDRESS : 0) |
                     (fields & SPE_HAS_PHYSICAL ? PMU_HAS_PHYSICAL : 0);
    memory_to_record(spe, table, record);
}

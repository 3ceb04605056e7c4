/* SPDX-License-Identifier: BSD-3-Clause */
/* See data_source.h. Signal-safe. */
#include "pmu/data_source.h"

#include "pmu/bytes.h"

#include "signal_safe.h"

enum {
    OPERATION_SHIFT = 0,
    LEVEL_SHIFT = 5,
    SNOOP_SHIFT = 19,
    LOCK_SHIFT = 24,
    TLB_SHIFT = 26,
    LEVEL_NUMBER_SHIFT = 33,
    REMOTE_SHIFT = 37,
    SNOOP_EXTENDED_SHIFT = 38,
    BLOCKED_SHIFT = 40,
    HOPS_SHIFT = 43,
    REGION_SHIFT = 46,
    RESERVED_SHIFT = 51,
};

void data_source_unpack(uint64_t value, struct data_source *source)
{
    source->operation = (uint8_t)bits(value, OPERATION_SHIFT, 5);
    source->level = (uint16_t)bits(value, LEVEL_SHIFT, 14);
    source->snoop = (uint8_t)bits(value, SNOOP_SHIFT, 5);
    source->lock = (uint8_t)bits(value, LOCK_SHIFT, 2);
    source->tlb = (uint8_t)bits(value, TLB_SHIFT, 7);
    source->level_number = (uint8_t)bits(value, LEVEL_NUMBER_SHIFT, 4);
    source->remote = (uint8_t)bits(value, REMOTE_SHIFT, 1);
    source->snoop_extended = (uint8_t)bits(value, SNOOP_EXTENDED_SHIFT, 2);
    source->blocked = (uint8_t)bits(value, BLOCKED_SHIFT, 3);
    source->hops = (uint8_t)bits(value, HOPS_SHIFT, 3);
    source->region = (uint8_t)bits(value, REGION_SHIFT, 5);
    source->reserved = (uint16_t)bits(value, RESERVED_SHIFT, 13);
}

uint64_t data_source_pack(const struct data_source *source)
{
    return (uint64_t)source->operation << OPERATION_SHIFT | (uint64_t)source->level << LEVEL_SHIFT |
           (uint64_t)source->snoop << SNOOP_SHIFT | (uint64_t)source->lock << LOCK_SHIFT |
           (uint64_t)source->tlb << TLB_SHIFT |
           (uint64_t)source->level_number << LEVEL_NUMBER_SHIFT |
           (uint64_t)source->remote << REMOTE_SHIFT |
           (uint64_t)source->snoop_extended << SNOOP_EXTENDED_SHIFT |
           (uint64_t)source->blocked << BLOCKED_SHIFT | (uint64_t)source->hops << HOPS_SHIFT |
           (uint64_t)source->region << REGION_SHIFT | (uint64_t)source->reserved << RESERVED_SHIFT;
}

/* By the newer description; LEVEL_UNKNOWN: it is not used. */
static const uint8_t near_levels[16] = {
    [MEM_NUMBER_L1] = LEVEL_L1,
    [MEM_NUMBER_L2] = LEVEL_L2,
    [MEM_NUMBER_L3] = LEVEL_L3,
    [MEM_NUMBER_L4] = LEVEL_L4,
    [MEM_NUMBER_L2_MHB] = LEVEL_FILL_BUFFER,
    [MEM_NUMBER_MEMORY_SIDE] = LEVEL_L4,
    [MEM_NUMBER_L0] = LEVEL_L1,
    [MEM_NUMBER_UNCACHED] = LEVEL_IO,
    [MEM_NUMBER_CXL] = LEVEL_CXL,
    [MEM_NUMBER_IO] = LEVEL_IO,
    [MEM_NUMBER_ANY_CACHE] = LEVEL_PEER_CACHE,
    [MEM_NUMBER_LFB] = LEVEL_FILL_BUFFER,
    [MEM_NUMBER_RAM] = LEVEL_DRAM,
    [MEM_NUMBER_PERSISTENT] = LEVEL_PERSISTENT,
};
static const uint8_t remote_levels[16] = {
    [MEM_NUMBER_L1] = LEVEL_REMOTE_CACHE,
    [MEM_NUMBER_L2] = LEVEL_REMOTE_CACHE,
    [MEM_NUMBER_L3] = LEVEL_REMOTE_CACHE,
    [MEM_NUMBER_L4] = LEVEL_REMOTE_CACHE,
    [MEM_NUMBER_L2_MHB] = LEVEL_REMOTE_CACHE,
    [MEM_NUMBER_MEMORY_SIDE] = LEVEL_REMOTE_CACHE,
    [MEM_NUMBER_L0] = LEVEL_REMOTE_CACHE,
    [MEM_NUMBER_UNCACHED] = LEVEL_IO,
    [MEM_NUMBER_CXL] = LEVEL_CXL,
    [MEM_NUMBER_IO] = LEVEL_IO,
    [MEM_NUMBER_ANY_CACHE] = LEVEL_REMOTE_CACHE,
    [MEM_NUMBER_LFB] = LEVEL_FILL_BUFFER,
    [MEM_NUMBER_RAM] = LEVEL_REMOTE_DRAM,
    [MEM_NUMBER_PERSISTENT] = LEVEL_PERSISTENT,
};

/*
 * By the older one; the farthest that is named, for it is where the data came from. But not of L3
 * and the nearer remote cache together: so Linux 6.1 to 6.5 write, without a level number, what AMD
 * before Zen 4 tells as one: L3, or a cache of another core behind the same L3
 * (arch/x86/events/amd/ibs.c). Nobody else names both.
 */
static enum access_level level_by_bits(unsigned level)
{
    enum { LOCAL_CLUSTER = MEM_LEVEL_L3 | MEM_LEVEL_REMOTE_CACHE_1 };

    if (level & (MEM_LEVEL_NA | MEM_LEVEL_MISS) || !(level & MEM_LEVEL_HIT))
        return LEVEL_UNKNOWN;
    if (level & (MEM_LEVEL_IO | MEM_LEVEL_UNCACHED))
        return LEVEL_IO;
    if ((level & LOCAL_CLUSTER) == LOCAL_CLUSTER)
        return LEVEL_L3;
    if (level & (MEM_LEVEL_REMOTE_CACHE_1 | MEM_LEVEL_REMOTE_CACHE_2))
        return LEVEL_REMOTE_CACHE;
    if (level & (MEM_LEVEL_REMOTE_RAM_1 | MEM_LEVEL_REMOTE_RAM_2))
        return LEVEL_REMOTE_DRAM;
    if (level & MEM_LEVEL_LOCAL_RAM)
        return LEVEL_DRAM;
    if (level & MEM_LEVEL_L3)
        return LEVEL_L3;
    if (level & MEM_LEVEL_L2)
        return LEVEL_L2;
    if (level & MEM_LEVEL_LFB)
        return LEVEL_FILL_BUFFER;
    return level & MEM_LEVEL_L1 ? LEVEL_L1 : LEVEL_UNKNOWN;
}

static enum access_level level_of(uint64_t value, unsigned hops, bool remote)
{
    unsigned number = (unsigned)bits(value, LEVEL_NUMBER_SHIFT, 4);
    unsigned level_bits = (unsigned)bits(value, LEVEL_SHIFT, 14);
    enum access_level level =
        (enum access_level)(remote ? remote_levels[number] : near_levels[number]);

    if (level == LEVEL_UNKNOWN)
        return level_by_bits(level_bits);
    if (!remote && hops && (number == MEM_NUMBER_L2 || number == MEM_NUMBER_L2_MHB))
        return LEVEL_PEER_CACHE;
    /* AMD before Zen 4: L3 or another core's cache, which of them is not told. */
    return level == LEVEL_PEER_CACHE && level_bits & MEM_LEVEL_L3 ? LEVEL_L3 : level;
}

static inline enum access_translation translation_of(unsigned tlb)
{
    /* by MEM_TLB_L1 and MEM_TLB_L2 */
    static const uint8_t hits[4] = {TRANSLATION_UNKNOWN, TRANSLATION_L1, TRANSLATION_L2,
                                    TRANSLATION_CACHED};

    if (tlb & MEM_TLB_NA || tlb == 0)
        return TRANSLATION_UNKNOWN;
    if (tlb & MEM_TLB_OS)
        return TRANSLATION_FAULT;
    if (tlb & MEM_TLB_HIT)
        return (tlb & (MEM_TLB_L1 | MEM_TLB_L2)) == 0 && tlb & MEM_TLB_WALKER
                   ? TRANSLATION_WALK
                   : (enum access_translation)hits[tlb / MEM_TLB_L1 & 3];
    /* A miss of the second level has to walk; of a miss of the first alone the rest is not told. */
    return tlb & MEM_TLB_MISS && tlb & (MEM_TLB_L2 | MEM_TLB_WALKER) ? TRANSLATION_WALK
                                                                     : TRANSLATION_UNKNOWN;
}

/* Bits that few values have. */
static uint32_t seldom_flags(uint64_t value)
{
    unsigned level = (unsigned)bits(value, LEVEL_SHIFT, 14);
    uint32_t flags = 0;

    if (level & MEM_LEVEL_MISS) {
        if (level & MEM_LEVEL_L1)
            flags |= PMU_L1_MISSED;
        if (level & MEM_LEVEL_L2)
            flags |= PMU_L1_MISSED | PMU_L2_MISSED;
        if (level & MEM_LEVEL_L3)
            flags |= PMU_L1_MISSED | PMU_L2_MISSED | PMU_L3_MISSED;
    }
    if (level & MEM_LEVEL_UNCACHED || bits(value, LEVEL_NUMBER_SHIFT, 4) == MEM_NUMBER_UNCACHED)
        flags |= PMU_UNCACHEABLE;
    if (bits(value, OPERATION_SHIFT, 5) & MEM_OP_PREFETCH)
        flags |= PMU_PREFETCH;
    if (bits(value, SNOOP_SHIFT, 5) & MEM_SNOOP_HITM)
        flags |= PMU_MODIFIED_ELSEWHERE;
    if (bits(value, LOCK_SHIFT, 2) & MEM_LOCK_LOCKED)
        flags |= PMU_LOCKED;
    if (bits(value, BLOCKED_SHIFT, 3) & MEM_BLOCK_DATA)
        flags |= PMU_STORE_FORWARD_BLOCKED;
    return flags;
}

void data_source_to_record(uint64_t value, struct access_record *record)
{
    static const uint64_t seldom =
        (uint64_t)(MEM_LEVEL_MISS | MEM_LEVEL_UNCACHED) << LEVEL_SHIFT |
        (uint64_t)MEM_OP_PREFETCH << OPERATION_SHIFT | (uint64_t)MEM_SNOOP_HITM << SNOOP_SHIFT |
        (uint64_t)MEM_LOCK_LOCKED << LOCK_SHIFT | (uint64_t)MEM_BLOCK_DATA << BLOCKED_SHIFT |
        (uint64_t)MEM_NUMBER_UNCACHED << LEVEL_NUMBER_SHIFT;
    static const uint64_t snooped = (uint64_t)(MEM_SNOOP_HIT | MEM_SNOOP_HITM) << SNOOP_SHIFT |
                                    (uint64_t)(MEM_SNOOPX_FORWARD | MEM_SNOOPX_PEER)
                                        << SNOOP_EXTENDED_SHIFT;
    unsigned hops = (unsigned)bits(value, HOPS_SHIFT, 3);
    /* Beyond the node. The remote bit alone may also mean another core of it: then hops says so. */
    bool remote = hops ? hops >= MEM_HOPS_SAME_SOCKET : bits(value, REMOTE_SHIFT, 1);
    enum access_level level = level_of(value, hops, remote);
    uint32_t flags = access_level_implies[level] | (remote ? PMU_REMOTE : 0);

    /* A snoop can hit although memory supplies the data. */
    if (value & snooped && level < LEVEL_DRAM)
        flags |= PMU_FROM_OTHER_CACHE;
    if (value & seldom)
        flags |= seldom_flags(value);
    /* Loads and stores are neighbours in both numberings. */
    record->kinds |= (uint8_t)(value >> 1 & (ACCESS_LOAD | ACCESS_STORE));
    record->flags |= flags;
    record->level = (uint8_t)level;
    record->translation = (uint8_t)translation_of((unsigned)bits(value, TLB_SHIFT, 7));
    record->hops = (uint8_t)hops;
}

_Static_assert(MEM_OP_LOAD == ACCESS_LOAD << 1 && MEM_OP_STORE == ACCESS_STORE << 1,
               "data_source_to_record() shifts them");

uint64_t data_source_from_record(const struct access_record *record)
{
    static const struct {
        uint16_t level;
        uint8_t number, remote;
    } levels[LEVEL_COUNT] = {
        [LEVEL_UNKNOWN] = {MEM_LEVEL_NA, MEM_NUMBER_NA, 0},
        [LEVEL_L1] = {MEM_LEVEL_HIT | MEM_LEVEL_L1, MEM_NUMBER_L1, 0},
        [LEVEL_FILL_BUFFER] = {MEM_LEVEL_HIT | MEM_LEVEL_LFB, MEM_NUMBER_LFB, 0},
        [LEVEL_L2] = {MEM_LEVEL_HIT | MEM_LEVEL_L2, MEM_NUMBER_L2, 0},
        [LEVEL_L3] = {MEM_LEVEL_HIT | MEM_LEVEL_L3, MEM_NUMBER_L3, 0},
        [LEVEL_L4] = {0, MEM_NUMBER_L4, 0},
        [LEVEL_PEER_CACHE] = {0, MEM_NUMBER_ANY_CACHE, 0},
        [LEVEL_DRAM] = {MEM_LEVEL_HIT | MEM_LEVEL_LOCAL_RAM, MEM_NUMBER_RAM, 0},
        [LEVEL_PERSISTENT] = {0, MEM_NUMBER_PERSISTENT, 0},
        [LEVEL_REMOTE_CACHE] = {MEM_LEVEL_HIT | MEM_LEVEL_REMOTE_CACHE_1, MEM_NUMBER_ANY_CACHE, 1},
        [LEVEL_REMOTE_DRAM] = {MEM_LEVEL_HIT | MEM_LEVEL_REMOTE_RAM_1, MEM_NUMBER_RAM, 1},
        [LEVEL_CXL] = {0, MEM_NUMBER_CXL, 0},
        [LEVEL_IO] = {MEM_LEVEL_HIT | MEM_LEVEL_IO, MEM_NUMBER_IO, 0},
    };
    static const uint8_t tlbs[TRANSLATION_COUNT] = {
        [TRANSLATION_UNKNOWN] = MEM_TLB_NA,
        [TRANSLATION_L1] = MEM_TLB_HIT | MEM_TLB_L1,
        [TRANSLATION_L2] = MEM_TLB_HIT | MEM_TLB_L2,
        [TRANSLATION_CACHED] = MEM_TLB_HIT | MEM_TLB_L1 | MEM_TLB_L2,
        [TRANSLATION_WALK] = MEM_TLB_MISS | MEM_TLB_L2,
        [TRANSLATION_FAULT] = MEM_TLB_HIT | MEM_TLB_OS,
    };
    unsigned level = record->level < LEVEL_COUNT ? record->level : LEVEL_UNKNOWN;
    unsigned translation =
        record->translation < TRANSLATION_COUNT ? record->translation : TRANSLATION_UNKNOWN;
    struct data_source source = {
        .operation = (uint8_t)((record->kinds & ACCESS_LOAD ? MEM_OP_LOAD : 0) |
                               (record->kinds & ACCESS_STORE ? MEM_OP_STORE : 0) |
                               (record->flags & PMU_PREFETCH ? MEM_OP_PREFETCH : 0)),
        .level = levels[level].level,
        .level_number = levels[level].number,
        .remote = levels[level].remote || record->flags & PMU_REMOTE ? 1 : 0,
        .snoop = record->flags & PMU_MODIFIED_ELSEWHERE ? MEM_SNOOP_HITM
                 : record->flags & PMU_FROM_OTHER_CACHE ? MEM_SNOOP_HIT
                 : level == LEVEL_UNKNOWN               ? MEM_SNOOP_NA
                                                        : MEM_SNOOP_NONE,
        .lock = record->flags & PMU_LOCKED ? MEM_LOCK_LOCKED : 0,
        .tlb = tlbs[translation],
        .blocked = record->flags & PMU_STORE_FORWARD_BLOCKED ? MEM_BLOCK_DATA : MEM_BLOCK_NA,
        .hops = record->hops & 7,
    };

    if (level == LEVEL_UNKNOWN && record->flags & (PMU_L1_MISSED | PMU_L2_MISSED | PMU_L3_MISSED))
        source.level =
            (uint16_t)(MEM_LEVEL_MISS | (record->flags & PMU_L3_MISSED   ? MEM_LEVEL_L3
                                         : record->flags & PMU_L2_MISSED ? MEM_LEVEL_L2
                                                                         : MEM_LEVEL_L1));
    if (source.operation == 0)
        source.operation = MEM_OP_NA;
    return data_source_pack(&source);
}

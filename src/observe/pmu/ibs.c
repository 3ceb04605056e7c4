/* SPDX-License-Identifier: BSD-3-Clause */
/* See ibs.h. Signal-safe. */
#include "pmu/ibs.h"

#include <string.h>

#include "pmu/bytes.h"
#include "pmu/data_source.h"

#include "signal_safe.h"

/* Places of the fields: first bit and, for numbers, width. */
enum {
    CONTROL_L3_MISS_ONLY = 16,
    CONTROL_ENABLE = 17,
    CONTROL_VALID = 18,
    CONTROL_COUNT_OPERATIONS = 19,
    CONTROL_CURRENT = 32,
    CONTROL_THRESHOLD = 59,
    CONTROL_THRESHOLD_ENABLE = 63,

    DATA_TAG_TO_RETURN = 16,
    DATA_RETURN = 34,
    DATA_TAKEN = 35,
    DATA_MISPREDICTED = 36,
    DATA_BRANCH = 37,
    DATA_RIP_INVALID = 38,
    DATA_FUSED = 39,
    DATA_MICROCODE = 40,

    DATA2_REMOTE = 4,
    DATA2_HIT_OWNED = 5,
    DATA2_SOURCE_HIGH = 6,
    DATA2_STREAMING = 8,
    DATA2_REMOTE_SOCKET = 9,

    DATA3_LOAD = 0,
    DATA3_STORE = 1,
    DATA3_L1_TLB_MISS = 2,
    DATA3_L2_TLB_MISS = 3,
    DATA3_L1_TLB_2M = 4,
    DATA3_L1_TLB_1G = 5,
    DATA3_L2_TLB_2M = 6,
    DATA3_MISS = 7,
    DATA3_MISALIGNED = 8,
    DATA3_WRITE_COMBINING = 13,
    DATA3_UNCACHEABLE = 14,
    DATA3_LOCKED = 15,
    DATA3_NO_MAB = 16,
    DATA3_LINEAR_VALID = 17,
    DATA3_PHYSICAL_VALID = 18,
    DATA3_L2_TLB_1G = 19,
    DATA3_L2_MISS = 20,
    DATA3_PREFETCH = 21,
    DATA3_WIDTH = 22,
    DATA3_OPEN = 26,
    DATA3_MISS_LATENCY = 32,
    DATA3_TLB_LATENCY = 48,

    THRESHOLD_STEP = 128, /* cycles */
    WIDTH_LARGEST = 64,
};

static const uint32_t extended_period = 0x7f << 20;

static inline bool bit(uint64_t value, unsigned place)
{
    return value >> place & 1;
}

static inline uint64_t flag(bool value, unsigned place)
{
    return (uint64_t)value << place;
}

size_t ibs_payload_size(uint32_t capabilities)
{
    return 4 +
           8 * (size_t)(7 + !!(capabilities & IBS_BRANCH_TARGET) + !!(capabilities & IBS_OP_DATA4));
}

bool ibs_decode(const uint8_t *payload, size_t size, struct ibs_registers *registers)
{
    const uint8_t *at = payload + 4;

    if (size < 4 || size < ibs_payload_size(load32(payload)))
        return false;
    registers->capabilities = load32(payload);
    registers->control = load64(at);
    registers->rip = load64(at + 8);
    registers->data = load64(at + 16);
    registers->data2 = load64(at + 24);
    registers->data3 = load64(at + 32);
    registers->linear = load64(at + 40);
    registers->physical = load64(at + 48);
    registers->target = registers->data4 = 0;
    at += 56;
    if (registers->capabilities & IBS_BRANCH_TARGET) {
        registers->target = load64(at);
        at += 8;
    }
    if (registers->capabilities & IBS_OP_DATA4)
        registers->data4 = load64(at);
    return true;
}

static inline uint32_t period_of(const struct ibs_registers *registers)
{
    uint32_t control = (uint32_t)registers->control;
    uint32_t extended = registers->capabilities & IBS_OP_COUNT_EXTENDED ? extended_period : 0;

    return (control & 0xffff) << 4 | (control & extended);
}

static inline bool rip_is_invalid(const struct ibs_registers *registers)
{
    return registers->capabilities & IBS_RIP_INVALID && bit(registers->data, DATA_RIP_INVALID);
}

static inline void control_fields(const struct ibs_registers *registers, struct ibs_op *op)
{
    uint64_t control = registers->control;

    op->period = period_of(registers);
    op->l3_miss_only = registers->capabilities & IBS_ZEN4 && bit(control, CONTROL_L3_MISS_ONLY);
    op->enabled = bit(control, CONTROL_ENABLE);
    op->valid = bit(control, CONTROL_VALID);
    op->counts_operations = bit(control, CONTROL_COUNT_OPERATIONS);
    op->current_count = (uint32_t)bits(control, CONTROL_CURRENT, 27);
    op->latency_threshold =
        registers->capabilities & IBS_LOAD_LATENCY_FILTER && bit(control, CONTROL_THRESHOLD_ENABLE)
            ? (uint32_t)(bits(control, CONTROL_THRESHOLD, 4) + 1) * THRESHOLD_STEP
            : 0;
}

static inline void data_fields(const struct ibs_registers *registers, struct ibs_op *op)
{
    uint64_t data = registers->data, data2 = registers->data2;
    uint32_t capabilities = registers->capabilities;

    op->completion_to_return = (uint16_t)data;
    op->tag_to_return = (uint16_t)(data >> DATA_TAG_TO_RETURN);
    op->return_op = bit(data, DATA_RETURN);
    op->taken = bit(data, DATA_TAKEN);
    op->mispredicted = bit(data, DATA_MISPREDICTED);
    op->branch_retired = bit(data, DATA_BRANCH);
    op->rip_invalid = rip_is_invalid(registers);
    op->branch_fused = capabilities & IBS_FUSED_BRANCH && bit(data, DATA_FUSED);
    op->microcode = bit(data, DATA_MICROCODE);

    op->data_source = (uint8_t)bits(data2, 0, 3);
    if (capabilities & IBS_ZEN4)
        op->data_source |= (uint8_t)(bits(data2, DATA2_SOURCE_HIGH, 2) << 3);
    op->remote_node = bit(data2, DATA2_REMOTE);
    op->cache_hit_owned = bit(data2, DATA2_HIT_OWNED);
    op->streaming_store = capabilities & IBS_STREAMING_REMOTE_SOCKET && bit(data2, DATA2_STREAMING);
    op->remote_socket =
        capabilities & IBS_STREAMING_REMOTE_SOCKET && bit(data2, DATA2_REMOTE_SOCKET);
}

static inline void translation_fields(const struct ibs_registers *registers, struct ibs_op *op)
{
    static const uint32_t page_sizes[4] = {1 << 12, 1 << 21, 1 << 30, 0};
    uint64_t data3 = registers->data3;

    op->l1_tlb_miss = bit(data3, DATA3_L1_TLB_MISS);
    op->l2_tlb_miss = bit(data3, DATA3_L2_TLB_MISS);
    if (registers->capabilities & IBS_TLB_PAGE_SIZE) {
        op->page_size = op->physical_valid ? page_sizes[bits(data3, DATA3_L1_TLB_2M, 2)] : 0;
        return;
    }
    op->l1_tlb_hit_2m = bit(data3, DATA3_L1_TLB_2M);
    op->l1_tlb_hit_1g = bit(data3, DATA3_L1_TLB_1G);
    op->l2_tlb_hit_2m = bit(data3, DATA3_L2_TLB_2M);
    op->l2_tlb_hit_1g = bit(data3, DATA3_L2_TLB_1G);
}

void ibs_fields(const struct ibs_registers *registers, struct ibs_op *op)
{
    uint64_t data3 = registers->data3;
    unsigned width = (unsigned)bits(data3, DATA3_WIDTH, 4);

    memset(op, 0, sizeof *op);
    control_fields(registers, op);
    data_fields(registers, op);
    op->load = bit(data3, DATA3_LOAD);
    op->store = bit(data3, DATA3_STORE);
    op->cache_miss = bit(data3, DATA3_MISS);
    op->misaligned = bit(data3, DATA3_MISALIGNED);
    op->write_combining = bit(data3, DATA3_WRITE_COMBINING);
    op->uncacheable = bit(data3, DATA3_UNCACHEABLE);
    op->locked = bit(data3, DATA3_LOCKED);
    op->miss_no_mab = bit(data3, DATA3_NO_MAB);
    op->linear_valid = bit(data3, DATA3_LINEAR_VALID);
    op->physical_valid = bit(data3, DATA3_PHYSICAL_VALID);
    op->l2_miss = bit(data3, DATA3_L2_MISS);
    op->software_prefetch = bit(data3, DATA3_PREFETCH);
    /* 1 + log2 of the bytes; more than 64 bytes is no width of an access. */
    op->width = width >= 1 && width <= 7 ? (uint8_t)(1 << (width - 1)) : 0;
    op->open_requests = (uint8_t)bits(data3, DATA3_OPEN, 6);
    op->miss_latency = (uint16_t)(data3 >> DATA3_MISS_LATENCY);
    op->tlb_refill_latency = (uint16_t)(data3 >> DATA3_TLB_LATENCY);
    translation_fields(registers, op);
}

static uint64_t pack_control(const struct ibs_op *op)
{
    uint64_t threshold = op->latency_threshold / THRESHOLD_STEP;

    return bits(op->period, 4, 16) | (op->period & extended_period) |
           flag(op->l3_miss_only, CONTROL_L3_MISS_ONLY) | flag(op->enabled, CONTROL_ENABLE) |
           flag(op->valid, CONTROL_VALID) | flag(op->counts_operations, CONTROL_COUNT_OPERATIONS) |
           bits(op->current_count, 0, 27) << CONTROL_CURRENT |
           (threshold ? bits(threshold - 1, 0, 4) << CONTROL_THRESHOLD |
                            flag(true, CONTROL_THRESHOLD_ENABLE)
                      : 0);
}

static uint64_t pack_translation(const struct ibs_op *op, uint32_t capabilities)
{
    uint64_t misses =
        flag(op->l1_tlb_miss, DATA3_L1_TLB_MISS) | flag(op->l2_tlb_miss, DATA3_L2_TLB_MISS);

    if (capabilities & IBS_TLB_PAGE_SIZE)
        return misses | (uint64_t)(op->page_size >= 1 << 30   ? 2
                                   : op->page_size >= 1 << 21 ? 1
                                                              : 0)
                            << DATA3_L1_TLB_2M;
    return misses | flag(op->l1_tlb_hit_2m, DATA3_L1_TLB_2M) |
           flag(op->l1_tlb_hit_1g, DATA3_L1_TLB_1G) | flag(op->l2_tlb_hit_2m, DATA3_L2_TLB_2M) |
           flag(op->l2_tlb_hit_1g, DATA3_L2_TLB_1G);
}

void ibs_set_fields(const struct ibs_op *op, struct ibs_registers *registers)
{
    uint64_t width =
        op->width >= 1 && op->width <= WIDTH_LARGEST ? 1 + (unsigned)__builtin_ctz(op->width) : 0;

    registers->control = pack_control(op);
    registers->data = op->completion_to_return | (uint64_t)op->tag_to_return << DATA_TAG_TO_RETURN |
                      flag(op->return_op, DATA_RETURN) | flag(op->taken, DATA_TAKEN) |
                      flag(op->mispredicted, DATA_MISPREDICTED) |
                      flag(op->branch_retired, DATA_BRANCH) |
                      flag(op->rip_invalid, DATA_RIP_INVALID) | flag(op->branch_fused, DATA_FUSED) |
                      flag(op->microcode, DATA_MICROCODE);
    registers->data2 = bits(op->data_source, 0, 3) | flag(op->remote_node, DATA2_REMOTE) |
                       flag(op->cache_hit_owned, DATA2_HIT_OWNED) |
                       bits(op->data_source, 3, 2) << DATA2_SOURCE_HIGH |
                       flag(op->streaming_store, DATA2_STREAMING) |
                       flag(op->remote_socket, DATA2_REMOTE_SOCKET);
    registers->data3 =
        flag(op->load, DATA3_LOAD) | flag(op->store, DATA3_STORE) |
        pack_translation(op, registers->capabilities) | flag(op->cache_miss, DATA3_MISS) |
        flag(op->misaligned, DATA3_MISALIGNED) | flag(op->write_combining, DATA3_WRITE_COMBINING) |
        flag(op->uncacheable, DATA3_UNCACHEABLE) | flag(op->locked, DATA3_LOCKED) |
        flag(op->miss_no_mab, DATA3_NO_MAB) | flag(op->linear_valid, DATA3_LINEAR_VALID) |
        flag(op->physical_valid, DATA3_PHYSICAL_VALID) | flag(op->l2_miss, DATA3_L2_MISS) |
        flag(op->software_prefetch, DATA3_PREFETCH) | width << DATA3_WIDTH |
        bits(op->open_requests, 0, 6) << DATA3_OPEN |
        (uint64_t)op->miss_latency << DATA3_MISS_LATENCY |
        (uint64_t)op->tlb_refill_latency << DATA3_TLB_LATENCY;
}

/* ---- as an access ---- */

/* Straight from the registers: taking every field apart first would cost as much again. */

enum { ZEN4_SOURCES = 32, SOURCES_BEFORE_ZEN4 = 8 };

/* Where a load that missed the first two caches was served, by DataSrc; LEVEL_UNKNOWN where the
 * number is not used. Memory of the near node: RmtNode may say that it was another's. */
static const uint8_t sources_before_zen4[SOURCES_BEFORE_ZEN4] = {
    [2] = LEVEL_L3,           /* local L3, or another core's cache of this node */
    [3] = LEVEL_DRAM,         /* memory */
    [4] = LEVEL_REMOTE_CACHE, /* another node's cache */
    [7] = LEVEL_IO,           /* devices, configuration space */
};
static const uint8_t sources_zen4[ZEN4_SOURCES] = {
    [1] = LEVEL_L3,           /* L3, or another core's caches, of this core complex */
    [2] = LEVEL_PEER_CACHE,   /* cache of a near core complex */
    [3] = LEVEL_DRAM,         /* memory */
    [5] = LEVEL_REMOTE_CACHE, /* cache of a far core complex */
    [6] = LEVEL_PERSISTENT,   /* long-latency memory modules */
    [7] = LEVEL_IO,           /* devices, configuration space */
    [8] = LEVEL_CXL,          /* extension memory */
    [12] = LEVEL_REMOTE_DRAM, /* memory of a peer agent */
};

/* Bytes, by OpMemWidth: 1 + log2. More than 64 is no width of an access. */
static const uint8_t widths[16] = {0, 1, 2, 4, 8, 16, 32, 64};

/* By the two bits of misses from DcL1TlbMiss on. */
static const uint8_t translations[4] = {TRANSLATION_L1, TRANSLATION_L2, TRANSLATION_L1,
                                        TRANSLATION_WALK};

_Static_assert(ACCESS_LOAD == 1 && ACCESS_STORE == 2 && DATA3_STORE == DATA3_LOAD + 1,
               "kinds are taken as they stand in OP_DATA3");

/* Processors that do not have the bit CacheHitSt, and those with erratum 1293. */
static bool has_hit_state(const struct ibs_processor *processor)
{
    return !processor || processor->family != 0x19 ||
           (processor->model > 0xf && (processor->model < 0x20 || processor->model > 0x5f));
}

static bool has_erratum_1293(const struct ibs_processor *processor)
{
    return processor && processor->family == 0x19 && processor->model <= 0xf;
}

/* Memory of the near node, by its number, but of another one. */
static inline bool is_remote(const struct ibs_registers *registers)
{
    bool socket = registers->capabilities & IBS_STREAMING_REMOTE_SOCKET &&
                  bit(registers->data2, DATA2_REMOTE_SOCKET);

    return bit(registers->data2, DATA2_REMOTE) || socket;
}

/* The source of a load that missed the first two caches. */
static inline enum access_level source_of(const struct ibs_registers *registers,
                                          const struct ibs_processor *processor, uint32_t *flags)
{
    bool zen4 = registers->capabilities & IBS_ZEN4;
    uint64_t data2 = registers->data2;
    uint64_t number = bits(data2, 0, 3), high = bits(data2, DATA2_SOURCE_HIGH, 2) << 3;
    unsigned level = zen4 ? sources_zen4[number | high] : sources_before_zen4[number];
    bool of_cache =
        level == LEVEL_L3 || (zen4 && (level == LEVEL_PEER_CACHE || level == LEVEL_REMOTE_CACHE));

    if (of_cache && !bit(data2, DATA2_HIT_OWNED) && has_hit_state(processor))
        *flags |= PMU_MODIFIED_ELSEWHERE | PMU_FROM_OTHER_CACHE;
    if (level >= LEVEL_DRAM && is_remote(registers)) {
        level = level == LEVEL_DRAM ? LEVEL_REMOTE_DRAM : level;
        *flags |= zen4 && (level == LEVEL_PERSISTENT || level == LEVEL_CXL) ? PMU_REMOTE : 0;
    }
    return (enum access_level)level;
}

/* Where the data came from; what that says besides goes to *flags. */
static inline enum access_level level_of(const struct ibs_registers *registers,
                                         const struct ibs_processor *processor, uint32_t *flags)
{
    uint64_t data3 = registers->data3;
    bool no_mab = bit(data3, DATA3_NO_MAB);
    enum access_level level = LEVEL_UNKNOWN;

    if (!bit(data3, DATA3_MISS))
        return LEVEL_L1;
    *flags |= PMU_L1_MISSED;
    if (!has_erratum_1293(processor) || !(no_mab || bit(data3, DATA3_PREFETCH))) {
        if (!bit(data3, DATA3_L2_MISS))
            return LEVEL_L2;
        *flags |= PMU_L2_MISSED;
        /* The source is told for loads only. */
        if (bit(data3, DATA3_LOAD))
            level = source_of(registers, processor, flags);
    }
    /* Nothing told, but it was on its way already for an earlier miss. */
    if (level == LEVEL_UNKNOWN && no_mab)
        level = LEVEL_FILL_BUFFER;
    *flags |= access_level_implies[level];
    return level;
}

/* What every load and store has. */
static inline void memory_to_record(const struct ibs_registers *registers,
                                    struct access_record *record)
{
    uint64_t data3 = registers->data3;
    bool linear = bit(data3, DATA3_LINEAR_VALID);
    /* Unprivileged readers get 0 with the valid bit still set (Linux 7). */
    bool physical = bit(data3, DATA3_PHYSICAL_VALID) && registers->physical;
    bool l1_tlb_miss = bit(data3, DATA3_L1_TLB_MISS);

    record->address = linear ? registers->linear : 0;
    record->physical = physical ? registers->physical : 0;
    record->width = widths[bits(data3, DATA3_WIDTH, 4)];
    record->latency_translation = l1_tlb_miss ? (uint16_t)(data3 >> DATA3_TLB_LATENCY) : 0;
    record->translation =
        linear ? translations[bits(data3, DATA3_L1_TLB_MISS, 2)] : (uint8_t)TRANSLATION_UNKNOWN;
    record->flags |= (linear ? PMU_HAS_ADDRESS : 0) | (physical ? PMU_HAS_PHYSICAL : 0) |
                     (record->kinds == (ACCESS_LOAD | ACCESS_STORE) ? PMU_ATOMIC : 0) |
                     (bit(data3, DATA3_LOCKED) ? PMU_LOCKED : 0) |
                     (bit(data3, DATA3_PREFETCH) ? PMU_PREFETCH : 0) |
                     (bit(data3, DATA3_MISALIGNED) ? PMU_MISALIGNED : 0) |
                     (bit(data3, DATA3_WRITE_COMBINING) ? PMU_WRITE_COMBINING : 0);
}

bool ibs_to_record(const struct ibs_registers *registers, const struct ibs_processor *processor,
                   struct access_record *record)
{
    static const uint64_t served_load = UINT64_C(1) << DATA3_LOAD | UINT64_C(1) << DATA3_MISS;
    uint64_t data = registers->data, data3 = registers->data3;

    memset(record, 0, sizeof *record);
    if (!bit(registers->control, CONTROL_VALID))
        return false;
    record->ip = registers->rip;
    record->flags = PMU_HAS_IP | (rip_is_invalid(registers) ? 0 : PMU_EXACT_IP) |
                    (bit(data, DATA_BRANCH) ? PMU_BRANCH : 0);
    record->period = period_of(registers);
    /* The branch that the kernel takes for its own filter: the upper half is the kernel's. */
    record->privilege = registers->rip >> 63 ? PRIVILEGE_KERNEL : PRIVILEGE_USER;
    record->latency_instruction = (uint16_t)(data >> DATA_TAG_TO_RETURN);
    record->latency_retire = (uint16_t)data;
    record->kinds = (uint8_t)bits(data3, DATA3_LOAD, 2);
    if (record->kinds == 0)
        return true;
    memory_to_record(registers, record);
    if (bit(data3, DATA3_UNCACHEABLE)) {
        /* What it says of the caches, and of its latency, is not valid. */
        record->flags |= PMU_UNCACHEABLE;
        record->level = LEVEL_IO;
        return true;
    }
    record->level = (uint8_t)level_of(registers, processor, &record->flags);
    if ((data3 & served_load) == served_load && (uint16_t)(data3 >> DATA3_MISS_LATENCY)) {
        record->latency = (uint16_t)(data3 >> DATA3_MISS_LATENCY);
        record->flags |= PMU_HAS_LATENCY;
    }
    return true;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* perf samples and IBS payloads from accesses. See encode.h. Signal-safe. */
#include <linux/perf_event.h>
#include <string.h>

#include "pmu/bytes.h"
#include "pmu/data_source.h"
#include "pmu/encode.h"

#include "signal_safe.h"

/* Where the next field goes. Once something did not fit, nothing is written any more. */
struct output {
    uint8_t *at, *end;
    bool failed;
};

static void put(struct output *out, const void *bytes, size_t size)
{
    if (out->failed || (size_t)(out->end - out->at) < size) {
        out->failed = true;
        return;
    }
    memcpy(out->at, bytes, size);
    out->at += size;
}

static void put_word(struct output *out, uint64_t value)
{
    put(out, &value, sizeof value);
}

static void put_word_if(struct output *out, bool wanted, uint64_t value)
{
    if (wanted)
        put_word(out, value);
}

static uint64_t pair(uint32_t first, uint32_t second)
{
    return first | (uint64_t)second << 32;
}

static void put_raw(struct output *out, const struct perf_sample *sample)
{
    static const uint8_t zeros[8];
    uint32_t padding = (8 - (4 + sample->raw_size) % 8) % 8;
    uint32_t size = sample->raw_size + padding;

    put(out, &size, sizeof size);
    if (sample->raw_size)
        put(out, sample->raw, sample->raw_size);
    put(out, zeros, padding);
}

/* Fields of variable length, empty but for the raw payload. */
static void put_middle(struct output *out, const struct perf_layout *layout,
                       const struct perf_sample *sample)
{
    uint64_t type = layout->sample_type;

    put_word_if(out, type & PERF_SAMPLE_CALLCHAIN, 0);
    if (type & PERF_SAMPLE_RAW)
        put_raw(out, sample);
    if (type & PERF_SAMPLE_BRANCH_STACK) {
        put_word(out, 0);
        put_word_if(out, layout->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX, 0);
    }
    put_word_if(out, type & PERF_SAMPLE_REGS_USER, PERF_SAMPLE_REGS_ABI_NONE);
    put_word_if(out, type & PERF_SAMPLE_STACK_USER, 0);
}

/* The record's header, once its size is known. */
static size_t finish(struct output *out, uint8_t *record, uint32_t type, uint16_t misc)
{
    size_t size = (size_t)(out->at - record);

    if (out->failed || size > PERF_RECORD_LARGEST)
        return 0;
    store32(record, type);
    store16(record + 4, misc);
    store16(record + 6, (uint16_t)size);
    return size;
}

size_t encode_perf_sample(const struct perf_layout *layout, const struct perf_sample *sample,
                          uint16_t misc, uint8_t *record, size_t capacity)
{
    uint64_t type = layout->sample_type;
    struct output out = {record + PERF_RECORD_HEADER, record + capacity, false};

    if (capacity < PERF_RECORD_HEADER || type & PERF_SAMPLE_READ || perf_layout_unknown(layout))
        return 0;
    put_word_if(&out, type & PERF_SAMPLE_IDENTIFIER, sample->identifier);
    put_word_if(&out, type & PERF_SAMPLE_IP, sample->ip);
    put_word_if(&out, type & PERF_SAMPLE_TID, pair(sample->pid, sample->tid));
    put_word_if(&out, type & PERF_SAMPLE_TIME, sample->time);
    put_word_if(&out, type & PERF_SAMPLE_ADDR, sample->address);
    put_word_if(&out, type & PERF_SAMPLE_ID, sample->id);
    put_word_if(&out, type & PERF_SAMPLE_STREAM_ID, sample->stream_id);
    put_word_if(&out, type & PERF_SAMPLE_CPU, sample->cpu);
    put_word_if(&out, type & PERF_SAMPLE_PERIOD, sample->period);
    put_middle(&out, layout, sample);
    if (type & PERF_SAMPLE_WEIGHT)
        put_word(&out, sample->weight);
    else if (type & PERF_SAMPLE_WEIGHT_STRUCT)
        put_word(&out, (uint32_t)sample->weight | (uint64_t)sample->weight_2 << 32 |
                           (uint64_t)sample->weight_3 << 48);
    put_word_if(&out, type & PERF_SAMPLE_DATA_SRC, sample->data_source);
    put_word_if(&out, type & PERF_SAMPLE_TRANSACTION, sample->transaction);
    put_word_if(&out, type & PERF_SAMPLE_REGS_INTR, PERF_SAMPLE_REGS_ABI_NONE);
    put_word_if(&out, type & PERF_SAMPLE_PHYS_ADDR, sample->physical);
    put_word_if(&out, type & PERF_SAMPLE_CGROUP, sample->cgroup);
    put_word_if(&out, type & PERF_SAMPLE_DATA_PAGE_SIZE, sample->data_page_size);
    put_word_if(&out, type & PERF_SAMPLE_CODE_PAGE_SIZE, sample->code_page_size);
    put_word_if(&out, type & PERF_SAMPLE_AUX, 0);
    return finish(&out, record, PERF_RECORD_SAMPLE, misc);
}

size_t encode_perf_lost(const struct perf_layout *layout, const struct perf_sample *identity,
                        uint64_t count, uint8_t *record, size_t capacity)
{
    uint64_t type = layout->sample_id_all ? layout->sample_type : 0;
    struct output out = {record + PERF_RECORD_HEADER, record + capacity, false};

    if (capacity < PERF_RECORD_HEADER)
        return 0;
    put_word(&out, identity->id);
    put_word(&out, count);
    put_word_if(&out, type & PERF_SAMPLE_TID, pair(identity->pid, identity->tid));
    put_word_if(&out, type & PERF_SAMPLE_TIME, identity->time);
    put_word_if(&out, type & PERF_SAMPLE_ID, identity->id);
    put_word_if(&out, type & PERF_SAMPLE_STREAM_ID, identity->stream_id);
    put_word_if(&out, type & PERF_SAMPLE_CPU, identity->cpu);
    put_word_if(&out, type & PERF_SAMPLE_IDENTIFIER, identity->identifier);
    return finish(&out, record, PERF_RECORD_LOST, 0);
}

/* What the kernel fills in whatever the unit is. */
static void sample_from_record(const struct access_record *record, struct perf_sample *sample,
                               uint16_t *misc)
{
    *sample = (struct perf_sample){
        .ip = record->ip,
        .address = record->flags & PMU_HAS_ADDRESS ? record->address : 0,
        .physical = record->flags & PMU_HAS_PHYSICAL ? record->physical : 0,
        .time = record->time,
        .period = record->period,
        .pid = record->pid,
        .tid = record->tid,
        .cpu = record->cpu,
        .data_source = data_source_from_record(record),
    };
    *misc = (uint16_t)((record->flags & PMU_EXACT_IP ? PERF_RECORD_MISC_EXACT_IP : 0) |
                       (record->privilege == PRIVILEGE_KERNEL       ? PERF_RECORD_MISC_KERNEL
                        : record->privilege == PRIVILEGE_HYPERVISOR ? PERF_RECORD_MISC_HYPERVISOR
                        : record->privilege == PRIVILEGE_USER       ? PERF_RECORD_MISC_USER
                                                              : PERF_RECORD_MISC_CPUMODE_UNKNOWN));
}

size_t encode_pebs(const struct perf_layout *layout, const struct access_record *record,
                   uint8_t *out, size_t capacity)
{
    struct perf_sample sample;
    uint16_t misc;

    sample_from_record(record, &sample, &misc);
    sample.weight = record->flags & PMU_HAS_LATENCY ? record->latency : 0;
    sample.weight_2 = record->latency_instruction;
    sample.weight_3 = record->latency_retire;
    return encode_perf_sample(layout, &sample, misc, out, capacity);
}

/* ---- IBS ---- */

/* DataSrc of a load that missed two caches; 0: none tells this. */
static uint8_t ibs_source(const struct access_record *record, bool zen4)
{
    switch (record->level) {
    case LEVEL_L3:
        return zen4 ? 1 : 2;
    case LEVEL_PEER_CACHE:
        return 2;
    case LEVEL_DRAM:
    case LEVEL_REMOTE_DRAM:
        return 3;
    case LEVEL_REMOTE_CACHE:
        return zen4 ? 5 : 4;
    case LEVEL_PERSISTENT:
        return zen4 ? 6 : 0;
    case LEVEL_IO:
        return 7;
    case LEVEL_CXL:
        return zen4 ? 8 : 0;
    default:
        return 0;
    }
}

void ibs_from_record(const struct access_record *record, uint32_t capabilities,
                     struct ibs_registers *registers)
{
    uint32_t flags = record->flags;
    bool load = record->kinds & ACCESS_LOAD;
    struct ibs_op op = {
        .period = (uint32_t)record->period,
        .enabled = true,
        .valid = true,
        .counts_operations = true,
        .completion_to_return = record->latency_retire,
        .tag_to_return = record->latency_instruction,
        .branch_retired = flags & PMU_BRANCH,
        .rip_invalid = !(flags & PMU_EXACT_IP),
        .remote_node = flags & PMU_REMOTE,
        .cache_hit_owned = !(flags & PMU_MODIFIED_ELSEWHERE),
        .load = load,
        .store = record->kinds & ACCESS_STORE,
        .l1_tlb_miss =
            record->translation == TRANSLATION_L2 || record->translation == TRANSLATION_WALK,
        .l2_tlb_miss = record->translation == TRANSLATION_WALK,
        .cache_miss = flags & PMU_L1_MISSED || record->level > LEVEL_L1,
        .misaligned = flags & PMU_MISALIGNED,
        .write_combining = flags & PMU_WRITE_COMBINING,
        .uncacheable = flags & PMU_UNCACHEABLE,
        .locked = flags & PMU_LOCKED,
        .linear_valid = flags & PMU_HAS_ADDRESS,
        .physical_valid = flags & PMU_HAS_PHYSICAL,
        .l2_miss =
            flags & PMU_L2_MISSED || record->level > LEVEL_L2 || record->level == LEVEL_FILL_BUFFER,
        .miss_no_mab = record->level == LEVEL_FILL_BUFFER,
        .software_prefetch = flags & PMU_PREFETCH,
        .width = record->width,
        .miss_latency = record->latency > UINT16_MAX ? UINT16_MAX : (uint16_t)record->latency,
        .tlb_refill_latency = record->latency_translation,
    };

    if (load)
        op.data_source = ibs_source(record, capabilities & IBS_ZEN4);
    *registers = (struct ibs_registers){
        .capabilities = capabilities,
        .rip = record->ip,
        .linear = record->address,
        .physical = record->physical,
    };
    ibs_set_fields(&op, registers);
}

size_t ibs_encode(const struct ibs_registers *registers, uint8_t *payload, size_t capacity)
{
    struct output out = {payload, payload + capacity, false};
    const uint64_t always[] = {registers->control, registers->rip,   registers->data,
                               registers->data2,   registers->data3, registers->linear,
                               registers->physical};

    put(&out, &registers->capabilities, sizeof registers->capabilities);
    put(&out, always, sizeof always);
    put_word_if(&out, registers->capabilities & IBS_BRANCH_TARGET, registers->target);
    put_word_if(&out, registers->capabilities & IBS_OP_DATA4, registers->data4);
    return out.failed ? 0 : (size_t)(out.at - payload);
}

size_t encode_ibs(const struct perf_layout *layout, uint32_t capabilities,
                  const struct access_record *record, uint8_t *out, size_t capacity)
{
    uint8_t payload[IBS_RAW_LARGEST];
    struct ibs_registers registers;
    struct perf_sample sample;
    uint16_t misc;

    ibs_from_record(record, capabilities, &registers);
    sample_from_record(record, &sample, &misc);
    sample.raw = payload;
    sample.raw_size = (uint32_t)ibs_encode(&registers, payload, sizeof payload);
    /* The kernel gives a weight to loads that missed, and to nothing else. */
    if (record->flags & PMU_HAS_LATENCY) {
        sample.weight = record->latency;
        sample.weight_2 = record->latency_instruction;
    }
    return encode_perf_sample(layout, &sample, misc, out, capacity);
}

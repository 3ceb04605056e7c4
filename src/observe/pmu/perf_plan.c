/* SPDX-License-Identifier: BSD-3-Clause */
/* See perf_plan.h. Signal-safe. */
#include "pmu/perf_plan.h"

#include <linux/perf_event.h>

#include "pmu/bytes.h"
#include "pmu/data_source.h"

#include "signal_safe.h"

enum { RAW_SIZE = 4 }; /* bytes of the number before the payload */

bool perf_plan_make(const struct perf_layout *layout, enum perf_sample_unit unit,
                    unsigned event_kinds, struct perf_plan *plan)
{
    static const uint64_t variable =
        PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK |
        PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_AUX;
    static const uint64_t after_raw = PERF_SAMPLE_WEIGHT_TYPE | PERF_SAMPLE_DATA_SRC |
                                      PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_PHYS_ADDR |
                                      PERF_SAMPLE_CGROUP | PERF_SAMPLE_DATA_PAGE_SIZE |
                                      PERF_SAMPLE_CODE_PAGE_SIZE;
    uint64_t type = layout->sample_type;
    /* In the order of the record; those that no access needs are only passed over. */
    const struct {
        uint64_t bit;
        uint8_t *place;
    } fields[] = {
        {PERF_SAMPLE_IDENTIFIER, NULL},
        {PERF_SAMPLE_IP, &plan->ip},
        {PERF_SAMPLE_TID, &plan->tid},
        {PERF_SAMPLE_TIME, &plan->time},
        {PERF_SAMPLE_ADDR, &plan->address},
        {PERF_SAMPLE_ID, NULL},
        {PERF_SAMPLE_STREAM_ID, NULL},
        {PERF_SAMPLE_CPU, &plan->cpu},
        {PERF_SAMPLE_PERIOD, &plan->period},
        {PERF_SAMPLE_WEIGHT_TYPE, &plan->weight},
        {PERF_SAMPLE_DATA_SRC, &plan->data_source},
        {PERF_SAMPLE_TRANSACTION, NULL},
        {PERF_SAMPLE_PHYS_ADDR, &plan->physical},
        {PERF_SAMPLE_CGROUP, NULL},
        {PERF_SAMPLE_DATA_PAGE_SIZE, NULL},
        {PERF_SAMPLE_CODE_PAGE_SIZE, NULL},
    };
    unsigned at = PERF_RECORD_HEADER;

    if (type & variable || (type & PERF_SAMPLE_RAW && type & after_raw) ||
        perf_layout_unknown(layout))
        return false;
    memset(plan, 0, sizeof *plan);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (type & fields[i].bit) {
            if (fields[i].place)
                *fields[i].place = (uint8_t)at;
            at += 8;
        }
    if (type & PERF_SAMPLE_RAW) {
        plan->raw = (uint8_t)at;
        at += RAW_SIZE;
    }
    plan->size = (uint16_t)at;
    plan->kinds = (uint8_t)event_kinds;
    plan->flags = (plan->ip ? PMU_HAS_IP : 0) | (plan->time ? PMU_HAS_TIME : 0) |
                  (plan->tid ? PMU_HAS_THREAD : 0) | (plan->cpu ? PMU_HAS_CPU : 0);
    plan->weight_masks[0] = type & PERF_SAMPLE_WEIGHT ? UINT64_MAX : UINT32_MAX;
    if (!(type & PERF_SAMPLE_WEIGHT)) {
        plan->weight_masks[1] = unit != UNIT_GENERIC ? 0xffff : 0;
        plan->weight_masks[2] = unit == UNIT_PEBS ? 0xffff : 0;
    }
    return true;
}

static inline uint64_t field(const uint8_t *record, unsigned place)
{
    return place ? load64(record + place) : 0;
}

/* Whether all that the layout says is in the record: of a payload also the padding behind it. */
static inline bool fits(const struct perf_plan *plan, const uint8_t *record, size_t size)
{
    if (size < plan->size)
        return false;
    return !plan->raw ||
           (RAW_SIZE + (uint64_t)load32(record + plan->raw) + 7) / 8 * 8 <= size - plan->raw;
}

const uint8_t *perf_plan_raw(const struct perf_plan *plan, const uint8_t *record,
                             const struct perf_record_header *header, size_t *size)
{
    if (!plan->raw || !fits(plan, record, header->size))
        return NULL;
    *size = load32(record + plan->raw);
    return record + plan->raw + RAW_SIZE;
}

bool perf_plan_record(const struct perf_plan *plan, const uint8_t *record,
                      const struct perf_record_header *header, struct access_record *access)
{
    uint64_t thread, weight, latency;

    if (!fits(plan, record, header->size))
        return false;
    thread = field(record, plan->tid);
    weight = field(record, plan->weight);
    latency = weight & plan->weight_masks[0];
    *access = (struct access_record){
        .ip = field(record, plan->ip),
        .address = field(record, plan->address),
        .physical = field(record, plan->physical),
        .time = field(record, plan->time),
        .period = field(record, plan->period),
        .flags = plan->flags,
        .pid = (uint32_t)thread,
        .tid = (uint32_t)(thread >> 32),
        .cpu = (uint32_t)field(record, plan->cpu),
        .latency = latency > UINT32_MAX ? UINT32_MAX : (uint32_t)latency,
        .latency_instruction = (uint16_t)(weight >> 32 & plan->weight_masks[1]),
        .latency_retire = (uint16_t)(weight >> 48 & plan->weight_masks[2]),
        .privilege = (uint8_t)perf_privilege(header->misc),
    };
    if (access->address)
        access->flags |= PMU_HAS_ADDRESS;
    if (access->physical)
        access->flags |= PMU_HAS_PHYSICAL;
    if (access->latency)
        access->flags |= PMU_HAS_LATENCY;
    if (plan->ip && header->misc & PERF_RECORD_MISC_EXACT_IP)
        access->flags |= PMU_EXACT_IP;
    if (plan->data_source)
        data_source_to_record(load64(record + plan->data_source), access);
    if (access->kinds == 0)
        access->kinds = plan->kinds;
    return true;
}

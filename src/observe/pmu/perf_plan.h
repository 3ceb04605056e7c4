/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The quick way from samples to accesses, for one event whose samples have fields of fixed length
 * only, or PERF_SAMPLE_RAW at their end: where each field lies is worked out once. Gives what
 * perf_sample_decode() and perf_sample_to_record() give.
 *
 * Pure; signal-safe; a record of any bytes is survived.
 */
#ifndef REUSE_PMU_PERF_PLAN_H
#define REUSE_PMU_PERF_PLAN_H

#include "pmu/perf_sample.h"

struct perf_plan {
    /* Byte offsets in the record; 0: the layout does not have it. */
    uint8_t ip, tid, time, address, cpu, period, weight, data_source, physical, raw;
    uint8_t kinds;  /* of the event */
    uint16_t size;  /* of the record */
    uint32_t flags; /* of every access */
    uint64_t
        weight_masks[3]; /* what of the weight is the latency; whether the other two are used */
};

/* False when the layout has other fields of variable length, or is not understood. */
bool perf_plan_make(const struct perf_layout *, enum perf_sample_unit, unsigned event_kinds,
                    struct perf_plan *);

/* False if the record is too short. */
bool perf_plan_record(const struct perf_plan *, const uint8_t *record,
                      const struct perf_record_header *, struct access_record *);

/* The payload of PERF_SAMPLE_RAW (for ibs_decode()), inside the record. NULL if there is none, or
 * the record is too short. */
const uint8_t *perf_plan_raw(const struct perf_plan *, const uint8_t *record,
                             const struct perf_record_header *, size_t *size);

#endif

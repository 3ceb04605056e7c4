/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of the kernel's perf ring buffer, for any sample_type: where each field of a
 * PERF_RECORD_SAMPLE lies, and the identification that follows every other record.
 *
 * Layout: include/uapi/linux/perf_event.h and perf_output_sample() of the kernel. Old and new
 * weights are told apart by sample_type (PERF_SAMPLE_WEIGHT before Linux 5.12,
 * PERF_SAMPLE_WEIGHT_STRUCT from then on).
 *
 * Pure; signal-safe; a record of any bytes is survived: what does not fit makes the decoder return
 * false. Pointers in the results point into the record and live as long as it.
 */
#ifndef REUSE_PMU_PERF_SAMPLE_H
#define REUSE_PMU_PERF_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pmu/access_record.h"

enum {
    PERF_SAMPLE_BITS_KNOWN = 25, /* bits of sample_type that this decoder understands: 0 .. 24 */
    PERF_RECORD_HEADER = 8,      /* bytes */
    PERF_RECORD_LARGEST = 65535, /* its size field has 16 bits */
};

/* What of the event's attributes decides on the layout. */
struct perf_layout {
    uint64_t sample_type;
    uint64_t read_format;
    uint64_t branch_sample_type;
    uint64_t registers_user; /* sample_regs_user */
    uint64_t registers_interrupted;
    bool sample_id_all;
};

/* The bits of sample_type or read_format that are not understood; 0: the layout can be decoded. */
uint64_t perf_layout_unknown(const struct perf_layout *);

struct perf_record_header {
    uint32_t type;
    uint16_t misc;
    uint16_t size; /* whole record, header included */
};

/* False when fewer than 8 bytes are there, or the size is less than a header or more than
 * `available`. */
bool perf_record_header(const uint8_t *bytes, size_t available, struct perf_record_header *);

/* A field is valid if its bit of sample_type is set; else 0. */
struct perf_sample {
    uint64_t identifier, ip, time, address, id, stream_id, period;
    uint32_t pid, tid, cpu;
    uint64_t weight;             /* PERF_SAMPLE_WEIGHT: all; _STRUCT: the 32-bit part */
    uint16_t weight_2, weight_3; /* PERF_SAMPLE_WEIGHT_STRUCT */
    uint64_t data_source, transaction, physical, cgroup, data_page_size, code_page_size;
    const uint8_t *read; /* values as read_format says; NULL without */
    size_t read_size;
    const uint8_t *callchain; /* callchain_count words */
    uint64_t callchain_count;
    const uint8_t *raw;
    uint32_t raw_size; /* padding included, as the kernel counts it */
    const uint8_t *branches;
    uint64_t branch_count;
    uint64_t user_abi, interrupted_abi; /* 0: no registers follow */
    const uint8_t *user_registers, *interrupted_registers;
    const uint8_t *stack;
    uint64_t stack_size; /* bytes that are valid */
    const uint8_t *aux;
    uint64_t aux_size;
};

/*
 * Takes a PERF_RECORD_SAMPLE apart. `record` starts with its header, `size` is the header's size.
 * False if the fields do not fit into the record: then *sample is unspecified.
 */
bool perf_sample_decode(const struct perf_layout *, const uint8_t *record, size_t size,
                        struct perf_sample *sample);

/* Identification of a record that is not a sample, if sample_id_all: fills pid, tid, time, id,
 * stream_id, cpu and identifier of *sample, the rest 0. False when the record is too short. */
bool perf_record_identity(const struct perf_layout *, const uint8_t *record, size_t size,
                          struct perf_sample *sample);

/* Where the identifier by which a reader finds the layout of a record lies, when several events
 * share a buffer: in bytes from the start of a sample, and from the end of another record. -1: it
 * is not there, or not at a fixed place. */
int perf_sample_identifier_offset(const struct perf_layout *);
int perf_record_identifier_from_end(const struct perf_layout *);

/* Who made the sample decides on the meaning of weights and on how exact the IP is. */
enum perf_sample_unit {
    UNIT_GENERIC, /* the kernel says nothing more */
    UNIT_PEBS,    /* latency, instruction latency, retire latency */
    UNIT_IBS,     /* data cache miss latency, tag to retirement */
};

/*
 * The sample as an access. `misc` is the record header's. `event_kinds` says what the event samples
 * (ACCESS_LOAD | ACCESS_STORE, 0 unknown); it is used when the data source tells no operation, as
 * for Intel's older store events. A raw IBS payload, if there is one, is not looked at: see ibs.h.
 */
void perf_sample_to_record(const struct perf_layout *, const struct perf_sample *, uint16_t misc,
                           enum perf_sample_unit, unsigned event_kinds, struct access_record *);

/* Where a record was made, by its header's misc. */
enum access_privilege perf_privilege(uint16_t misc);

/* Records that tell about the stream itself. */
enum perf_stream_event {
    STREAM_OTHER,     /* none of the below */
    STREAM_LOST,      /* records, `count` of them */
    STREAM_THROTTLED, /* the kernel stops the event until its next tick */
    STREAM_UNTHROTTLED,
    STREAM_TRACE_BEGUN, /* an event with an AUX area runs for the first time */
    STREAM_AUX,         /* `offset`, `count` bytes of the AUX area, `flags` PERF_AUX_FLAG_* */
};

struct perf_stream_record {
    enum perf_stream_event event;
    uint64_t id, offset, count, flags, time;
};

/* False if the record is one of these and too short. */
bool perf_stream_decode(const uint8_t *record, size_t size, struct perf_stream_record *);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files that `perf record`, `perf mem record` and `perf c2c record` write (perf.data), read from
 * memory: header, events with the layout of their samples, records, and the features at the end.
 * Format: Documentation/perf.data-file-format.txt of perf.
 *
 * Pure; no allocation; any bytes are survived. Pointers in the results point into the file's bytes,
 * which must stay. Not for signal handlers only because nobody needs it there.
 */
#ifndef REUSE_PMU_PERF_FILE_H
#define REUSE_PMU_PERF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pmu/perf_sample.h"

enum perf_file_status {
    PERF_FILE_GOOD,
    PERF_FILE_FOREIGN,    /* does not begin like a perf.data file */
    PERF_FILE_OLD,        /* of a perf before 2.6.39 */
    PERF_FILE_BYTE_ORDER, /* written on a machine of the other byte order */
    PERF_FILE_PIPE,       /* written to a pipe: other layout */
    PERF_FILE_DAMAGED,    /* header or sections point outside */
    PERF_FILE_EMPTY,      /* no event is described */
};

/* What to tell the user: cause, and the command that helps. */
const char *perf_file_explain(enum perf_file_status);

struct perf_file {
    const uint8_t *bytes;
    size_t size;
    size_t attributes, attribute_size, events;
    size_t data, data_end; /* records */
    bool cut; /* perf was killed before it could finish the file, or bytes are missing */
    uint64_t features[4];
};

enum perf_file_status perf_file_open(struct perf_file *, const uint8_t *bytes, size_t size);

struct perf_file_event {
    uint32_t type;
    uint64_t config, config1, config2, period;
    bool frequency; /* `period` is a frequency */
    unsigned precise;
    struct perf_layout layout;
    const uint8_t *ids; /* id_count words, by which its records are known */
    size_t id_count;
};

/* index: 0 .. file->events - 1. False if its description is damaged. */
bool perf_file_event(const struct perf_file *, size_t index, struct perf_file_event *);

/* Index of the event that has this identifier; -1 if none has. */
int perf_file_event_by_id(const struct perf_file *, uint64_t id);

/* Types of records that perf adds to the kernel's. */
enum {
    PERF_FILE_TRACING_DATA = 66,
    PERF_FILE_AUXTRACE_INFO = 70,
    PERF_FILE_AUXTRACE = 71,
    PERF_FILE_COMPRESSED = 81,
    PERF_FILE_COMPRESSED_2 = 83,
};

struct perf_file_record {
    struct perf_record_header header;
    const uint8_t *bytes; /* header included */
    const uint8_t *data;  /* what follows a record of type PERF_FILE_AUXTRACE; NULL for others */
    size_t data_size;
};

/* Starts at *at = 0; false at the end, or where the rest is no record: then file->cut is set. */
bool perf_file_next(struct perf_file *, size_t *at, struct perf_file_record *);

/* What a PERF_FILE_AUXTRACE record says about the data that follows it. */
struct perf_file_aux {
    uint64_t offset; /* in the AUX area, ever growing */
    uint32_t index, tid,
        cpu; /* of the buffer; tid and cpu are UINT32_MAX where they do not apply */
};

bool perf_file_aux(const struct perf_file_record *, struct perf_file_aux *);

enum perf_file_feature {
    PERF_FEATURE_HOSTNAME = 3,
    PERF_FEATURE_ARCHITECTURE = 6,
    PERF_FEATURE_CPU_DESCRIPTION = 8,
    PERF_FEATURE_CPUID = 9,
    PERF_FEATURE_COMMAND_LINE = 11,
    PERF_FEATURE_EVENTS = 12,
    PERF_FEATURE_PMU_MAPPINGS = 16,
};

/* Bytes of a feature; false without it. */
bool perf_file_feature(const struct perf_file *, enum perf_file_feature, const uint8_t **bytes,
                       size_t *size);

/* A feature that is one string, copied and terminated; "" without it. */
void perf_file_string(const struct perf_file *, enum perf_file_feature, char *text, size_t size);

/* The name that `perf record` gave an event, "cpu-clock:u", copied and terminated; "" if the file
 * does not tell. */
void perf_file_event_name(const struct perf_file *, size_t index, char *text, size_t size);

/* Number (attr.type) of the PMU with this name on the machine of the file; -1 unknown. */
int perf_file_pmu_type(const struct perf_file *, const char *name);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The decoders' inverse: accesses as the bytes that the hardware and the kernel would have left.
 * For the simulated PMU, and for tests.
 *
 * Every function writes one record at `out` and returns its length in bytes; 0 when it does not fit
 * into `capacity`. What a unit does not record (PEBS and SPE no width, IBS no time) is left out, so
 * a decoded record can hold less than the one that was encoded, never something else.
 *
 * Pure; no allocation; signal-safe.
 */
#ifndef REUSE_PMU_ENCODE_H
#define REUSE_PMU_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "pmu/access_record.h"
#include "pmu/ibs.h"
#include "pmu/perf_sample.h"
#include "pmu/spe.h"

/*
 * A PERF_RECORD_SAMPLE with the fields that layout->sample_type names. Of the fields of variable
 * length it writes the raw payload (padded as the kernel does) and for every other an empty one
 * (count 0, registers absent); fails for PERF_SAMPLE_READ. misc: PERF_RECORD_MISC_*.
 */
size_t encode_perf_sample(const struct perf_layout *, const struct perf_sample *, uint16_t misc,
                          uint8_t *out, size_t capacity);

/* A PERF_RECORD_LOST, with the identification that sample_id_all asks for. */
size_t encode_perf_lost(const struct perf_layout *, const struct perf_sample *identity,
                        uint64_t count, uint8_t *out, size_t capacity);

/*
 * The access as Intel's kernel driver reports a PEBS record: address, weight and data source in the
 * sample, as far as layout->sample_type asks for them.
 */
size_t encode_pebs(const struct perf_layout *, const struct access_record *, uint8_t *out,
                   size_t capacity);

/*
 * The access as AMD's driver reports it. layout->sample_type should contain PERF_SAMPLE_RAW, which
 * alone carries the width; address, weight and data source are filled in as the kernel does
 * from 6.2.
 */
size_t encode_ibs(const struct perf_layout *, uint32_t capabilities, const struct access_record *,
                  uint8_t *out, size_t capacity);

/* Registers of an operation that made this access; what the record does not tell is 0. */
void ibs_from_record(const struct access_record *, uint32_t capabilities, struct ibs_registers *);

/* The payload that ibs_decode() reads. */
size_t ibs_encode(const struct ibs_registers *, uint8_t *out, size_t capacity);

/* Largest record of encode_spe(), padded to its alignment. */
enum { SPE_RECORD_LARGEST = 128 };

/*
 * One SPE record: PC, latencies, events, operation, address, physical address, context and data
 * source as far as the access has them, closed by a timestamp if it has a time, else by an end
 * packet; then padded to a multiple of 64 bytes, as implementations do.
 */
size_t encode_spe(enum spe_source_table, const struct access_record *, uint8_t *out,
                  size_t capacity);

#endif

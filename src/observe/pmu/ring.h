/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The records between tail and head of a perf ring buffer, one after the other, each in one piece.
 * Whoever maps the buffer reads data_head (acquire) before and writes data_tail (release) after.
 *
 * Pure; signal-safe; survives any content.
 */
#ifndef REUSE_PMU_RING_H
#define REUSE_PMU_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "pmu/perf_sample.h"

enum { RING_SCRATCH = 4096 };

struct ring {
    const uint8_t *data;
    uint64_t size; /* power of two */
    uint64_t head, tail;
    uint64_t damaged; /* times that the rest had to be given up, or a record was too large */
    uint8_t scratch[RING_SCRATCH]; /* a record that wraps is put together here */
};

/*
 * The next record; `*record` stays valid until the next call or until the kernel is told the new
 * tail. False when none is left; then tail == head. What cannot be a record ends the batch: the
 * rest is skipped and counted in `damaged`.
 */
bool ring_next(struct ring *, struct perf_record_header *, const uint8_t **record);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The AUX area of an SPE event: a ring of bytes that the hardware fills, of whose pieces the kernel
 * tells in PERF_RECORD_AUX (where, how many bytes, what went wrong). Takes the pieces in their
 * order, around the end of the ring, and gives their records. Where bytes are missing the stream is
 * cut, so that no record is made of two halves.
 *
 * Whoever maps the area writes `tail` to the kernel's aux_tail (release) when the records have been
 * used. Sources: kernel/events/ring_buffer.c, drivers/perf/arm_spe_pmu.c.
 *
 * Pure; no allocation; signal-safe; survives any content and any positions.
 */
#ifndef REUSE_PMU_AUX_AREA_H
#define REUSE_PMU_AUX_AREA_H

#include <stdbool.h>
#include <stdint.h>

#include "pmu/spe.h"

/* Pieces with such an end, and bytes of which nothing is known any more. */
struct aux_faults {
    uint64_t truncated;  /* the area was full: the kernel has switched the event off */
    uint64_t partial;    /* what was being written when the piece ended is not whole */
    uint64_t collisions; /* samples fell together: the unit dropped some (a short interval) */
    uint64_t gaps;       /* bytes were passed over: positions do not follow each other */
    uint64_t bad_bytes;  /* that are no packet */
    uint64_t cut;        /* records without their beginning or their end */
};

struct aux_area {
    const uint8_t *bytes;
    uint64_t size; /* power of two */
    uint64_t tail; /* consumed up to here; counts up for ever, as the kernel's positions do */
    struct spe_stream stream;
    struct aux_faults faults;
};

void aux_begin(struct aux_area *, const uint8_t *bytes, uint64_t size);

typedef void (*aux_record)(void *context, const struct spe_record *);

/*
 * The piece that a PERF_RECORD_AUX tells of, with its PERF_AUX_FLAG_*. Bytes before it that no
 * record told of are taken as well, after a cut; but where they are all padding, the driver has
 * passed over them (perf_aux_output_skip()) and nothing is missing. True: the event must be enabled
 * again.
 */
bool aux_take(struct aux_area *, uint64_t offset, uint64_t count, uint64_t flags, aux_record,
              void *context);

/* All up to a position, when records that told of it have been lost. */
void aux_take_untold(struct aux_area *, uint64_t end, aux_record, void *context);

#endif

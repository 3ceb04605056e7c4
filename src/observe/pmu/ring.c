/* SPDX-License-Identifier: BSD-3-Clause */
/* See ring.h. Signal-safe. */
#include "pmu/ring.h"

#include <string.h>

#include "signal_safe.h"

/* Copies `size` bytes from position `at`, around the end if need be. */
static void copy_out(const struct ring *ring, uint64_t at, uint8_t *out, size_t size)
{
    uint64_t offset = at & (ring->size - 1);
    size_t first = size < ring->size - offset ? size : (size_t)(ring->size - offset);

    memcpy(out, ring->data + offset, first);
    memcpy(out + first, ring->data, size - first);
}

/* Gives the rest up. */
static bool give_up(struct ring *ring)
{
    ring->damaged++;
    ring->tail = ring->head;
    return false;
}

bool ring_next(struct ring *ring, struct perf_record_header *header, const uint8_t **record)
{
    while (ring->head != ring->tail) {
        uint64_t left = ring->head - ring->tail, at = ring->tail;
        uint64_t offset = at & (ring->size - 1);
        uint8_t start[PERF_RECORD_HEADER];

        /* More than the ring holds: head or tail is not to be believed. */
        if (left > ring->size || left < sizeof start)
            return give_up(ring);
        copy_out(ring, at, start, sizeof start);
        if (!perf_record_header(start, left, header))
            return give_up(ring);
        ring->tail += header->size;
        if (header->size <= ring->size - offset) {
            *record = ring->data + offset;
            return true;
        }
        if (header->size <= sizeof ring->scratch) {
            copy_out(ring, at, ring->scratch, header->size);
            *record = ring->scratch;
            return true;
        }
        /* Larger than anything that our events write. */
        ring->damaged++;
    }
    return false;
}

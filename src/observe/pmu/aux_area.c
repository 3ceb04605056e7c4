/* SPDX-License-Identifier: BSD-3-Clause */
/* See aux_area.h. Signal-safe. */
#include "pmu/aux_area.h"

#include <linux/perf_event.h>
#include <string.h>

#include "signal_safe.h"

void aux_begin(struct aux_area *area, const uint8_t *bytes, uint64_t size)
{
    memset(area, 0, sizeof *area);
    area->bytes = bytes;
    area->size = size;
    spe_begin(&area->stream);
}

static void count_begun(struct aux_area *area)
{
    const uint32_t begun = area->stream.record.fields & ~(uint32_t)SPE_CUT;

    area->faults.cut += begun != 0 || area->stream.carried > 0;
}

/* The unit has stopped here, perhaps within a record, and begins anew. */
static void stop(struct aux_area *area)
{
    count_begun(area);
    spe_begin(&area->stream);
}

/* Bytes are missing here: what follows may begin within a record. */
static void cut(struct aux_area *area)
{
    count_begun(area);
    spe_gap(&area->stream);
}

static void feed(struct aux_area *area, uint64_t count, aux_record record, void *context)
{
    struct spe_record whole;
    uint64_t bad = area->stream.bad_bytes;

    spe_feed(&area->stream, area->bytes + (area->tail & (area->size - 1)), (size_t)count);
    while (spe_next(&area->stream, &whole)) {
        /* The rest of a record whose beginning is missing may lack what says that it is no access
         * of the program, or whose it is. */
        if (whole.fields & (SPE_CUT | SPE_REPEATED))
            area->faults.cut++;
        else
            record(context, &whole);
    }
    area->faults.bad_bytes += area->stream.bad_bytes - bad;
    area->tail += count;
}

/* Takes [tail, end), which may go around the end of the area. */
static void take(struct aux_area *area, uint64_t end, aux_record record, void *context)
{
    if (end - area->tail > area->size) {
        /* What lay there has been written over, or the position is not to be believed. */
        area->faults.gaps++;
        cut(area);
        area->tail = end - area->size;
    }
    while (area->tail != end) {
        uint64_t straight = area->size - (area->tail & (area->size - 1));
        uint64_t left = end - area->tail;

        feed(area, left < straight ? left : straight, record, context);
    }
}

/*
 * Whether the driver has passed over [tail, end): to align where the unit begins to write, or
 * because too little is left for a record. It fills that with padding, moves aux_head and tells
 * nobody. No packet but padding is a zero, so zeros alone hold no record.
 */
static bool is_skipped(const struct aux_area *area, uint64_t end)
{
    uint64_t at = area->tail;

    if (end - at > area->size)
        return false;
    while (at != end && area->bytes[at & (area->size - 1)] == 0)
        at++;
    return at == end;
}

void aux_take_untold(struct aux_area *area, uint64_t end, aux_record record, void *context)
{
    if (end == area->tail || end - area->tail > INT64_MAX)
        return;
    if (is_skipped(area, end)) {
        stop(area);
        area->tail = end;
        return;
    }
    area->faults.gaps++;
    cut(area);
    take(area, end, record, context);
    /* How it ended was not told either. */
    cut(area);
}

bool aux_take(struct aux_area *area, uint64_t offset, uint64_t count, uint64_t flags,
              aux_record record, void *context)
{
    uint64_t end = offset + count;

    /* Told of late: taken already. */
    if (end - area->tail > INT64_MAX)
        end = area->tail;
    else if (offset - area->tail <= INT64_MAX)
        aux_take_untold(area, offset, record, context);
    take(area, end, record, context);
    area->faults.truncated += !!(flags & PERF_AUX_FLAG_TRUNCATED);
    area->faults.partial += !!(flags & PERF_AUX_FLAG_PARTIAL);
    area->faults.collisions += !!(flags & PERF_AUX_FLAG_COLLISION);
    if (flags & (PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL))
        stop(area);
    return flags & PERF_AUX_FLAG_TRUNCATED;
}

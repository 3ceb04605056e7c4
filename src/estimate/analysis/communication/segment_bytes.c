/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What samples tell of the bytes of a line that threads touched around a sampled store, for stores
 * whose own visit was not looked at.
 */
#include "analysis/communication/communication_internal.h"
#include "sampling/line_mask.h"

size_t segments_position(const struct segments *segments, uint32_t sample)
{
    size_t low = 0, high = segments->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (segments->samples[middle] < sample)
            low = middle + 1;
        else
            high = middle;
    }
    return low < segments->count && segments->samples[low] == sample ? low : segments->count;
}

static uint64_t bytes_of(const struct record_sample *record, uint32_t line_size)
{
    return line_mask(line_start(record->address, line_size), line_size, record->address,
                     record->width);
}

/* What samples of one line and time tell. */
static void unite(const struct analysis *analysis, struct segments *segments,
                  const struct line_use *uses, size_t n)
{
    uint32_t line_size = analysis->run_line_size;
    uint64_t written = 0, touched = 0;

    for (size_t i = 0; i < n; i++)
        if (uses[i].store)
            written |= bytes_of(analysis->samples[uses[i].sample].record, line_size);
    for (size_t i = 0, end; i < n; i = end) {
        touched = 0;
        for (end = i; end < n && uses[end].thread_id == uses[i].thread_id; end++)
            touched |= bytes_of(analysis->samples[uses[end].sample].record, line_size);
        for (size_t k = i; k < end; k++) {
            size_t position = segments_position(segments, uses[k].sample);

            if (position < segments->count) {
                segments->touched[position] = touched;
                segments->written[position] = written;
            }
        }
    }
}

void segments_find_bytes(const struct analysis *analysis, const struct line_uses *uses,
                         struct segments *segments)
{
    for (size_t i = 0, end; i < uses->count; i = end) {
        end = line_uses_end(uses, i);
        unite(analysis, segments, uses->items + i, end - i);
    }
}

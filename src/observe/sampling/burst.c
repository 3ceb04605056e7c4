/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. Feeding a burst; what is done with it: the other files burst_*.c. */
#include "sampling/burst.h"

#include <string.h>

#include "sampling/burst_internal.h"

#include "signal_safe.h"

size_t burst_memory_size(void)
{
    return sizeof(struct burst);
}

void burst_begin(struct burst *burst, uint32_t line_size, bool wide)
{
    burst->line_size = line_size;
    burst->line_sizes = wide ? PROBE_LINE_SIZES : 1;
    burst->recorded = false;
    burst->count = burst->probes = burst->open = burst->groups = 0;
    burst->run.count = burst->run.probes = 0;
}

void burst_begin_after(struct burst *burst, uint32_t line_size, bool wide,
                       const struct access *recorded)
{
    burst_begin(burst, line_size, wide);
    burst_feed(burst, recorded, 1);
    burst->recorded = true;
}

uint32_t burst_feed(struct burst *burst, const struct access *accesses, size_t n)
{
    uint32_t taken = n < burst_wants(burst) ? (uint32_t)n : burst_wants(burst);

    memcpy(burst->accesses + burst->count, accesses, taken * sizeof *accesses);
    burst->count += taken;
    return taken;
}

uint32_t burst_wants(const struct burst *burst)
{
    return BURST_ACCESSES - burst->count;
}

uint32_t burst_count(const struct burst *burst)
{
    return burst->count;
}

const struct access *burst_access(const struct burst *burst, uint32_t index)
{
    return &burst->accesses[index];
}

uint32_t burst_close(struct burst *burst, const struct burst_host *host)
{
    burst->probes = burst->count < BURST_PROBES ? burst->count : BURST_PROBES;
    burst_find_uses(burst, &burst->run, burst->line_size);
    for (uint32_t i = 0; i < burst->run.probes; i++)
        if (burst->run.next[i] == BURST_TOUCH_NONE)
            burst->open_touches[burst->open++] = (uint16_t)i;
    burst_group_probes(burst, host);
    return burst->run.probes;
}

uint32_t burst_open(const struct burst *burst)
{
    return burst->open;
}

bool burst_encode(const struct burst *burst, struct record_burst *record, unsigned char *out,
                  size_t room)
{
    const unsigned flags = BURST_WIDE | BURST_RECORDED;
    struct probe_encoder encoder;

    probe_encoder_begin(&encoder, out, room);
    for (uint32_t i = 0; i < burst->groups && !encoder.overflow; i++) {
        const struct burst_group *group = &burst->group[i];
        const struct probe_count *counts[PROBE_LINE_SIZES];
        size_t sizes[PROBE_LINE_SIZES];

        for (unsigned s = 0; s < burst->line_sizes; s++) {
            counts[s] = burst->counts + group->first[s];
            sizes[s] = group->size[s];
        }
        probe_encode(&encoder, &group->probe, burst->line_sizes, counts, sizes);
    }
    record->accesses = burst->count;
    record->probes = burst->probes;
    record->touches = burst->run.probes;
    record->open = burst->open;
    record->groups = (uint16_t)burst->groups;
    record->probe_size = (uint32_t)encoder.used;
    record->flags = (uint8_t)((record->flags & ~flags) | (burst->line_sizes > 1 ? BURST_WIDE : 0) |
                              (burst->recorded ? BURST_RECORDED : 0));
    return !encoder.overflow;
}

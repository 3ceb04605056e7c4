/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "sampling/timed_loads.h"

#include "access.h"

#include "signal_safe.h"

/* The access that made the load, at `from` or later; the burst's count: none. */
static uint32_t find_access(const struct burst *burst, uint32_t from, uint64_t address)
{
    uint32_t count = burst_count(burst);

    while (from < count && (burst_access(burst, from)->address != address ||
                            burst_access(burst, from)->kind != ACCESS_LOAD))
        from++;
    return from;
}

static struct timed_loads *of_instruction(struct timed_loads *out, uint32_t *count, uint64_t ip)
{
    for (uint32_t i = 0; i < *count; i++)
        if (out[i].ip == ip)
            return &out[i];
    out[*count] = (struct timed_loads){.ip = ip};
    return &out[(*count)++];
}

uint32_t timed_loads_find(const struct line_times *times, struct line_times_scale scale,
                          const struct burst *burst, uint32_t first, struct timed_loads *out)
{
    uint32_t count = 0;

    /* Loads were timed in the order of the accesses. */
    for (uint32_t i = 0; i < times->count; i++) {
        struct line_time time = line_times_of(times, i, scale.ns_per_tick, scale.memory_ns);
        uint32_t at = find_access(burst, first, times->address[i]);
        struct timed_loads *loads;

        if (at == burst_count(burst))
            continue;
        first = at;
        if (!time.told)
            continue;
        loads = of_instruction(out, &count, burst_access(burst, at)->ip);
        loads->timed++;
        loads->from_memory += time.from_memory;
        loads->memory_ns += time.from_memory ? (uint32_t)time.ns : 0;
    }
    return count;
}

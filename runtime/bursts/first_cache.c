/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "bursts/first_cache.h"

#include <stdatomic.h>

#include "process/settings.h"

#include "signal_safe.h"

/* Sets, and ways, in one word: threads read them while a file is opened. 0: not described. */
static _Atomic uint32_t first_cache;

void first_cache_describe(const struct record_cache *described)
{
    struct conflict_cache cache =
        conflict_cache_of(described->bytes, described->ways, settings.line_size);

    atomic_store(&first_cache, (uint32_t)cache.sets << 16 | cache.ways);
}

struct conflict_cache first_cache_sets(void)
{
    uint32_t known = atomic_load(&first_cache);

    return known ? (struct conflict_cache){.sets = (uint16_t)(known >> 16),
                                           .ways = (uint16_t)(known & 0xffff)}
                 : conflict_cache_of(0, 0, settings.line_size);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Machines that need no library to be known: of a profile, built in; and what all must satisfy. */
#include "machine/machine.h"

#include <stdio.h>
#include <string.h>

enum { LINE_MIN = 16, LINE_MAX = 4096 };

static bool check_cache(const struct machine_cache *cache, const struct machine_cache *inner,
                        char *message, size_t size)
{
    if (cache->level < 1 || cache->level > MACHINE_LEVELS_MAX) {
        snprintf(message, size, "cache level %u is not 1 to %d", cache->level, MACHINE_LEVELS_MAX);
        return false;
    }
    if (cache->line_size < LINE_MIN || cache->line_size > LINE_MAX ||
        (cache->line_size & (cache->line_size - 1))) {
        snprintf(message, size, "L%u: line size %u is not a power of two from %d to %d",
                 cache->level, cache->line_size, LINE_MIN, LINE_MAX);
        return false;
    }
    if (cache->bytes == 0 || cache->bytes % cache->line_size) {
        snprintf(message, size, "L%u: size %llu is not a positive multiple of the %u-byte line",
                 cache->level, (unsigned long long)cache->bytes, cache->line_size);
        return false;
    }
    if (cache->ways && cache->bytes / cache->line_size % cache->ways) {
        snprintf(message, size, "L%u: %u ways do not divide its %llu lines", cache->level,
                 cache->ways, (unsigned long long)(cache->bytes / cache->line_size));
        return false;
    }
    if (cache->sharing_cpus == 0) {
        snprintf(message, size, "L%u: a cache is shared by at least 1 CPU", cache->level);
        return false;
    }
    if (inner && (cache->level <= inner->level || cache->bytes <= inner->bytes)) {
        snprintf(message, size, "L%u after L%u: levels and sizes have to grow outwards",
                 cache->level, inner->level);
        return false;
    }
    return true;
}

bool machine_check(const struct machine *machine, char *message, size_t message_size)
{
    if (machine->levels == 0) {
        snprintf(message, message_size, "no cache is described");
        return false;
    }
    for (size_t i = 0; i < machine->levels; i++) {
        const struct machine_cache *inner = i ? &machine->caches[i - 1] : NULL;
        if (!check_cache(&machine->caches[i], inner, message, message_size))
            return false;
    }
    return true;
}

bool machine_of_profile(const struct profile *profile, struct machine *machine)
{
    char message[128];

    memset(machine, 0, sizeof *machine);
    snprintf(machine->name, sizeof machine->name, "%s",
             profile_run_text(profile, "host", "machine of the run"));
    for (unsigned level = 1; level <= MACHINE_LEVELS_MAX; level++) {
        for (size_t i = 0; i < profile->caches.count; i++) {
            const struct record_cache *cache = &profile->caches.items[i];
            if (cache->level != level || cache->type == CACHE_INSTRUCTION ||
                cache->origin_id != profile->caches.items[0].origin_id)
                continue;
            machine->caches[machine->levels++] = (struct machine_cache){
                cache->level, cache->bytes, cache->line_size, cache->ways, cache->sharing_cpus};
            break;
        }
    }
    return machine_check(machine, message, sizeof message);
}

/* Fujitsu, A64FX Microarchitecture Manual: 64 KiB 4-way L1D per core, 8 MiB 16-way L2 per core
 * memory group of 12 computing cores, 256-byte lines. */
void machine_a64fx(struct machine *machine)
{
    *machine = (struct machine){
        .name = "a64fx",
        .levels = 2,
        .caches =
            {{.level = 1, .bytes = 64 << 10, .line_size = 256, .ways = 4, .sharing_cpus = 1},
             {.level = 2, .bytes = 8 << 20, .line_size = 256, .ways = 16, .sharing_cpus = 12}},
    };
}

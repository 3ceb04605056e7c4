/* SPDX-License-Identifier: BSD-3-Clause */
/* Machines that need no library to be known: those of profiles; and what all must satisfy. */
#include "machine/machine.h"

#include <math.h>
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
    if (cache->sector_ways && (cache->sector_ways < 2 || cache->sector_ways > cache->ways)) {
        snprintf(message, size, "L%u: sectors cannot divide %u of its %u ways", cache->level,
                 cache->sector_ways, cache->ways);
        return false;
    }
    if (inner && (cache->level <= inner->level || cache->bytes <= inner->bytes)) {
        snprintf(message, size, "L%u after L%u: levels and sizes have to grow outwards",
                 cache->level, inner->level);
        return false;
    }
    return true;
}

bool machine_check(const struct machine *machine, size_t *culprit, char *message,
                   size_t message_size)
{
    if (machine->levels == 0) {
        snprintf(message, message_size, "no cache is described");
        return false;
    }
    for (size_t i = 0; i < machine->levels; i++) {
        const struct machine_cache *inner = i ? &machine->caches[i - 1] : NULL;
        if (!check_cache(&machine->caches[i], inner, message, message_size)) {
            if (culprit)
                *culprit = i;
            return false;
        }
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
            machine->caches[machine->levels++] =
                (struct machine_cache){.level = cache->level,
                                       .bytes = cache->bytes,
                                       .line_size = cache->line_size,
                                       .ways = cache->ways,
                                       .sharing_cpus = cache->sharing_cpus};
            break;
        }
    }
    return machine_check(machine, NULL, message, sizeof message);
}

double machine_threads_sharing(const struct machine *machine, size_t level, double threads)
{
    /* CPUs that share the innermost cache are the hardware threads of one core. */
    double per_core = machine->caches[0].sharing_cpus ? machine->caches[0].sharing_cpus : 1;
    double cores = machine->caches[level].sharing_cpus / per_core;

    return threads < 1 || cores < 1 ? 1 : threads < cores ? threads : cores;
}

double machine_reach(const struct machine *machine, size_t level, double threads)
{
    double sharing = machine_threads_sharing(machine, level, threads);
    double bytes = (double)machine->caches[level].bytes;

    for (; level > 0 && machine->caches[level].content == CACHE_CONTENT_VICTIM; level--) {
        double inner = machine_threads_sharing(machine, level - 1, threads);

        bytes += fmax(1, sharing / inner) * (double)machine->caches[level - 1].bytes;
    }
    return bytes;
}

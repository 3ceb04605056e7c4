/* SPDX-License-Identifier: BSD-3-Clause */
/* See processor_caches.h. Signal-safe. */
#include "processor_caches.h"

#include <stdbool.h>
#include <unistd.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "signal_safe.h"

enum { LEVELS = 3, COMPLEX_WAYS = 16 };

struct core_complex amd_core_complex(unsigned family, unsigned model)
{
    static const struct {
        unsigned family, first, last;
        struct core_complex has;
    } known[] = {
        {0x17, 0x00, 0x2f, {8 << 20, 4}},   /* Zen, Zen+ */
        {0x17, 0x30, 0xff, {16 << 20, 4}},  /* Zen 2 */
        {0x19, 0xa0, 0xaf, {16 << 20, 8}},  /* Zen 4c */
        {0x19, 0x00, 0xff, {32 << 20, 8}},  /* Zen 3, Zen 4 */
        {0x1a, 0x10, 0x1f, {32 << 20, 16}}, /* Zen 5c */
        {0x1a, 0x00, 0xff, {32 << 20, 8}},  /* Zen 5 */
    };

    for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].family == family && model >= known[i].first && model <= known[i].last)
            return known[i].has;
    return (struct core_complex){0, 0};
}

/* Of the processor that this runs on; 0 bytes: not AMD's, or not known. */
static struct core_complex own_complex(void)
{
    struct core_complex none = {0, 0};
#ifdef __x86_64__
    unsigned eax, ebx, ecx, edx;

    if (!__get_cpuid(0, &eax, &ebx, &ecx, &edx) || ebx != signature_AMD_ebx ||
        ecx != signature_AMD_ecx || edx != signature_AMD_edx ||
        !__get_cpuid(1, &eax, &ebx, &ecx, &edx))
        return none;
    return amd_core_complex((eax >> 8 & 0xf) + (eax >> 20 & 0xff),
                            (eax >> 4 & 0xf) | (eax >> 12 & 0xf0));
#else
    return none;
#endif
}

/* The part of a package's L3 that a core reaches. */
static void reduce_to_complex(struct record_cache *cache)
{
    struct core_complex complex = own_complex();

    if (complex.bytes == 0)
        return;
    cache->ways = COMPLEX_WAYS;
    if (cache->bytes > complex.bytes)
        cache->bytes = complex.bytes;
    if (cache->sharing_cpus > complex.cores)
        cache->sharing_cpus = complex.cores;
}

/* false: not all of it is known. */
static bool describe(unsigned level, struct record_cache *cache)
{
    static const struct {
        int bytes, ways, line_size; /* names of sysconf() */
    } names[LEVELS] = {
        {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL1_DCACHE_ASSOC, _SC_LEVEL1_DCACHE_LINESIZE},
        {_SC_LEVEL2_CACHE_SIZE, _SC_LEVEL2_CACHE_ASSOC, _SC_LEVEL2_CACHE_LINESIZE},
        {_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL3_CACHE_ASSOC, _SC_LEVEL3_CACHE_LINESIZE},
    };
    long bytes = sysconf(names[level].bytes), ways = sysconf(names[level].ways);
    long line_size = sysconf(names[level].line_size);

    *cache = (struct record_cache){.level = (uint8_t)(level + 1)};
    if (bytes <= 0)
        return true; /* there is none */
    if (ways < 0 || ways > UINT16_MAX || line_size <= 0)
        return false;
    cache->type = level == 0 ? CACHE_DATA : CACHE_UNIFIED;
    cache->bytes = (uint64_t)bytes;
    cache->ways = (uint16_t)ways;
    cache->line_size = (uint32_t)line_size;
    /* Nobody tells who shares one: all do the outermost. */
    cache->sharing_cpus = level + 1 < LEVELS ? 1 : (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    if (level + 1 == LEVELS && ways == 0)
        reduce_to_complex(cache);
    return cache->ways > 0;
}

void processor_caches_each(host_cache_visitor *visit, void *user)
{
    struct record_cache caches[LEVELS];

    for (unsigned i = 0; i < LEVELS; i++)
        if (!describe(i, &caches[i]))
            return;
    for (unsigned i = 0; i < LEVELS; i++)
        if (caches[i].bytes > 0)
            visit(user, &caches[i]);
}

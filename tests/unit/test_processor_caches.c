/* SPDX-License-Identifier: BSD-3-Clause */
/* Core complexes of AMD's processors against published sizes, and what this processor tells. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "processor_caches.h"

/* L3 of the package and its complexes, by AMD's product pages. */
static void complexes_make_up_the_package(void **state)
{
    static const struct {
        unsigned family, model, complexes;
        uint64_t package_mib;
        uint32_t cores;
    } parts[] = {
        {0x17, 0x01, 8, 64, 32},    /* EPYC 7601, Zen */
        {0x17, 0x31, 16, 256, 64},  /* EPYC 7742, Zen 2 */
        {0x19, 0x01, 8, 256, 64},   /* EPYC 7763, Zen 3 */
        {0x19, 0x11, 12, 384, 96},  /* EPYC 9654, Zen 4 */
        {0x19, 0xa0, 16, 256, 128}, /* EPYC 9754, Zen 4c */
        {0x1a, 0x02, 16, 512, 128}, /* EPYC 9755, Zen 5 */
        {0x1a, 0x11, 12, 384, 192}, /* EPYC 9965, Zen 5c */
    };

    (void)state;
    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        struct core_complex complex = amd_core_complex(parts[i].family, parts[i].model);

        assert_int_equal(complex.bytes * parts[i].complexes, parts[i].package_mib << 20);
        assert_int_equal(complex.cores * parts[i].complexes, parts[i].cores);
    }
}

static void unknown_families_have_none(void **state)
{
    (void)state;
    assert_int_equal(amd_core_complex(0x15, 0x02).bytes, 0);
    assert_int_equal(amd_core_complex(0x1b, 0x02).bytes, 0);
    assert_int_equal(amd_core_complex(0x06, 0x8f).bytes, 0);
}

struct seen {
    unsigned count;
    struct record_cache caches[8];
};

static void see(void *user, const struct record_cache *cache)
{
    struct seen *seen = user;

    assert_in_range(seen->count, 0, 7);
    seen->caches[seen->count++] = *cache;
}

/* A processor may tell nothing. What it tells is whole, and in order. */
static void levels_grow(void **state)
{
    struct seen seen = {0};

    (void)state;
    processor_caches_each(see, &seen);
    for (unsigned i = 0; i < seen.count; i++) {
        const struct record_cache *cache = &seen.caches[i];

        assert_int_equal(cache->bytes % (cache->line_size * (uint64_t)cache->ways), 0);
        assert_in_range(cache->sharing_cpus, 1, sysconf(_SC_NPROCESSORS_ONLN));
        if (i > 0) {
            assert_true(cache->level > seen.caches[i - 1].level);
            assert_true(cache->bytes > seen.caches[i - 1].bytes);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(complexes_make_up_the_package),
        cmocka_unit_test(unknown_families_have_none),
        cmocka_unit_test(levels_grow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

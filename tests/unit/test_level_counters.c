/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events that count traffic between levels: libpfm4 encodes them as we do on every model that it
 * knows (LIBPFM_FORCE_PMU, in a process of its own); the choice on machines made of sysfs files;
 * the trial's verdict.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <linux/perf_event.h>

#include "pmu/level_counters.h"
#include "pmu/models.h"
#include "support/libpfm_code.h"
#include "support/text_files.h"

static unsigned check_model(const struct processor *processor, const char *libpfm)
{
    struct level_counter counters[LEVEL_COUNTERS_MAX];
    unsigned count = level_counters_of_model(processor, counters);

    assert_in_range(count, 3, LEVEL_COUNTERS_MAX);
    for (unsigned i = 0; i < count; i++) {
        long code = libpfm_code(libpfm, counters[i].name);

        if (code != (long)counters[i].config)
            fail_msg("%s %s: libpfm4 has %lx, we have %lx", libpfm, counters[i].name,
                     (unsigned long)code, (unsigned long)counters[i].config);
    }
    return count;
}

static void test_encodings(void **state)
{
    unsigned models = 0;

    (void)state;
    for (unsigned i = 0; i < intel_model_count; i++)
        for (int k = 0; k < 2; k++) {
            const struct processor processor = {VENDOR_INTEL, 6, intel_models[i].models[0], 0, 0};

            if (intel_models[i].libpfm[k])
                models += check_model(&processor, intel_models[i].libpfm[k]) > 0;
        }
    assert_int_equal(models, 10);
    for (unsigned i = 0; i < amd_model_count; i++) {
        const struct processor processor = {VENDOR_AMD, amd_models[i].family,
                                            amd_models[i].model_first, 0, 0};

        if (amd_models[i].libpfm)
            models += check_model(&processor, amd_models[i].libpfm) > 0;
    }
    assert_int_equal(models, 16);
}

/* ---- machines made of files ---- */

static unsigned choose(const struct text_file *files, struct processor processor, unsigned taken,
                       struct level_counter *out)
{
    struct pmu_machine machine = {processor, text_files_read, (void *)(uintptr_t)files};

    return level_counters_choose(&machine, taken, out);
}

static const struct text_file no_files[] = {{NULL, NULL}};

/* Every model's events say something of each level that they name, innermost level first, and no
 * correction stands without what it corrects. */
static void test_tables(void **state)
{
    (void)state;
    for (unsigned vendor = VENDOR_INTEL; vendor <= VENDOR_ARM; vendor++)
        for (unsigned family = 0x6; family <= 0x1a; family++)
            for (unsigned model = 0; model < 256; model++) {
                const struct processor processor = {vendor, family, model, 0,
                                                    model & 1 ? 0x461f0010 : 0x413fd0c1};
                struct level_counter counters[LEVEL_COUNTERS_MAX];
                unsigned count = level_counters_of_model(&processor, counters);
                unsigned fills = 0;

                for (unsigned i = 0; i < count; i++) {
                    assert_true(counters[i].levels != 0 && counters[i].levels < 16);
                    assert_in_range(counters[i].kind, COUNTER_FILLS, COUNTER_WRITE_BACKS);
                    assert_true(strlen(counters[i].name) > 3);
                    if (counters[i].flags & COUNTER_SUBTRACTED)
                        assert_int_equal(fills & counters[i].levels, counters[i].levels);
                    else if (counters[i].kind == COUNTER_FILLS)
                        fills |= counters[i].levels;
                }
            }
}

static void test_room(void **state)
{
    const struct processor haswell = {VENDOR_INTEL, 6, 0x3f, 0, 0};
    const struct processor zen3 = {VENDOR_AMD, 0x19, 0x01, 0, 0};
    const struct processor a64fx = {VENDOR_ARM, 0, 0, 0, 0x461f0010};
    struct level_counter counters[LEVEL_COUNTERS_MAX];

    (void)state;
    assert_int_equal(choose(no_files, haswell, 0, counters), 5);
    /* Four counters, two of them taken: L1 and L2. */
    assert_int_equal(choose(no_files, haswell, 2, counters), 2);
    assert_int_equal(counters[0].levels, 1 << 1);
    assert_int_equal(counters[1].levels, 1 << 2);
    assert_int_equal(choose(no_files, haswell, 4, counters), 0);
    assert_int_equal(choose(no_files, haswell, 9, counters), 0);
    /* Memory of Zen 3 is the sum of two events, one of which L2 needs as well: with four of six
     * counters left it stays, for L2 alone. */
    assert_int_equal(choose(no_files, zen3, 0, counters), 5);
    assert_int_equal(choose(no_files, zen3, 1, counters), 5);
    assert_int_equal(counters[3].levels, 1 << 2 | 1 << 0);
    assert_int_equal(choose(no_files, zen3, 2, counters), 4);
    assert_int_equal(counters[3].levels, 1 << 2);
    assert_int_equal(choose(no_files, zen3, 4, counters), 1);
    /* A64FX: refills of L2 only with both corrections. */
    assert_int_equal(choose(no_files, a64fx, 2, counters), 4);
    assert_int_equal(choose(no_files, a64fx, 3, counters), 1);
}

static void test_arm(void **state)
{
    static const struct text_file files[] = {
        {"armv8_pmuv3_0/events/cpu_cycles", "event=0x0011"},
        {"armv8_pmuv3_0/events/l1d_cache_refill", "event=0x0003"},
        {"armv8_pmuv3_0/events/l2d_cache_refill", "event=0x0017"},
        {NULL, NULL},
    };
    /* What an emulated core shows. */
    static const struct text_file emulated[] = {{"armv8_pmuv3/events/cpu_cycles", "event=0x0011"},
                                                {NULL, NULL}};
    const struct processor neoverse = {VENDOR_ARM, 0, 0, 0, 0x413fd0c1};
    struct level_counter counters[LEVEL_COUNTERS_MAX];

    (void)state;
    assert_int_equal(choose(files, neoverse, 0, counters), 2);
    assert_int_equal(counters[0].config, 0x03);
    assert_int_equal(counters[1].config, 0x17);
    assert_true(counters[0].flags & COUNTER_MAY_HAVE_PREFETCHES);
    assert_int_equal(choose(emulated, neoverse, 0, counters), 0);
    /* A kernel that lists no events: all are tried. */
    assert_int_equal(choose(no_files, neoverse, 0, counters), 5);
    assert_int_equal(counters[2].config, 0x37);
    assert_true(counters[2].flags & COUNTER_LOADS_ONLY);
}

/* Large and small cores: one event on each kind. And what nobody knows: the kernel's own names. */
static void test_hybrid_and_generic(void **state)
{
    static const struct text_file files[] = {
        {"cpu_core/type", "4"}, {"cpu_atom/type", "10"}, {NULL, NULL}};
    static const struct text_file three[] = {
        {"cpu_core/type", "4"}, {"cpu_atom/type", "10"}, {"cpu_lowpower/type", "11"}, {NULL, NULL}};
    const struct processor alder_lake = {VENDOR_INTEL, 6, 0x97, 0, 0};
    const struct processor arrow_lake_h = {VENDOR_INTEL, 6, 0xc5, 0, 0};
    const struct processor unknown = {VENDOR_INTEL, 6, 0xfe, 0, 0};
    struct level_counter counters[LEVEL_COUNTERS_MAX];

    (void)state;
    assert_int_equal(choose(files, alder_lake, 0, counters), 2);
    assert_int_equal(counters[0].type, 4);
    assert_int_equal(counters[1].type, 10);
    assert_int_equal(counters[0].config, 0x412e);
    assert_int_equal(counters[0].levels, 1);
    assert_string_equal(counters[1].name, "cpu_atom/LONGEST_LAT_CACHE:MISS");
    assert_true(counters[0].one_kind_of_core && counters[1].one_kind_of_core);
    assert_int_equal(choose(three, arrow_lake_h, 0, counters), 3);
    assert_int_equal(counters[2].type, 11);
    /* Each unit has room for its one event beside four samplers. */
    assert_int_equal(choose(three, arrow_lake_h, 4, counters), 3);
    assert_int_equal(choose(three, arrow_lake_h, 6, counters), 0);
    assert_int_equal(choose(no_files, alder_lake, 0, counters), 0);
    assert_int_equal(choose(no_files, unknown, 0, counters), 2);
    assert_false(counters[0].one_kind_of_core);
    assert_int_equal(counters[0].type, PERF_TYPE_HW_CACHE);
    assert_int_equal(counters[0].config, 0x10000); /* L1D, read, miss */
    assert_int_equal(counters[1].config, 0x10002); /* last level, read, miss */
}

/* By device tree the units are called after the cores. */
static void test_arm_by_device_tree(void **state)
{
    static const struct text_file one[] = {
        {"armv8_cortex_a78/type", "8"},
        {"armv8_cortex_a78/events/cpu_cycles", "event=0x0011"},
        {"armv8_cortex_a78/events/l1d_cache_refill", "event=0x3"},
        {NULL, NULL}};
    static const struct text_file two[] = {
        {"armv8_cortex_a55/type", "8"}, {"armv8_cortex_a78/type", "9"}, {NULL, NULL}};
    const struct processor a78 = {VENDOR_ARM, 0, 0, 0, 0x410fd410};
    struct level_counter counters[LEVEL_COUNTERS_MAX];

    (void)state;
    assert_int_equal(choose(one, a78, 0, counters), 1);
    assert_string_equal(counters[0].name, "L1D_CACHE_REFILL");
    assert_int_equal(choose(two, a78, 0, counters), 0);
}

static void test_trial(void **state)
{
    const struct level_counter fills = {.kind = COUNTER_FILLS};
    const struct level_counter back = {.kind = COUNTER_WRITE_BACKS};
    const struct level_counter correction = {.kind = COUNTER_FILLS, .flags = COUNTER_SUBTRACTED};

    (void)state;
    assert_int_equal(level_counter_judge(&fills, LEVEL_COUNTER_TRIAL, true), COUNTER_TRUSTED);
    assert_int_equal(level_counter_judge(&fills, 2 * LEVEL_COUNTER_TRIAL, true), COUNTER_TRUSTED);
    assert_int_equal(level_counter_judge(&fills, LEVEL_COUNTER_TRIAL / 2, true), COUNTER_TRUSTED);
    assert_int_equal(level_counter_judge(&fills, 0, true), COUNTER_SILENT);
    assert_int_equal(level_counter_judge(&fills, 10, true), COUNTER_WRONG);
    assert_int_equal(level_counter_judge(&fills, 1000 * 1000, true), COUNTER_WRONG);
    assert_int_equal(level_counter_judge(&fills, 0, false), COUNTER_UNTRIED);
    assert_int_equal(level_counter_judge(&back, 0, true), COUNTER_UNTRIED);
    assert_int_equal(level_counter_judge(&correction, 0, true), COUNTER_UNTRIED);
    const struct level_counter all = {0}, large_cores = {.one_kind_of_core = true};

    assert_true(level_counter_scaled(&all, 1000, 300, 100) == 3000);
    assert_true(level_counter_scaled(&all, 1000, 100, 100) == 1000);
    assert_true(level_counter_scaled(&all, 1000, 100, 0) == 0);
    /* Two thirds of the time the thread was on other cores, and these counted it. */
    assert_true(level_counter_scaled(&large_cores, 1000, 300, 100) == 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encodings),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_arm),
        cmocka_unit_test(test_hybrid_and_generic),
        cmocka_unit_test(test_arm_by_device_tree),
        cmocka_unit_test(test_trial),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice of events on Arm machines made of sysfs files: by ACPI, by device tree, of one kind of
 * core and of several. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <linux/perf_event.h>

#include "pmu/choose.h"
#include "pmu/models.h"
#include "support/text_files.h"

static bool choose(const struct text_file *files, struct processor processor, const char *event,
                   struct pmu_choice *choice, char *reason)
{
    struct pmu_machine machine = {processor, text_files_read, (void *)(uintptr_t)files};

    reason[0] = '\0';
    return pmu_choose(&machine, event, choice, reason);
}

static void test_arm_machines(void **state)
{
    static const struct text_file neoverse[] = {{"arm_spe_0/type", "8"},
                                                {"arm_spe_0/format/ts_enable", "config:0"},
                                                {"arm_spe_0/format/pa_enable", "config:1"},
                                                {"arm_spe_0/format/jitter", "config:16"},
                                                {"arm_spe_0/format/load_filter", "config:33"},
                                                {"arm_spe_0/format/store_filter", "config:34"},
                                                {"armv8_pmuv3_0/type", "7"},
                                                {NULL, NULL}};
    static const struct text_file a64fx[] = {{"armv8_pmuv3_0/type", "7"}, {NULL, NULL}};
    const struct processor n1 = {VENDOR_ARM, 0, 0, 0, 0x413fd0c1};
    const struct processor fujitsu = {VENDOR_ARM, 0, 0, 0, 0x461f0010};
    struct pmu_choice choice;
    char reason[PMU_REASON_MAX];

    (void)state;
    assert_true(choose(neoverse, n1, "", &choice, reason));
    assert_int_equal(choice.unit, PMU_SPE);
    assert_int_equal(choice.sampler[0].type, 8);
    /* physical addresses off */
    assert_int_equal(choice.sampler[0].config,
                     UINT64_C(1) | 1 << 16 | UINT64_C(1) << 33 | UINT64_C(1) << 34);
    assert_int_equal(choice.period_multiple, 256);
    assert_int_equal(choice.source_table, SPE_SOURCE_NEOVERSE);
    assert_int_equal(choice.counters, 2);
    assert_int_equal(choice.counter[0].config, 0x70);
    assert_int_equal(choice.counter[1].config, 0x71);
    pmu_choice_by_overflow(&choice);
    assert_int_equal(choice.unit, PMU_OVERFLOW);
    assert_int_equal(choice.samplers, 2);
    assert_int_equal(choice.counters, 0);
    assert_int_equal(choice.sampler[1].config, 0x71);
    assert_int_equal(choice.sampler[1].kinds, ACCESS_STORE);
    assert_true(choice.counts_accesses);
    assert_int_equal(choice.period_least, 1);

    assert_true(choose(a64fx, fujitsu, "", &choice, reason));
    assert_int_equal(choice.unit, PMU_OVERFLOW);
    assert_int_equal(choice.samplers, 2);
    assert_int_equal(choice.sampler[0].type, PERF_TYPE_RAW);
    assert_int_equal(choice.sampler[0].config, 0x70);
    assert_int_equal(choice.core_kinds, 1);
    assert_true(choice.counts_accesses);
    assert_false(choice.sample_type & PERF_SAMPLE_ADDR);

    assert_false(choose(a64fx + 1, fujitsu, "", &choice, reason));
    assert_non_null(strstr(reason, "armv8_pmuv3"));
}

/* Names after the core: each of them is a unit that counts. */
static void test_device_tree(void **state)
{
    const struct processor a78 = {VENDOR_ARM, 0, 0, 0, 0x410fd410};
    struct pmu_choice choice;
    char reason[PMU_REASON_MAX];
    bool seen = false;

    (void)state;
    for (unsigned i = 0; i < arm_core_pmu_count; i++) {
        char path[64];
        struct text_file files[] = {{path, "8"}, {NULL, NULL}};

        snprintf(path, sizeof path, "%s/type", arm_core_pmus[i]);
        seen |= strcmp(path, "armv8_cortex_a78/type") == 0;
        assert_true(choose(files, a78, "", &choice, reason));
        assert_int_equal(choice.unit, PMU_OVERFLOW);
        assert_int_equal(choice.samplers, 2);
        assert_int_equal(choice.sampler[0].type, PERF_TYPE_RAW);
        for (unsigned k = 0; k < i; k++)
            assert_string_not_equal(arm_core_pmus[i], arm_core_pmus[k]);
    }
    assert_true(seen);
}

static void test_kinds_of_cores(void **state)
{
    static const struct text_file files[] = {{"armv8_cortex_a78/type", "9"},
                                             {"armv8_cortex_a55/type", "8"},
                                             {"armv8_cortex_x1/type", "10"},
                                             {NULL, NULL}};
    static const struct text_file many[] = {{"armv9_cortex_a520/type", "8"},
                                            {"armv9_cortex_a715/type", "9"},
                                            {"armv9_cortex_a720/type", "10"},
                                            {"armv9_cortex_x4/type", "11"},
                                            {NULL, NULL}};
    const struct processor a78 = {VENDOR_ARM, 0, 0, 0, 0x410fd410};
    struct pmu_choice choice;
    char reason[PMU_REASON_MAX];

    (void)state;
    assert_true(choose(files, a78, "", &choice, reason));
    assert_int_equal(choice.core_kinds, 3);
    assert_int_equal(choice.samplers, 6);
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(choice.sampler[i].type, 8 + i / 2);
        assert_int_equal(choice.sampler[i].config, i % 2 ? 0x71 : 0x70);
        assert_int_equal(choice.sampler[i].kinds, i % 2 ? ACCESS_STORE : ACCESS_LOAD);
        assert_int_equal(choice.sampler[i].core_kind, i / 2);
        assert_int_equal(choice.sampler[i].accesses, 1);
    }
    assert_string_equal(choice.sampler[3].name, "armv8_cortex_a78/ST_SPEC");
    /* More than there is room for: the rest is a kind that is not known. */
    assert_true(choose(many, a78, "", &choice, reason));
    assert_int_equal(choice.core_kinds, ARM_CORE_KINDS_MAX);
    assert_int_equal(choice.samplers, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arm_machines),
        cmocka_unit_test(test_device_tree),
        cmocka_unit_test(test_kinds_of_cores),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The choice of events: for every model that libpfm4 knows, its encodings are ours
 * (LIBPFM_FORCE_PMU, in a process of its own, as the library reads it once); and on machines made
 * of sysfs files, the whole choice.
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

#include "pmu/choose.h"
#include "pmu/format_terms.h"
#include "pmu/ibs.h"
#include "pmu/models.h"
#include "support/libpfm_code.h"
#include "support/text_files.h"

static void test_intel_encodings(void **state)
{
    int checked = 0;

    (void)state;
    for (unsigned i = 0; i < intel_model_count; i++)
        for (int k = 0; k < 2; k++) {
            const struct intel_model *model = &intel_models[i];

            if (!model->libpfm[k])
                continue;
            assert_int_equal(libpfm_code(model->libpfm[k], model->loads), model->loads_config);
            assert_int_equal(libpfm_code(model->libpfm[k], model->stores), model->stores_config);
            assert_int_equal(libpfm_code(model->libpfm[k], "MEM_TRANS_RETIRED:LOAD_LATENCY"),
                             0x01cd);
            checked++;
        }
    assert_int_equal(checked, 10);
    assert_int_equal(libpfm_code("skl", "NO_SUCH_EVENT"), -1);
}

static void test_amd_encodings(void **state)
{
    int checked = 0;

    (void)state;
    for (unsigned i = 0; i < amd_model_count; i++) {
        const char *pmu = amd_models[i].libpfm;

        if (!pmu)
            continue;
        assert_int_equal(libpfm_code(pmu, "LS_DISPATCH:LD_DISPATCH:STORE_DISPATCH"),
                         AMD_LOADS_OR_STORES);
        assert_int_equal(libpfm_code(pmu, "LS_DISPATCH:LD_ST_DISPATCH"), AMD_LOADS_AND_STORES);
        checked++;
    }
    assert_int_equal(checked, 6);
}

static void test_no_model_twice(void **state)
{
    (void)state;
    for (unsigned model = 1; model < 256; model++) {
        unsigned rows = 0;

        for (unsigned i = 0; i < intel_model_count; i++)
            for (unsigned k = 0; k < MODELS_OF_ROW; k++)
                rows += intel_models[i].models[k] == model;
        assert_in_range(rows, 0, 1);
        assert_int_equal(intel_model_find(6, model) != NULL, rows);
        assert_null(intel_model_find(19, model));
    }
    assert_null(intel_model_find(6, 0));
}

/* ---- machines made of files ---- */

static bool choose(const struct text_file *files, struct processor processor, const char *event,
                   struct pmu_choice *choice, char *reason)
{
    struct pmu_machine machine = {processor, text_files_read, (void *)(uintptr_t)files};

    reason[0] = '\0';
    return pmu_choose(&machine, event, choice, reason);
}

static const struct text_file intel_files[] = {
    {"cpu/type", "4"},
    {"cpu/format/event", "config:0-7"},
    {"cpu/format/umask", "config:8-15"},
    {"cpu/format/ldlat", "config1:0-15"},
    {"cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3"},
    {"cpu/events/mem-stores", "event=0xd0,umask=0x82"},
    {NULL, NULL},
};

static void test_intel_machines(void **state)
{
    struct pmu_choice choice;
    char reason[PMU_REASON_MAX];

    (void)state;
    for (unsigned i = 0; i < intel_model_count; i++) {
        struct processor processor = {VENDOR_INTEL, 6, intel_models[i].models[0], 0, 0};

        assert_true(choose(intel_files, processor, "", &choice, reason));
        assert_int_equal(choice.unit, PMU_PEBS);
        assert_int_equal(choice.samplers, 2);
        assert_int_equal(choice.counters, 0);
        assert_true(choice.counts_accesses);
        assert_false(choice.sampler[0].with_kernel);
        assert_int_equal(choice.core_kinds, 1);
        assert_int_equal(choice.sampler[0].type, PERF_TYPE_RAW);
        assert_int_equal(choice.sampler[0].config, 0x81d0);
        assert_int_equal(choice.sampler[0].kinds, ACCESS_LOAD);
        assert_int_equal(choice.sampler[0].precise, 2);
        assert_int_equal(choice.sampler[1].config, 0x82d0);
        assert_int_equal(choice.sampler[1].kinds, ACCESS_STORE);
        assert_true(choice.sample_type & PERF_SAMPLE_ADDR);
        assert_int_equal(choice.period_multiple, 1);
    }
}

/* Codes as in the kernel's event lists (tools/perf/pmu-events/arch/x86) of 2025. */
static void test_newer_intel(void **state)
{
    static const struct text_file hybrid[] = {
        {"cpu_core/type", "4"}, {"cpu_atom/type", "10"}, {NULL, NULL}};
    const struct processor panther_lake = {VENDOR_INTEL, 6, 0xcc, 0, 0};
    const struct processor small_cores[] = {{VENDOR_INTEL, 6, 0xb6, 0, 0},
                                            {VENDOR_INTEL, 6, 0xdd, 0, 0}};
    const struct processor diamond_rapids = {VENDOR_INTEL, 19, 0x01, 0, 0};
    struct pmu_choice choice;
    char reason[PMU_REASON_MAX];

    (void)state;
    assert_true(choose(hybrid, panther_lake, "", &choice, reason));
    assert_int_equal(choice.core_kinds, 2);
    assert_int_equal(choice.samplers, 4);
    assert_non_null(strstr(choice.sampler[0].name, "cpu_core/MEM_INST_RETIRED:ALL_LOADS"));
    assert_non_null(strstr(choice.sampler[3].name, "cpu_atom/MEM_UOPS_RETIRED:ALL_STORES"));
    assert_int_equal(choice.sampler[3].type, 10);
    for (size_t i = 0; i < 2; i++) {
        assert_true(choose(intel_files, small_cores[i], "", &choice, reason));
        assert_non_null(strstr(choice.sampler[0].name, "MEM_UOPS_RETIRED:ALL_LOADS"));
        assert_int_equal(choice.sampler[0].config, 0x81d0);
        assert_true(choice.counts_accesses);
    }
    /* Its events are not known: the kernel's names, which count no accesses. */
    assert_true(choose(intel_files, diamond_rapids, "", &choice, reason));
    assert_int_equal(choice.sampler[0].config, 0x01cd);
    assert_false(choice.counts_accesses);
}

/* A model of tomorrow: by what the kernel shows. */
static void test_unknown_intel(void **state)
{
    const struct processor processor = {VENDOR_INTEL, 6, 0xfe, 0, 0};
    static const struct text_file nothing[] = {{"cpu/type", "4"}, {NULL, NULL}};
    struct pmu_choice choice;
    char reason[PMU_REASON_MAX];

    (void)state;
    assert_true(choose(intel_files, processor, "", &choice, reason));
    assert_int_equal(choice.samplers, 2);
    assert_int_equal(choice.sampler[0].config, 0x01cd);
    assert_int_equal(choice.sampler[0].config1, 3);
    assert_false(choice.sampler[0].needs_leader);
    assert_int_equal(choice.sampler[1].config, 0x82d0);
    assert_false(choice.counts_accesses);
    assert_false(choose(nothing, processor, "", &choice, reason));
    assert_non_null(strstr(reason, "mem-loads"));
    assert_false(choose(nothing + 1, processor, "", &choice, reason));
    assert_non_null(strstr(reason, "no processor PMU"));
}

/* Sapphire Rapids: the load latency event must be led by another one; Granite Rapids: no more. */
static void test_groups(void **state)
{
    static const struct text_file files[] = {
        {"cpu/type", "4"},
        {"cpu/format/event", "config:0-7"},
        {"cpu/format/umask", "config:8-15"},
        {"cpu/format/ldlat", "config1:0-15"},
        {"cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3"},
        {"cpu/events/mem-loads-aux", "event=0x03,umask=0x82"},
        {NULL, NULL},
    };
    const struct processor sapphire = {VENDOR_INTEL, 6, 0x8f, 0, 0};
    const struct processor granite = {VENDOR_INTEL, 6, 0xad, 0, 0};
    struct pmu_choice choice;
    char reason[PMU_REASON_MAX];

    (void)state;
    assert_true(choose(files, sapphire, "", &choice, reason));
    assert_false(choice.sampler[0].needs_leader); /* ALL_LOADS needs none */
    for (int form = 0; form < 3; form++) {
        static const char *const names[] = {"mem-loads", "cpu/event=0xcd,umask=0x1,ldlat=30/",
                                            "r1cd"};

        assert_true(choose(files, sapphire, names[form], &choice, reason));
        assert_int_equal(choice.samplers, 1);
        assert_int_equal(choice.sampler[0].config, 0x01cd);
        assert_int_equal(choice.sampler[0].config1, form == 0 ? 3 : form == 1 ? 30 : 0);
        assert_true(choice.sampler[0].needs_leader);
        assert_int_equal(choice.leader.config, 0x8203);
        /* What samples no longer counts accesses, so the events that do are counted beside. */
        assert_int_equal(choice.counters, 2);
        assert_int_equal(choice.counter[0].config, 0x81d0);
        assert_int_equal(choice.counter[0].precise, 0);
    }
    assert_true(choose(intel_files, granite, "mem-loads", &choice, reason));
    assert_false(choice.sampler[0].needs_leader);
}

/* The event beside the samplers that says where loads were served. */
static void test_latencies(void **state)
{
    static const struct text_file aux[] = {
        {"cpu_core/type", "4"},
        {"cpu_core/format/event", "config:0-7"},
        {"cpu_core/format/umask", "config:8-15"},
        {"cpu_core/format/ldlat", "config1:0-15"},
        {"cpu_core/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3"},
        {"cpu_core/events/mem-loads-aux", "event=0x03,umask=0x82"},
        {NULL, NULL},
    };
    static const struct text_file other[] = {
        {"cpu/type", "4"},
        {"cpu/format/event", "config:0-7"},
        {"cpu/format/umask", "config:8-15"},
        {"cpu/events/mem-loads", "event=0xd0,umask=0x5"},
        {NULL, NULL},
    };
    struct pmu_machine machine = {
        {VENDOR_INTEL, 6, 0x8f, 0, 0}, text_files_read, (void *)(uintptr_t)intel_files};
    struct pmu_choice choice;

    (void)state;
    assert_true(pmu_choose_latencies(&machine, &choice));
    assert_int_equal(choice.unit, PMU_PEBS);
    assert_int_equal(choice.samplers, 1);
    assert_int_equal(choice.sampler[0].config, 0x01cd);
    assert_int_equal(choice.sampler[0].config1, 3);
    assert_int_equal(choice.sampler[0].precise, 2);
    assert_int_equal(choice.sampler[0].kinds, ACCESS_LOAD);
    assert_false(choice.sampler[0].needs_leader);
    assert_true(choice.sample_type & PERF_SAMPLE_DATA_SRC && choice.sample_type & PERF_SAMPLE_ADDR);
    machine.context = (void *)(uintptr_t)aux;
    assert_true(pmu_choose_latencies(&machine, &choice));
    assert_true(choice.sampler[0].needs_leader);
    assert_int_equal(choice.leader.config, 0x8203);
    /* Another event under that name tells no source; other processors have none. */
    machine.context = (void *)(uintptr_t)other;
    assert_false(pmu_choose_latencies(&machine, &choice));
    machine = (struct pmu_machine){
        {VENDOR_AMD, 25, 17, 0, 0}, text_files_read, (void *)(uintptr_t)intel_files};
    assert_false(pmu_choose_latencies(&machine, &choice));
}

static void test_hybrid(void **state)
{
    static const struct text_file files[] = {
        {"cpu_core/type", "4"}, {"cpu_atom/type", "10"}, {NULL, NULL}};
    static const struct text_file three[] = {
        {"cpu_core/type", "4"}, {"cpu_atom/type", "10"}, {"cpu_lowpower/type", "11"}, {NULL, NULL}};
    const struct processor alder_lake = {VENDOR_INTEL, 6, 0x97, 0, 0};
    const struct processor arrow_lake_h = {VENDOR_INTEL, 6, 0xc5, 0, 0};
    struct pmu_choice choice;
    char reason[PMU_REASON_MAX];

    (void)state;
    assert_true(choose(files, alder_lake, "", &choice, reason));
    assert_int_equal(choice.samplers, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(choice.sampler[i].type, i < 2 ? 4 : 10);
        assert_int_equal(choice.sampler[i].config, i % 2 ? 0x82d0 : 0x81d0);
        assert_int_equal(strncmp(choice.sampler[i].name, i < 2 ? "cpu_core/" : "cpu_atom/", 9), 0);
        assert_int_equal(choice.sampler[i].core_kind, i / 2);
    }
    assert_int_equal(choice.core_kinds, 2);
    assert_true(choose(three, arrow_lake_h, "", &choice, reason));
    assert_int_equal(choice.core_kinds, 3);
    assert_int_equal(choice.samplers, 6);
    assert_int_equal(choice.sampler[5].type, 11);
    assert_int_equal(choice.sampler[5].core_kind, 2);
    assert_int_equal(choice.sampler[5].config, 0x82d0);
    assert_string_equal(choice.sampler[4].name, "cpu_lowpower/MEM_UOPS_RETIRED:ALL_LOADS");
    /* What replaces the samplers leaves what counts. */
    assert_true(choose(three, arrow_lake_h, "r1cd", &choice, reason));
    assert_int_equal(choice.core_kinds, 3);
    assert_int_equal(choice.counters, 6);
    assert_int_equal(choice.counter[3].core_kind, 1);
}

static void test_amd_machines(void **state)
{
    static const struct text_file filtered[] = {{"ibs_op/type", "11"},
                                                {"cpu/type", "4"},
                                                {"ibs_op/format/cnt_ctl", "config:19"},
                                                {"ibs_op/format/swfilt", "config2:0"},
                                                {NULL, NULL}};
    static const struct text_file older[] = {{"ibs_op/type", "11"},
                                             {"cpu/type", "4"},
                                             {"ibs_op/format/cnt_ctl", "config:19"},
                                             {NULL, NULL}};
    struct pmu_choice choice;
    char reason[PMU_REASON_MAX];

    (void)state;
    for (unsigned i = 0; i < amd_model_count; i++) {
        struct processor processor = {VENDOR_AMD, amd_models[i].family, amd_models[i].model_first,
                                      0x3ff, 0};

        assert_true(choose(filtered, processor, "", &choice, reason));
        assert_int_equal(choice.unit, PMU_IBS);
        assert_int_equal(choice.samplers, 1);
        assert_int_equal(choice.sampler[0].type, 11);
        assert_int_equal(choice.sampler[0].config, 1 << 19);
        assert_int_equal(choice.sampler[0].config2, 1);
        assert_false(choice.sampler[0].with_kernel);
        assert_false(choice.needs_privilege);
        assert_true(choice.sample_type & PERF_SAMPLE_RAW);
        assert_int_equal(choice.period_multiple, 16);
        assert_int_equal(choice.counters, 2);
        assert_int_equal(choice.counter[0].config, 0x0329);
        assert_int_equal(choice.counter[0].accesses, 1);
        assert_int_equal(choice.counter[1].config, 0x0429);
        assert_int_equal(choice.counter[1].accesses, 2);
        /* Kernels before 6.14: no filter, so a privilege is needed, except with hardware's own. */
        assert_true(choose(older, processor, "", &choice, reason));
        assert_int_equal(choice.sampler[0].config2, 0);
        assert_true(choice.needs_privilege);
        assert_true(choice.sampler[0].with_kernel);
        assert_false(choice.counter[0].with_kernel || choice.counter[1].with_kernel);
        processor.ibs_capabilities |= IBS_BIT63_FILTER;
        assert_true(choose(older, processor, "", &choice, reason));
        assert_false(choice.needs_privilege);
    }
    assert_false(
        choose(older + 1, (struct processor){VENDOR_AMD, 0x19, 1, 0, 0}, "", &choice, reason));
    assert_non_null(strstr(reason, "ibs_op"));
}

static void test_overrides(void **state)
{
    static const char *const bad[] = {"no-such-event",
                                      "r",
                                      "rxyz",
                                      "cpu/",
                                      "/",
                                      "cpu/foo=1/",
                                      "cpu/event=/",
                                      "gpu/event=1/",
                                      "cpu/event=0x1ff/",
                                      "cpu/event",
                                      "r11111111111111111"};
    const struct processor skylake = {VENDOR_INTEL, 6, 0x55, 0, 0};
    struct pmu_choice choice;
    char reason[PMU_REASON_MAX];

    (void)state;
    assert_true(choose(intel_files, skylake, "r20d1", &choice, reason));
    assert_int_equal(choice.sampler[0].config, 0x20d1);
    assert_int_equal(choice.sampler[0].type, PERF_TYPE_RAW);
    assert_int_equal(choice.sampler[0].precise, 2);
    assert_int_equal(choice.sampler[0].kinds, 0); /* the data source will tell */
    assert_true(choose(intel_files, skylake, "cpu/config=0x1cd,config1=7/", &choice, reason));
    assert_int_equal(choice.sampler[0].config, 0x1cd);
    assert_int_equal(choice.sampler[0].config1, 7);
    assert_true(choose(intel_files, skylake, "mem-stores", &choice, reason));
    assert_int_equal(choice.sampler[0].config, 0x82d0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(choose(intel_files, skylake, bad[i], &choice, reason));
        assert_non_null(strstr(reason, bad[i]));
    }
}

static void test_format_files(void **state)
{
    uint64_t config = 0, config1 = 0, config2 = 0;
    const struct format_target target = {&config, &config1, &config2};

    (void)state;
    assert_true(format_set("config:0-7,32-35", 0xabc, &target));
    assert_int_equal(config, 0xa000000bc);
    assert_true(format_set("config1:63", 1, &target));
    assert_int_equal(config1, UINT64_C(1) << 63);
    assert_true(format_set("config2:0", 1, &target));
    assert_true(format_set("config2:0", 0, &target)); /* sets, not only adds */
    assert_int_equal(config2, 0);
    assert_false(format_set("config:0-7", 256, &target));
    assert_false(format_set("config:7-0", 1, &target));
    assert_false(format_set("config:0-64", 1, &target));
    assert_false(format_set("config3:0", 1, &target));
    assert_false(format_set("config:", 0, &target));
    assert_false(format_set("", 0, &target));
}

/* On whatever machine the test runs: an answer, and a reason where there is none. */
static void test_this_machine(void **state)
{
    struct pmu_machine machine = {.read = pmu_read_sysfs};
    struct pmu_choice choice;
    char reason[PMU_REASON_MAX] = "";

    (void)state;
    processor_here(&machine.processor);
    assert_int_not_equal(machine.processor.vendor, VENDOR_UNKNOWN);
    if (pmu_choose(&machine, "", &choice, reason))
        assert_in_range(choice.samplers, 1, PMU_EVENTS_MAX);
    else
        assert_true(strlen(reason) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_intel_encodings), cmocka_unit_test(test_amd_encodings),
        cmocka_unit_test(test_no_model_twice),  cmocka_unit_test(test_intel_machines),
        cmocka_unit_test(test_newer_intel),     cmocka_unit_test(test_unknown_intel),
        cmocka_unit_test(test_groups),          cmocka_unit_test(test_latencies),
        cmocka_unit_test(test_hybrid),          cmocka_unit_test(test_amd_machines),
        cmocka_unit_test(test_overrides),       cmocka_unit_test(test_format_files),
        cmocka_unit_test(test_this_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

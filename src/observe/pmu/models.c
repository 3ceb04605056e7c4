/* SPDX-License-Identifier: BSD-3-Clause */
/* See models.h. Signal-safe. */
#include "pmu/models.h"

#include <stddef.h>

#include "signal_safe.h"

/*
 * Model numbers: Intel SDM volume 4, table 2-1, and the kernel's intel-family.h. Codes of models
 * that libpfm4 4.13 does not know: Intel's event lists (github.com/intel/perfmon), as in the
 * kernel's tools/perf/pmu-events/arch/x86. One row a generation: the codes did not change since
 * Haswell, the names did.
 */
const struct intel_model intel_models[] = {
    {"Haswell",
     {0x3c, 0x3f, 0x45, 0x46},
     {"hsw", "hsw_ep"},
     "MEM_UOPS_RETIRED:ALL_LOADS",
     "MEM_UOPS_RETIRED:ALL_STORES",
     0x81d0,
     0x82d0},
    {"Broadwell",
     {0x3d, 0x47, 0x4f, 0x56},
     {"bdw", "bdw_ep"},
     "MEM_UOPS_RETIRED:ALL_LOADS",
     "MEM_UOPS_RETIRED:ALL_STORES",
     0x81d0,
     0x82d0},
    {"Skylake",
     {0x4e, 0x5e, 0x8e, 0x9e, 0xa5, 0xa6},
     {"skl"},
     "MEM_INST_RETIRED:ALL_LOADS",
     "MEM_INST_RETIRED:ALL_STORES",
     0x81d0,
     0x82d0},
    {"Skylake-SP, Cascade Lake, Cooper Lake",
     {0x55},
     {"skx", "clx"},
     "MEM_INST_RETIRED:ALL_LOADS",
     "MEM_INST_RETIRED:ALL_STORES",
     0x81d0,
     0x82d0},
    {"Ice Lake, Tiger Lake, Rocket Lake",
     {0x7d, 0x7e, 0x8c, 0x8d, 0xa7},
     {"icl"},
     "MEM_INST_RETIRED:ALL_LOADS",
     "MEM_INST_RETIRED:ALL_STORES",
     0x81d0,
     0x82d0},
    {"Ice Lake-SP",
     {0x6a, 0x6c},
     {"icx"},
     "MEM_INST_RETIRED:ALL_LOADS",
     "MEM_INST_RETIRED:ALL_STORES",
     0x81d0,
     0x82d0},
    {"Alder Lake, Raptor Lake, Bartlett Lake",
     {0x97, 0x9a, 0xb7, 0xba, 0xbf, 0xd7},
     {NULL},
     "MEM_INST_RETIRED:ALL_LOADS",
     "MEM_INST_RETIRED:ALL_STORES",
     0x81d0,
     0x82d0},
    {"Sapphire Rapids",
     {0x8f},
     {"spr"},
     "MEM_INST_RETIRED:ALL_LOADS",
     "MEM_INST_RETIRED:ALL_STORES",
     0x81d0,
     0x82d0},
    {"Emerald Rapids",
     {0xcf},
     {NULL},
     "MEM_INST_RETIRED:ALL_LOADS",
     "MEM_INST_RETIRED:ALL_STORES",
     0x81d0,
     0x82d0},
    {"Granite Rapids",
     {0xad, 0xae},
     {NULL},
     "MEM_INST_RETIRED:ALL_LOADS",
     "MEM_INST_RETIRED:ALL_STORES",
     0x81d0,
     0x82d0},
    {"Meteor Lake, Arrow Lake-U",
     {0xaa, 0xac, 0xb5},
     {NULL},
     "MEM_INST_RETIRED:ALL_LOADS",
     "MEM_INST_RETIRED:ALL_STORES",
     0x81d0,
     0x82d0},
    {"Lunar Lake, Arrow Lake",
     {0xbd, 0xc5, 0xc6},
     {NULL},
     "MEM_INST_RETIRED:ALL_LOADS",
     "MEM_INST_RETIRED:ALL_STORES",
     0x81d0,
     0x82d0},
    {"Panther Lake",
     {0xcc},
     {NULL},
     "MEM_INST_RETIRED:ALL_LOADS",
     "MEM_INST_RETIRED:ALL_STORES",
     0x81d0,
     0x82d0},
    {"Alder Lake-N (small cores only)",
     {0xbe},
     {NULL},
     "MEM_UOPS_RETIRED:ALL_LOADS",
     "MEM_UOPS_RETIRED:ALL_STORES",
     0x81d0,
     0x82d0},
    {"Sierra Forest, Grand Ridge, Clearwater Forest (small cores only)",
     {0xaf, 0xb6, 0xdd},
     {NULL},
     "MEM_UOPS_RETIRED:ALL_LOADS",
     "MEM_UOPS_RETIRED:ALL_STORES",
     0x81d0,
     0x82d0},
};
const unsigned intel_model_count = sizeof intel_models / sizeof intel_models[0];

const struct intel_model intel_small_core = {.name = "Gracemont, Crestmont, Skymont, Darkmont",
                                             .loads = "MEM_UOPS_RETIRED:ALL_LOADS",
                                             .stores = "MEM_UOPS_RETIRED:ALL_STORES",
                                             .loads_config = 0x81d0,
                                             .stores_config = 0x82d0};

const struct intel_model *intel_model_find(unsigned family, unsigned model)
{
    if (family != INTEL_FAMILY)
        return NULL;
    for (unsigned i = 0; i < intel_model_count; i++)
        for (unsigned k = 0; k < MODELS_OF_ROW; k++)
            if (model != 0 && intel_models[i].models[k] == model)
                return &intel_models[i];
    return NULL;
}

/* Family and model: AMD's revision guides, and libpfm4's detection. Event 029h (LS Dispatch):
 * Processor Programming References of all these families. */
const struct amd_model amd_models[] = {
    {"Zen", 0x17, 0x00, 0x2f, "amd64_fam17h_zen1"},
    {"Zen 2", 0x17, 0x30, 0xff, "amd64_fam17h_zen2"},
    {"Zen 3", 0x19, 0x00, 0x0f, "amd64_fam19h_zen3"},
    {"Zen 4", 0x19, 0x10, 0x1f, "amd64_fam19h_zen4"},
    {"Zen 3", 0x19, 0x20, 0x5f, "amd64_fam19h_zen3"},
    {"Zen 4", 0x19, 0x60, 0xff, "amd64_fam19h_zen4"},
    {"Zen 5", 0x1a, 0x00, 0xff, NULL},
};
const unsigned amd_model_count = sizeof amd_models / sizeof amd_models[0];

/* Names after the core: drivers/perf/arm_pmuv3.c. */
const char *const arm_core_pmus[] = {
    "armv8_pmuv3_0",       "armv8_pmuv3_1",       "armv8_pmuv3_2",       "armv8_pmuv3",
    "armv8_cortex_a34",    "armv8_cortex_a35",    "armv8_cortex_a53",    "armv8_cortex_a55",
    "armv8_cortex_a57",    "armv8_cortex_a65",    "armv8_cortex_a72",    "armv8_cortex_a73",
    "armv8_cortex_a75",    "armv8_cortex_a76",    "armv8_cortex_a77",    "armv8_cortex_a78",
    "armv8_cortex_x1",     "armv9_cortex_a320",   "armv9_cortex_a510",   "armv9_cortex_a520",
    "armv9_cortex_a520ae", "armv9_cortex_a710",   "armv9_cortex_a715",   "armv9_cortex_a720",
    "armv9_cortex_a720ae", "armv9_cortex_a725",   "armv9_cortex_x2",     "armv9_cortex_x3",
    "armv9_cortex_x4",     "armv9_cortex_x925",   "armv8_c1_nano",       "armv8_c1_premium",
    "armv8_c1_pro",        "armv8_c1_ultra",      "armv8_neoverse_e1",   "armv8_neoverse_n1",
    "armv9_neoverse_n2",   "armv9_neoverse_n3",   "armv8_neoverse_v1",   "armv8_neoverse_v2",
    "armv8_neoverse_v3",   "armv8_neoverse_v3ae", "armv8_rainier",       "armv8_cavium_thunder",
    "armv8_brcm_vulcan",   "armv8_nvidia_carmel", "armv8_nvidia_denver", "armv8_samsung_mongoose"};
const unsigned arm_core_pmu_count = sizeof arm_core_pmus / sizeof arm_core_pmus[0];

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Models whose access events are known by number. Data only; what the kernel shows in sysfs comes
 * first where it tells the same.
 */
#ifndef REUSE_PMU_MODELS_H
#define REUSE_PMU_MODELS_H

#include <stdint.h>

enum { MODELS_OF_ROW = 8, INTEL_FAMILY = 6 };

/*
 * Intel: events of the core PMU that sample every retired load and store with its address (PEBS).
 * The same code counts them all, so that one event samples and counts.
 */
struct intel_model {
    const char *name;
    uint8_t models[MODELS_OF_ROW]; /* CPUID model numbers of family 6 */
    const char *libpfm[2];         /* what libpfm4 calls it; NULL: Debian's 4.13 does not know it */
    const char *loads, *stores;    /* libpfm4's and Intel's names of the events */
    uint16_t loads_config, stores_config;
};

extern const struct intel_model intel_models[];
extern const unsigned intel_model_count;

/* The small cores of hybrid processors (PMU cpu_atom) and of Sierra Forest. */
extern const struct intel_model intel_small_core;

/* Intel's row for a family and model; NULL if none. Later families (19: Diamond Rapids) number
 * their models anew, and their events are not known here. */
const struct intel_model *intel_model_find(unsigned family, unsigned model);

/* AMD: events that count dispatched loads and stores; ibs_op samples. */
struct amd_model {
    const char *name;
    uint8_t family;
    uint8_t model_first, model_last;
    const char *libpfm; /* NULL as above */
};

extern const struct amd_model amd_models[];
extern const unsigned amd_model_count;

enum {
    AMD_LOADS_OR_STORES = 0x0329,  /* LS_DISPATCH: LD_DISPATCH | STORE_DISPATCH */
    AMD_LOADS_AND_STORES = 0x0429, /* LS_DISPATCH: LD_ST_DISPATCH */
    AMD_FAMILY_FIRST = 0x17,
};

/* Arm architecture: numbers of PMU events, the same on every core that has them. */
enum {
    ARM_LOADS_SPECULATIVE = 0x70,  /* LD_SPEC */
    ARM_STORES_SPECULATIVE = 0x71, /* ST_SPEC */
};

/*
 * What the kernel calls the units of Arm cores below /sys/bus/event_source/devices: numbered where
 * ACPI describes the machine, after the core where a device tree does. Up to ARM_CORE_KINDS_MAX
 * kinds of cores in a machine, each with its unit.
 */
extern const char *const arm_core_pmus[];
extern const unsigned arm_core_pmu_count;

enum { ARM_CORE_KINDS_MAX = 3 };

#endif

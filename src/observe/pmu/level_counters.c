/* SPDX-License-Identifier: BSD-3-Clause */
/* See level_counters.h. */
#include "pmu/level_counters.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include "pmu/format_terms.h"
#include "pmu/models.h"

/* What one row of events is for. */
struct row {
    const char *name;
    uint16_t config;
    uint8_t kind, levels;
    uint16_t flags;
};

enum {
    L1 = 1 << 1,
    L2 = 1 << 2,
    OUTERMOST = 1 << 0,
    ROWS = LEVEL_COUNTERS_MAX + 1, /* the last one is empty */
};

#define FILLS COUNTER_FILLS
#define WRITE_BACKS COUNTER_WRITE_BACKS
#define PREFETCHES COUNTER_HAS_PREFETCHES
#define CODE COUNTER_HAS_CODE

/*
 * Intel: event lists of github.com/intel/perfmon. L1D.REPLACEMENT counts every line that is put
 * into L1D, whoever asked; L2_LINES_IN every line put into L2, the prefetchers' and code among
 * them. LONGEST_LAT_CACHE.MISS is architectural; of what L2's prefetchers ask it leaves out some.
 * From Skylake servers on L2_LINES_OUT counts clean lines as well: L2_TRANS.L2_WB does not, and is
 * gone in Sapphire Rapids.
 */
#define INTEL_L1                                                                                   \
    {                                                                                              \
        "L1D:REPLACEMENT", 0x0151, FILLS, L1, PREFETCHES                                           \
    }
#define INTEL_MEMORY                                                                               \
    {                                                                                              \
        "LONGEST_LAT_CACHE:MISS", 0x412e, FILLS, OUTERMOST, PREFETCHES | CODE                      \
    }
#define INTEL_L2_WRITE_BACKS                                                                       \
    {                                                                                              \
        "L2_TRANS:L2_WB", 0x40f0, WRITE_BACKS, L2, 0                                               \
    }

static const struct row haswell[ROWS] = {
    INTEL_L1,
    {"L2_LINES_IN:ALL", 0x07f1, FILLS, L2, PREFETCHES | CODE},
    INTEL_MEMORY,
    {"L2_TRANS:L1D_WB", 0x10f0, WRITE_BACKS, L1, 0},
    INTEL_L2_WRITE_BACKS,
};
static const struct row skylake[ROWS] = {
    INTEL_L1,
    {"L2_LINES_IN:ALL", 0x1ff1, FILLS, L2, PREFETCHES | CODE},
    INTEL_MEMORY,
    INTEL_L2_WRITE_BACKS,
};
static const struct row sapphire_rapids[ROWS] = {
    INTEL_L1,
    {"L2_LINES_IN:ALL", 0x1f25, FILLS, L2, PREFETCHES | CODE},
    INTEL_MEMORY,
};
/* Hybrid parts: what both kinds of cores count under one number. */
static const struct row hybrid[ROWS] = {INTEL_MEMORY};

/*
 * AMD: Processor Programming References, PMCx041, 043, 044, 05A, 064, 071, 072. Requests of the
 * data cache that miss L2, and what L2's prefetchers fetch from L3 and from memory, are lines that
 * come into L2; fills of L1 from memory, and what L2's prefetchers fetch from there, are what
 * memory serves.
 */
#define AMD_L2                                                                                     \
    {                                                                                              \
        "CORE_TO_L2_CACHEABLE_REQUEST_ACCESS_STATUS:LS_RD_BLK_C", 0x0864, FILLS, L2, PREFETCHES    \
    }

static const struct row zen1[ROWS] = {
    {"MAB_ALLOCATION_BY_PIPE:DATA_PIPE:ST_PIPE:HW_PF", 0x0b41, FILLS, L1, PREFETCHES},
    AMD_L2,
    {"L2_PREFETCH_HIT_L3:ANY", 0x3f71, FILLS, L2, PREFETCHES},
    {"L2_PREFETCH_MISS_L3:ANY", 0x3f72, FILLS, L2, PREFETCHES},
};
static const struct row zen2[ROWS] = {
    {"MAB_ALLOCATION_BY_PIPE:DATA_PIPE:ST_PIPE:HW_PF", 0x0b41, FILLS, L1, PREFETCHES},
    AMD_L2,
    {"L2_PREFETCH_HIT_L3:ANY", 0x1f71, FILLS, L2, PREFETCHES},
    {"L2_PREFETCH_MISS_L3:ANY", 0x1f72, FILLS, L2 | OUTERMOST, PREFETCHES},
    {"DATA_CACHE_REFILLS_FROM_SYSTEM:LS_MABRESP_LCL_DRAM:LS_MABRESP_RMT_DRAM", 0x4843, FILLS,
     OUTERMOST, PREFETCHES},
    {"HARDWARE_PREFETCH_DATA_CACHE_FILLS:LS_MABRESP_LCL_DRAM:LS_MABRESP_RMT_DRAM", 0x485a, FILLS,
     OUTERMOST, PREFETCHES},
};
static const struct row zen3[ROWS] = {
    {"ANY_DATA_CACHE_FILLS_FROM_SYSTEM:LCL_L2:INT_CACHE:EXT_CACHE_LCL:MEM_IO_LCL:EXT_CACHE_RMT:"
     "MEM_IO_RMT",
     0x5f44, FILLS, L1, PREFETCHES},
    AMD_L2,
    {"L2_PREFETCH_HIT_L3:L2_HW_PREFETCHER", 0x1f71, FILLS, L2, PREFETCHES},
    {"L2_PREFETCH_MISS_L3:L2_HW_PREFETCHER", 0x1f72, FILLS, L2 | OUTERMOST, PREFETCHES},
    {"ANY_DATA_CACHE_FILLS_FROM_SYSTEM:MEM_IO_LCL:MEM_IO_RMT", 0x4844, FILLS, OUTERMOST,
     PREFETCHES},
};
static const struct row zen4[ROWS] = {
    {"ANY_DATA_CACHE_FILLS_FROM_SYSTEM:LCL_L2:LOCAL_CCX:NEAR_CACHE_NEAR_FAR:DRAM_IO_NEAR:"
     "FAR_CACHE_NEAR_FAR:DRAM_IO_FAR:ALT_MEM_NEAR_FAR",
     0xdf44, FILLS, L1, PREFETCHES},
    AMD_L2,
    {"L2_PREFETCH_HIT_L3:L2_STREAM:L2_NEXT_LINE:L2_UP_DOWN:L2_BURST:L2_STRIDE", 0x1f71, FILLS, L2,
     PREFETCHES},
    {"L2_PREFETCH_MISS_L3:L2_STREAM:L2_NEXT_LINE:L2_UP_DOWN:L2_BURST:L2_STRIDE", 0x1f72, FILLS,
     L2 | OUTERMOST, PREFETCHES},
    {"ANY_DATA_CACHE_FILLS_FROM_SYSTEM:DRAM_IO_NEAR:DRAM_IO_FAR:ALT_MEM_NEAR_FAR", 0xc844, FILLS,
     OUTERMOST, PREFETCHES},
};

/*
 * Arm Architecture Reference Manual, "PMU events and event numbers". Whether prefetches are counted
 * each core decides. A64FX (Fujitsu, A64FX PMU Events 1.2, and its errata): both refills count
 * prefetches, and those of L2 must be corrected by two other events.
 */
static const struct row arm[ROWS] = {
    {"L1D_CACHE_REFILL", 0x03, FILLS, L1, COUNTER_MAY_HAVE_PREFETCHES},
    {"L2D_CACHE_REFILL", 0x17, FILLS, L2, COUNTER_MAY_HAVE_PREFETCHES},
    {"LL_CACHE_MISS_RD", 0x37, FILLS, OUTERMOST, COUNTER_LOADS_ONLY | COUNTER_MAY_HAVE_PREFETCHES},
    {"L1D_CACHE_WB", 0x15, WRITE_BACKS, L1, 0},
    {"L2D_CACHE_WB", 0x18, WRITE_BACKS, L2, 0},
};
static const struct row a64fx[ROWS] = {
    {"L1D_CACHE_REFILL", 0x03, FILLS, L1, PREFETCHES},
    {"L2D_CACHE_REFILL", 0x17, FILLS, L2, PREFETCHES},
    {"L2D_SWAP_DM", 0x325, FILLS, L2, COUNTER_SUBTRACTED},
    {"L2D_CACHE_MIBMCH_PRF", 0x326, FILLS, L2, COUNTER_SUBTRACTED},
    {"L2D_CACHE_WB", 0x18, WRITE_BACKS, L2, 0},
    {"L1D_CACHE_WB", 0x15, WRITE_BACKS, L1, 0},
};

enum { MIDR_A64FX = 0x46000010, MIDR_MASK = 0xff00fff0 }; /* implementer and part number */

/* Haswell .. Granite Rapids, without those whose cores are not all of one kind. */
static const struct row *intel_rows(unsigned model)
{
    const struct intel_model *known = intel_model_find(INTEL_FAMILY, model);

    if (!known)
        return NULL;
    switch (known->loads_config == 0 ? 0 : model) {
    case 0x3c:
    case 0x3f:
    case 0x45:
    case 0x46: /* Haswell */
    case 0x3d:
    case 0x47:
    case 0x4f:
    case 0x56: /* Broadwell */
        return haswell;
    case 0x4e:
    case 0x5e:
    case 0x8e:
    case 0x9e:
    case 0xa5:
    case 0xa6: /* Skylake and its kin */
    case 0x55: /* its servers, Cascade and Cooper Lake */
    case 0x7d:
    case 0x7e:
    case 0x8c:
    case 0x8d:
    case 0xa7: /* Ice, Tiger and Rocket Lake */
    case 0x6a:
    case 0x6c: /* Ice Lake servers */
        return skylake;
    case 0x8f:
    case 0xcf:
    case 0xad:
    case 0xae: /* Sapphire, Emerald, Granite Rapids */
        return sapphire_rapids;
    default:
        return hybrid;
    }
}

static const struct row *amd_rows(const struct processor *processor)
{
    for (unsigned i = 0; i < amd_model_count; i++) {
        const struct amd_model *model = &amd_models[i];

        if (processor->family != model->family || processor->model < model->model_first ||
            processor->model > model->model_last)
            continue;
        switch (model->name[strlen(model->name) - 1]) {
        case '2':
            return zen2;
        case '3':
            return zen3;
        case '4':
        case '5':
            return zen4;
        default:
            return zen1;
        }
    }
    return NULL;
}

static const struct row *rows_of(const struct processor *processor)
{
    switch (processor->vendor) {
    case VENDOR_INTEL:
        return processor->family == 6 ? intel_rows(processor->model) : NULL;
    case VENDOR_AMD:
        return amd_rows(processor);
    case VENDOR_ARM:
        return (processor->midr & MIDR_MASK) == MIDR_A64FX ? a64fx : arm;
    default:
        return NULL;
    }
}

static struct level_counter counter_of(const struct row *row, uint32_t type)
{
    struct level_counter counter = {
        .type = type,
        .config = row->config,
        .kind = row->kind,
        .levels = row->levels,
        .flags = row->flags,
    };

    snprintf(counter.name, sizeof counter.name, "%s", row->name);
    return counter;
}

/* What the kernel maps to some event of any processor; it says for loads alone. */
static unsigned generic_counters(struct level_counter *out)
{
    enum { READ_MISS = PERF_COUNT_HW_CACHE_OP_READ << 8 | PERF_COUNT_HW_CACHE_RESULT_MISS << 16 };
    static const struct row rows[] = {
        {"L1-dcache-load-misses", PERF_COUNT_HW_CACHE_L1D, FILLS, L1,
         COUNTER_LOADS_ONLY | COUNTER_MAY_HAVE_PREFETCHES},
        {"LLC-load-misses", PERF_COUNT_HW_CACHE_LL, FILLS, OUTERMOST,
         COUNTER_LOADS_ONLY | COUNTER_MAY_HAVE_PREFETCHES},
    };

    for (unsigned i = 0; i < 2; i++) {
        out[i] = counter_of(&rows[i], PERF_TYPE_HW_CACHE);
        out[i].config |= READ_MISS;
    }
    return 2;
}

unsigned level_counters_of_model(const struct processor *processor, struct level_counter *out)
{
    const struct row *rows = rows_of(processor);
    unsigned count = 0;

    for (; rows && rows[count].name; count++)
        out[count] = counter_of(&rows[count], PERF_TYPE_RAW);
    return count;
}

static bool pmu_type(const struct pmu_machine *machine, const char *pmu, uint32_t *type)
{
    char path[64], text[64];
    uint64_t number;

    snprintf(path, sizeof path, "%s/type", pmu);
    if (!machine->read(machine->context, path, text, sizeof text) ||
        !format_number(text, &number) || number > INT32_MAX)
        return false;
    *type = (uint32_t)number;
    return true;
}

/* Each kind of core has a PMU: a thread counts on the one that it is on. */
static unsigned hybrid_counters(const struct pmu_machine *machine, struct level_counter *out)
{
    static const char *const pmus[] = {"cpu_core", "cpu_atom", "cpu_lowpower"};
    unsigned count = 0;

    for (unsigned i = 0; i < sizeof pmus / sizeof pmus[0]; i++) {
        uint32_t type;

        if (!pmu_type(machine, pmus[i], &type))
            continue;
        out[count] = counter_of(&hybrid[0], type);
        snprintf(out[count].name, sizeof out[count].name, "%s/%s", pmus[i], hybrid[0].name);
        out[count].one_kind_of_core = true;
        count++;
    }
    return count;
}

static unsigned arm_core_kinds(const struct pmu_machine *machine)
{
    unsigned kinds = 0;
    uint32_t type;

    for (unsigned i = 0; i < arm_core_pmu_count; i++)
        kinds += pmu_type(machine, arm_core_pmus[i], &type);
    return kinds;
}

/* The kernel shows those of the architecture's events that a core says it has. */
static bool arm_core_has(const struct pmu_machine *machine, const char *event)
{
    char path[96], text[64];
    bool lists = false;

    for (unsigned i = 0; i < arm_core_pmu_count; i++) {
        char *name;

        /* Every core counts cycles: without that entry this kernel lists none of its events. */
        snprintf(path, sizeof path, "%s/events/cpu_cycles", arm_core_pmus[i]);
        lists |= machine->read(machine->context, path, text, sizeof text);
        snprintf(path, sizeof path, "%s/events/%s", arm_core_pmus[i], event);
        for (name = strrchr(path, '/'); *name; name++)
            if (*name >= 'A' && *name <= 'Z')
                *name = (char)(*name - 'A' + 'a');
        if (machine->read(machine->context, path, text, sizeof text))
            return true;
    }
    return !lists;
}

static unsigned keep_those_that_are_there(const struct pmu_machine *machine,
                                          struct level_counter *counters, unsigned count)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < count; i++)
        if (counters[i].config > 0x3f || arm_core_has(machine, counters[i].name))
            counters[kept++] = counters[i];
    return kept;
}

/* Counters of a hardware thread that events can be put on. */
static unsigned room(const struct processor *processor)
{
    /* Six in small cores up to Gracemont, eight in the others of hybrid parts. Four in Intel's
     * cores before Ice Lake with two threads each, six in AMD's; of Arm's nothing is told here, and
     * six are common. */
    return processor->vendor == VENDOR_INTEL && rows_of(processor) != hybrid ? 4 : 6;
}

/* The first `most` events; they no longer speak of levels that would be known in part. */
static unsigned cut(struct level_counter *counters, unsigned count, unsigned most)
{
    unsigned lost[COUNTER_WRITE_BACKS + 1] = {0}, kept = 0;

    for (unsigned i = most; i < count; i++)
        lost[counters[i].kind] |= counters[i].levels;
    for (unsigned i = 0; i < count && i < most; i++) {
        counters[i].levels &= (uint8_t)~lost[counters[i].kind];
        if (counters[i].levels != 0)
            counters[kept++] = counters[i];
    }
    return kept;
}

unsigned level_counters_choose(const struct pmu_machine *machine, unsigned taken,
                               struct level_counter out[LEVEL_COUNTERS_MAX])
{
    const struct processor *processor = &machine->processor;
    const struct row *rows = rows_of(processor);
    unsigned free = room(processor) > taken ? room(processor) - taken : 0;
    unsigned count;

    if (!rows)
        count = generic_counters(out);
    else if (rows == hybrid)
        count = hybrid_counters(machine, out);
    else
        count = level_counters_of_model(processor, out);
    /* A raw number is counted by the unit of one kind of core alone. */
    if (processor->vendor == VENDOR_ARM && arm_core_kinds(machine) > 1)
        return 0;
    if (processor->vendor == VENDOR_ARM)
        count = keep_those_that_are_there(machine, out, count);
    /* Of one event in each unit there is nothing to cut. */
    if (rows == hybrid)
        return free > 0 ? count : 0;
    return taken > 0 ? cut(out, count, free) : count;
}

enum counter_trust level_counter_judge(const struct level_counter *counter, uint64_t count,
                                       bool running)
{
    /* Lines that are fetched need not come in dirty, nor need a correction apply. */
    if (!running || counter->kind != COUNTER_FILLS || counter->flags & COUNTER_SUBTRACTED)
        return COUNTER_UNTRIED;
    if (count == 0)
        return COUNTER_SILENT;
    /* A prefetcher may fetch some lines first, and others that nobody asked for. */
    return count >= LEVEL_COUNTER_TRIAL / 2 && count <= 8 * LEVEL_COUNTER_TRIAL ? COUNTER_TRUSTED
                                                                                : COUNTER_WRONG;
}

double level_counter_scaled(const struct level_counter *counter, uint64_t count,
                            uint64_t enabled_ns, uint64_t running_ns)
{
    if (running_ns == 0)
        return 0;
    return enabled_ns > running_ns && !counter->one_kind_of_core
               ? (double)count * (double)enabled_ns / (double)running_ns
               : (double)count;
}

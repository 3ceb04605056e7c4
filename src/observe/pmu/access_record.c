/* SPDX-License-Identifier: BSD-3-Clause */
/* See access_record.h. */
#include "pmu/access_record.h"

enum { BEYOND_L3 = PMU_L1_MISSED | PMU_L2_MISSED | PMU_L3_MISSED };

const uint32_t access_level_implies[LEVEL_COUNT] = {
    [LEVEL_FILL_BUFFER] = PMU_L1_MISSED,
    [LEVEL_L2] = PMU_L1_MISSED,
    [LEVEL_L3] = PMU_L1_MISSED | PMU_L2_MISSED,
    [LEVEL_L4] = BEYOND_L3,
    [LEVEL_PEER_CACHE] = PMU_L1_MISSED | PMU_L2_MISSED | PMU_FROM_OTHER_CACHE,
    [LEVEL_DRAM] = BEYOND_L3,
    [LEVEL_PERSISTENT] = BEYOND_L3,
    [LEVEL_REMOTE_CACHE] = BEYOND_L3 | PMU_REMOTE | PMU_FROM_OTHER_CACHE,
    [LEVEL_REMOTE_DRAM] = BEYOND_L3 | PMU_REMOTE,
    [LEVEL_CXL] = BEYOND_L3,
    [LEVEL_IO] = BEYOND_L3,
};

const char *access_level_name(enum access_level level)
{
    static const char *const names[LEVEL_COUNT] = {
        [LEVEL_UNKNOWN] = "unknown",
        [LEVEL_L1] = "L1",
        [LEVEL_FILL_BUFFER] = "fill buffer",
        [LEVEL_L2] = "L2",
        [LEVEL_L3] = "L3",
        [LEVEL_L4] = "L4 or system cache",
        [LEVEL_PEER_CACHE] = "other core's cache",
        [LEVEL_DRAM] = "DRAM",
        [LEVEL_PERSISTENT] = "persistent memory",
        [LEVEL_REMOTE_CACHE] = "remote cache",
        [LEVEL_REMOTE_DRAM] = "remote DRAM",
        [LEVEL_CXL] = "CXL memory",
        [LEVEL_IO] = "I/O or uncached",
    };

    return level < LEVEL_COUNT ? names[level] : names[LEVEL_UNKNOWN];
}

const char *access_translation_name(enum access_translation translation)
{
    static const char *const names[TRANSLATION_COUNT] = {
        [TRANSLATION_UNKNOWN] = "unknown", [TRANSLATION_L1] = "L1 TLB",
        [TRANSLATION_L2] = "L2 TLB",       [TRANSLATION_CACHED] = "TLB",
        [TRANSLATION_WALK] = "page walk",  [TRANSLATION_FAULT] = "page fault",
    };

    return translation < TRANSLATION_COUNT ? names[translation] : names[TRANSLATION_UNKNOWN];
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* See access_record.h. */
#include "pmu/access_record.h"

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

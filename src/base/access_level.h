/* SPDX-License-Identifier: BSD-3-Clause */
/* Which part of the memory system served an access, as hardware records tell it. */
#ifndef REUSE_ACCESS_LEVEL_H
#define REUSE_ACCESS_LEVEL_H

/* Where the data came from. The order is the order of distance. */
enum access_level {
    LEVEL_UNKNOWN,
    LEVEL_L1,
    LEVEL_FILL_BUFFER, /* on its way already: line fill buffer, miss address buffer */
    LEVEL_L2,
    LEVEL_L3,         /* last level, or the cache shared by the cluster */
    LEVEL_L4,         /* memory-side or system cache */
    LEVEL_PEER_CACHE, /* of another core or cluster of the same node */
    LEVEL_DRAM,
    LEVEL_PERSISTENT, /* slow or persistent memory modules */
    LEVEL_REMOTE_CACHE,
    LEVEL_REMOTE_DRAM,
    LEVEL_CXL, /* extension memory */
    LEVEL_IO,  /* devices, uncached space */
    LEVEL_COUNT,
};

enum access_translation {
    TRANSLATION_UNKNOWN,
    TRANSLATION_L1,     /* first-level TLB */
    TRANSLATION_L2,     /* second-level TLB */
    TRANSLATION_CACHED, /* one of the two */
    TRANSLATION_WALK,   /* page walk */
    TRANSLATION_FAULT,  /* by the operating system */
    TRANSLATION_COUNT,
};

#endif

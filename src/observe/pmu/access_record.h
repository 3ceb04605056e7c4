/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a hardware sampling unit told about one instruction, in one form for all units.
 *
 * The decoders fill it: data_source.h and perf_sample.h (Intel's PEBS, and whatever the kernel
 * translates), ibs.h (AMD), spe.h (Arm). A unit tells only part of it, so every field has a value
 * or a flag that means "not told". Plain memory without pointers; may be copied.
 */
#ifndef REUSE_PMU_ACCESS_RECORD_H
#define REUSE_PMU_ACCESS_RECORD_H

#include <stdint.h>

#include "access.h"
#include "access_level.h"

enum access_record_flag {
    /* which fields are there */
    PMU_HAS_IP = 1 << 0,
    PMU_HAS_ADDRESS = 1 << 1,  /* the unit vouches for `address` */
    PMU_HAS_PHYSICAL = 1 << 2, /* and for `physical`; the kernel may have cleared it to 0 */
    PMU_HAS_TIME = 1 << 3,
    PMU_HAS_THREAD = 1 << 4, /* tid, and pid unless it is 0 */
    PMU_HAS_CPU = 1 << 5,
    PMU_HAS_LATENCY = 1 << 6, /* else 0 is "not told" */

    /* how far it can be believed */
    PMU_EXACT_IP = 1 << 8, /* `ip` is the instruction that made the access; else it may be later */
    PMU_DAMAGED = 1 << 9,  /* bytes of this record were not understood: do not use it */
    PMU_AFTER_GAP = 1 << 10,   /* records were lost between the previous one and this */
    PMU_SPECULATIVE = 1 << 11, /* executed, but never retired: no access of the program */

    /* what the instruction did */
    PMU_LOCKED = 1 << 12,
    PMU_ATOMIC = 1 << 13, /* read-modify-write: a load and a store in one instruction */
    PMU_PREFETCH = 1 << 14,
    PMU_BRANCH = 1 << 15,
    PMU_VECTOR = 1 << 16,          /* SVE, SME: `width` is the whole vector's, when known */
    PMU_GATHER_SCATTER = 1 << 17,  /* `address` is one element's */
    PMU_BLOCK_OPERATION = 1 << 18, /* memory copy or set instruction */

    /* how the memory system served it */
    PMU_L1_MISSED = 1 << 20,
    PMU_L2_MISSED = 1 << 21,
    PMU_L3_MISSED = 1 << 22,
    PMU_MODIFIED_ELSEWHERE = 1 << 23, /* the line came modified from another cache (HITM) */
    PMU_FROM_OTHER_CACHE = 1 << 24,   /* another core's cache supplied it (hit, forward, peer) */
    PMU_REMOTE = 1 << 25,             /* from another NUMA node or socket */
    PMU_MISALIGNED = 1 << 26,
    PMU_UNCACHEABLE = 1 << 27,
    PMU_WRITE_COMBINING = 1 << 28,
    PMU_STORE_FORWARD_BLOCKED = 1 << 29, /* waited for an older store */
};

enum access_privilege { PRIVILEGE_UNKNOWN, PRIVILEGE_USER, PRIVILEGE_KERNEL, PRIVILEGE_HYPERVISOR };

struct access_record {
    uint64_t ip;
    uint64_t address; /* virtual; first byte touched, of an element for a gather */
    uint64_t physical;
    uint64_t time;   /* perf clock in ns; ticks of the system counter from SPE */
    uint64_t period; /* events between this sample and the one before; 0 not told */
    uint32_t flags;  /* enum access_record_flag */
    uint32_t pid, tid, cpu;
    /* Cycles. `latency` is from issue to data (Intel: load to use; AMD: data cache miss to refill;
     * Arm: dispatch to completion). The others 0 when not told. */
    uint32_t latency;
    uint16_t latency_instruction; /* Intel: whole instruction; AMD: tag to retirement */
    uint16_t latency_retire;      /* completion to retirement */
    uint16_t latency_issue;       /* Arm: dispatch to issue */
    uint16_t latency_translation; /* address translation */
    uint8_t kinds;                /* ACCESS_LOAD | ACCESS_STORE; 0: no memory access, or not told */
    uint8_t width;                /* bytes; 0 not told */
    uint8_t level;                /* enum access_level */
    uint8_t translation;          /* enum access_translation */
    uint8_t privilege;            /* enum access_privilege */
    uint8_t hops;                 /* data_source.h: distance of the supplier; 0 not told */
};

/* What of enum access_record_flag a level says besides: the caches that were missed on the way to
 * it, and whose it was. */
extern const uint32_t access_level_implies[LEVEL_COUNT];

/* Words of a report's tables and of tests. */
const char *access_level_name(enum access_level);
const char *access_translation_name(enum access_translation);

#endif

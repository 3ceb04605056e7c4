/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * perf_mem_data_src: the kernel's word on where the data of a sampled access came from, in
 * PERF_SAMPLE_DATA_SRC. Taken apart by shifts, not by the bit fields of a header, which newer
 * kernels extend (hops in 5.16, region in 7.x).
 *
 * Layout from the low bit: op 5, level 14, snoop 5, lock 2, tlb 7, level number 4, remote 1,
 * extended snoop 2, blocked 3, hops 3, region 5, reserved 13. Source: the kernel's
 * include/uapi/linux/perf_event.h.
 *
 * Pure; signal-safe; any value is accepted.
 */
#ifndef REUSE_PMU_DATA_SOURCE_H
#define REUSE_PMU_DATA_SOURCE_H

#include <stdint.h>

#include "pmu/access_record.h"

/* Bits of `operation`. */
enum { MEM_OP_NA = 1, MEM_OP_LOAD = 2, MEM_OP_STORE = 4, MEM_OP_PREFETCH = 8, MEM_OP_EXECUTE = 16 };

/* Bits of `level`: the older of the two descriptions; kernels fill one of them or both. */
enum {
    MEM_LEVEL_NA = 0x1,
    MEM_LEVEL_HIT = 0x2,
    MEM_LEVEL_MISS = 0x4,
    MEM_LEVEL_L1 = 0x8,
    MEM_LEVEL_LFB = 0x10,
    MEM_LEVEL_L2 = 0x20,
    MEM_LEVEL_L3 = 0x40,
    MEM_LEVEL_LOCAL_RAM = 0x80,
    MEM_LEVEL_REMOTE_RAM_1 = 0x100,
    MEM_LEVEL_REMOTE_RAM_2 = 0x200,
    MEM_LEVEL_REMOTE_CACHE_1 = 0x400,
    MEM_LEVEL_REMOTE_CACHE_2 = 0x800,
    MEM_LEVEL_IO = 0x1000,
    MEM_LEVEL_UNCACHED = 0x2000,
};

/* Values of `level_number`. 0 is what kernels before 4.14 leave there, although it is L1's
 * neighbour. */
enum {
    MEM_NUMBER_NONE = 0,
    MEM_NUMBER_L1 = 1,
    MEM_NUMBER_L2 = 2,
    MEM_NUMBER_L3 = 3,
    MEM_NUMBER_L4 = 4,
    MEM_NUMBER_L2_MHB = 5,
    MEM_NUMBER_MEMORY_SIDE = 6,
    MEM_NUMBER_L0 = 7,
    MEM_NUMBER_UNCACHED = 8,
    MEM_NUMBER_CXL = 9,
    MEM_NUMBER_IO = 10,
    MEM_NUMBER_ANY_CACHE = 11,
    MEM_NUMBER_LFB = 12,
    MEM_NUMBER_RAM = 13,
    MEM_NUMBER_PERSISTENT = 14,
    MEM_NUMBER_NA = 15,
};

/* Bits of the smaller fields. */
enum {
    MEM_SNOOP_NA = 1,
    MEM_SNOOP_NONE = 2,
    MEM_SNOOP_HIT = 4,
    MEM_SNOOP_MISS = 8,
    MEM_SNOOP_HITM = 16,
    MEM_SNOOPX_FORWARD = 1,
    MEM_SNOOPX_PEER = 2,
    MEM_LOCK_NA = 1,
    MEM_LOCK_LOCKED = 2,
    MEM_TLB_NA = 1,
    MEM_TLB_HIT = 2,
    MEM_TLB_MISS = 4,
    MEM_TLB_L1 = 8,
    MEM_TLB_L2 = 16,
    MEM_TLB_WALKER = 32,
    MEM_TLB_OS = 64,
    MEM_BLOCK_NA = 1,
    MEM_BLOCK_DATA = 2,
    MEM_BLOCK_ADDRESS = 4,
    /* hops, a number */
    MEM_HOPS_SAME_NODE = 1,   /* another core */
    MEM_HOPS_SAME_SOCKET = 2, /* another node */
    MEM_HOPS_SAME_BOARD = 3,  /* another socket */
    MEM_HOPS_OTHER_BOARD = 4,
};

struct data_source {
    uint8_t operation;
    uint16_t level;
    uint8_t snoop;
    uint8_t lock;
    uint8_t tlb;
    uint8_t level_number;
    uint8_t remote; /* 0 or 1 */
    uint8_t snoop_extended;
    uint8_t blocked;
    uint8_t hops;
    uint8_t region;
    uint16_t reserved; /* bits that no kernel known to us sets */
};

/* The same bits apart and together again: each undoes the other. */
void data_source_unpack(uint64_t value, struct data_source *);
uint64_t data_source_pack(const struct data_source *);

/* Adds what the value tells to a record: kinds, level, translation, hops and flags; the rest of the
 * record is left as it is. */
void data_source_to_record(uint64_t value, struct access_record *);

/*
 * A value that tells what the record tells about kinds, level, translation, lock and snoop, in the
 * way that a current kernel writes it. data_source_to_record() of the result gives these back.
 */
uint64_t data_source_from_record(const struct access_record *);

#endif

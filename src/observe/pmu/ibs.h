/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * AMD's instruction-based sampling: the registers of one sampled operation, as the kernel hands
 * them out in PERF_SAMPLE_RAW of an ibs_op event.
 *
 * Payload: u32 capabilities (CPUID 8000_001B EAX), then 64-bit registers at byte 4, unaligned:
 * OP_CTL, OP_RIP, OP_DATA, OP_DATA2, OP_DATA3, DC_LIN_AD, DC_PHYS_AD, and where the capabilities
 * say so BR_TARGET and OP_DATA4. Sources: AMD's Processor Programming References; the kernel's
 * arch/x86/include/asm/amd/ibs.h and arch/x86/events/amd/ibs.c.
 *
 * Pure; signal-safe; any bytes are survived.
 */
#ifndef REUSE_PMU_IBS_H
#define REUSE_PMU_IBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pmu/access_record.h"

enum ibs_capability {
    IBS_AVAILABLE = 1 << 0,
    IBS_FETCH_SAMPLING = 1 << 1,
    IBS_OP_SAMPLING = 1 << 2,
    IBS_READ_WRITE_COUNT = 1 << 3,
    IBS_OP_COUNT = 1 << 4, /* can count operations, not only cycles */
    IBS_BRANCH_TARGET = 1 << 5,
    IBS_OP_COUNT_EXTENDED = 1 << 6,
    IBS_RIP_INVALID = 1 << 7, /* tells when OP_RIP is not valid */
    IBS_FUSED_BRANCH = 1 << 8,
    IBS_FETCH_CONTROL_EXTENDED = 1 << 9,
    IBS_OP_DATA4 = 1 << 10,
    IBS_ZEN4 = 1 << 11, /* longer data source, L3-miss filter */
    IBS_LOAD_LATENCY_FILTER = 1 << 12,
    IBS_DISABLE = 1 << 13,
    IBS_FETCH_LATENCY = 1 << 14,
    IBS_BIT63_FILTER = 1 << 15, /* filters by privilege in hardware */
    IBS_STREAMING_REMOTE_SOCKET = 1 << 16,
    IBS_TLB_PAGE_SIZE = 1 << 19, /* page size in place of the TLB hit bits */
};

enum { IBS_RAW_LARGEST = 4 + 9 * 8 };

/* As the hardware wrote them. */
struct ibs_registers {
    uint32_t capabilities;
    uint64_t control, rip, data, data2, data3, linear, physical, target, data4;
};

/* False when the payload is too short for its capabilities. Longer ones are accepted: the kernel
 * pads, and newer processors may append. */
bool ibs_decode(const uint8_t *payload, size_t size, struct ibs_registers *);

/* Bytes of the payload that these capabilities make: 60, 68 or 76. */
size_t ibs_payload_size(uint32_t capabilities);

/* The fields of the registers, one name each, in the words of AMD's manuals. */
struct ibs_op {
    /* OP_CTL */
    uint32_t period;        /* cycles or operations */
    uint32_t current_count; /* CurCnt: 27 bits */
    bool l3_miss_only, enabled, valid, counts_operations;
    uint32_t latency_threshold; /* cycles; 0: no filter */
    /* OP_DATA */
    uint16_t completion_to_return, tag_to_return;
    bool return_op, taken, mispredicted, branch_retired, rip_invalid, branch_fused, microcode;
    /* OP_DATA2 */
    uint8_t data_source;  /* DataSrc: numbering of the processor's generation */
    bool remote_node;     /* RmtNode */
    bool cache_hit_owned; /* CacheHitSt: 1 owned, 0 modified */
    bool streaming_store, remote_socket;
    /* OP_DATA3 */
    bool load, store;
    bool l1_tlb_miss, l2_tlb_miss;
    bool l1_tlb_hit_2m, l1_tlb_hit_1g, l2_tlb_hit_2m, l2_tlb_hit_1g;
    uint32_t page_size; /* bytes, where IBS_TLB_PAGE_SIZE tells it; else 0 */
    bool cache_miss;    /* DcMiss */
    bool misaligned, write_combining, uncacheable, locked;
    bool miss_no_mab; /* DcMissNoMabAlloc */
    bool linear_valid, physical_valid;
    bool l2_miss, software_prefetch;
    uint8_t width;         /* bytes; 0 not told */
    uint8_t open_requests; /* OpDcMissOpenMemReqs */
    uint16_t miss_latency; /* DcMissLat, cycles */
    uint16_t tlb_refill_latency;
};

void ibs_fields(const struct ibs_registers *, struct ibs_op *);

/* The inverse of ibs_fields() for what both hold; `registers` keeps its capabilities and addresses
 * and gets new values of OP_CTL, OP_DATA, OP_DATA2 and OP_DATA3. */
void ibs_set_fields(const struct ibs_op *, struct ibs_registers *registers);

/* The processor that the sample was taken on, where it matters. */
struct ibs_processor {
    unsigned family, model; /* of CPUID; 0 unknown: no erratum is applied */
};

/*
 * The operation as an access. False when the sample is not to be used at all: its valid bit is
 * clear. kinds is 0 when the operation was no load and no store. Honours the valid bits of
 * addresses, erratum 1293 (family 19h up to model 0fh: DataSrc and L2Miss of prefetches and of
 * misses without a miss buffer are not to be read), and that what an uncacheable access reports is
 * not valid.
 */
bool ibs_to_record(const struct ibs_registers *, const struct ibs_processor *,
                   struct access_record *);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The packet stream of Arm's Statistical Profiling Extension, as the kernel puts it into the AUX
 * area: packets, records made of them, and records as accesses.
 *
 * A packet is a header byte (two, for some), and 1, 2, 4 or 8 bytes of payload, little-endian. A
 * record is a run of packets in any order that ends with a timestamp or an end packet. Sources: Arm
 * Architecture Reference Manual, "Statistical Profiling Extension sample record specification"; the
 * kernel's arm_spe_pmu driver; Documentation/perf-arm-spe.txt of perf.
 *
 * Pure; no allocation; signal-safe. Any byte sequence is survived: a header that is not known is
 * passed over by one byte, and the record that it was met in is marked PMU_DAMAGED.
 */
#ifndef REUSE_PMU_SPE_H
#define REUSE_PMU_SPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pmu/access_record.h"

enum spe_packet_type {
    SPE_BAD, /* not known: one byte long */
    SPE_PAD,
    SPE_END,
    SPE_TIMESTAMP,
    SPE_EVENTS,
    SPE_DATA_SOURCE,
    SPE_CONTEXT,   /* index: 0 of EL1, 1 of EL2 */
    SPE_OPERATION, /* index: enum spe_operation_class */
    SPE_ADDRESS,   /* index: enum spe_address */
    SPE_COUNTER,   /* index: enum spe_counter */
};

enum spe_address {
    SPE_PC,
    SPE_TARGET,
    SPE_VIRTUAL,
    SPE_PHYSICAL,
    SPE_PREVIOUS_TARGET,
    SPE_ADDRESSES
};

enum spe_counter { SPE_TOTAL_LATENCY, SPE_ISSUE_LATENCY, SPE_TRANSLATION_LATENCY, SPE_COUNTERS };

enum spe_operation_class { SPE_OTHER, SPE_MEMORY, SPE_BRANCH };

/* Bits of the events packet. */
enum spe_event {
    SPE_EXCEPTION = 1 << 0,
    SPE_RETIRED = 1 << 1,
    SPE_L1D_ACCESS = 1 << 2,
    SPE_L1D_REFILL = 1 << 3,
    SPE_TLB_ACCESS = 1 << 4,
    SPE_TLB_WALK = 1 << 5,
    SPE_NOT_TAKEN = 1 << 6,
    SPE_MISPREDICTED = 1 << 7,
    SPE_LLC_ACCESS = 1 << 8,
    SPE_LLC_MISS = 1 << 9,
    SPE_REMOTE = 1 << 10,
    SPE_ALIGNMENT = 1 << 11,
    SPE_LATE_PREFETCH = 1 << 12, /* Neoverse N1 */
    SPE_TRANSACTIONAL = 1 << 16,
    SPE_PARTIAL_PREDICATE = 1 << 17,
    SPE_EMPTY_PREDICATE = 1 << 18,
    SPE_L2D_ACCESS = 1 << 19,
    SPE_L2D_MISS = 1 << 20,
    SPE_MODIFIED = 1 << 21, /* from another cache, modified (HITM) */
    SPE_RECENTLY_FETCHED = 1 << 22,
    SPE_SNOOPED = 1 << 23,
    SPE_STREAMING = 1 << 24,
    SPE_COPROCESSOR = 1 << 25,
};

struct spe_packet {
    enum spe_packet_type type;
    uint8_t index;
    uint8_t length;        /* bytes, header included */
    uint8_t payload_bytes; /* 0, 1, 2, 4 or 8 */
    uint8_t header;        /* the byte that tells the type; of an extended header the second */
    uint64_t payload;
};

/* The packet that begins at `at`. False when `available` bytes end before it does. */
bool spe_packet_decode(const uint8_t *at, size_t available, struct spe_packet *);

/* The largest packet: extended header, 8 bytes of payload, or 64 of alignment padding, which is
 * passed over as if it were single bytes. */
enum { SPE_PACKET_LARGEST = 10 };

/* What of a record was there. */
enum spe_field {
    SPE_HAS_PC = 1 << 0, /* addresses and counters: bit of their index */
    SPE_HAS_TARGET = 1 << 1,
    SPE_HAS_VIRTUAL = 1 << 2,
    SPE_HAS_PHYSICAL = 1 << 3,
    SPE_HAS_PREVIOUS_TARGET = 1 << 4,
    SPE_HAS_TOTAL = 1 << 5,
    SPE_HAS_ISSUE = 1 << 6,
    SPE_HAS_TRANSLATION = 1 << 7,
    SPE_HAS_EVENTS = 1 << 8,
    SPE_HAS_OPERATION = 1 << 9,
    SPE_HAS_DATA_SOURCE = 1 << 10,
    SPE_HAS_CONTEXT_1 = 1 << 11,
    SPE_HAS_CONTEXT_2 = 1 << 12,
    SPE_HAS_TIME = 1 << 13,
    SPE_BAD_BYTES = 1 << 14, /* not understood inside this record */
    SPE_CUT = 1 << 15,       /* its beginning is missing, by spe_gap() */
    SPE_REPEATED = 1 << 16,  /* a packet came twice: the end of a record was lost */
};

/* What is not there is 0. Payloads as they came, of eight bytes each whatever the packet had: so a
 * decoder stores all kinds of packets in the same way. */
struct spe_record {
    uint64_t address[SPE_ADDRESSES]; /* with the bits above 55 as they came */
    uint64_t counter[SPE_COUNTERS];
    uint64_t events; /* enum spe_event */
    uint64_t data_source;
    uint64_t context[2];
    uint64_t time;
    uint32_t operation; /* with its class in the upper half of the same eight bytes */
    uint32_t operation_class;
    uint32_t fields; /* enum spe_field */
};

/*
 * A stream that comes in pieces. A packet or record that is cut between two pieces is put together
 * again. One per AUX buffer.
 */
struct spe_stream {
    struct spe_record record; /* under way */
    uint8_t carry[SPE_PACKET_LARGEST];
    uint8_t carried;
    const uint8_t *at, *end; /* rest of the current piece */
    uint64_t bad_bytes;      /* passed over since spe_begin() */
    uint64_t records;        /* closed since then */
};

void spe_begin(struct spe_stream *);

/* Gives the next piece, which must stay until spe_next() has returned false. What was left of the
 * piece before is forgotten. */
void spe_feed(struct spe_stream *, const uint8_t *bytes, size_t size);

/* The next closed record; false: the piece is used up, and *record is unspecified. Empty records
 * are passed over. */
bool spe_next(struct spe_stream *, struct spe_record *record);

/* Data was lost (PERF_AUX_FLAG_TRUNCATED, a gap of offsets) before the next piece: what was begun
 * is dropped, and the next record is marked SPE_CUT. */
void spe_gap(struct spe_stream *);

/*
 * An address payload as a virtual address: the tag byte, or the exception level, above bit 55
 * is replaced. Kernel addresses get their upper byte back.
 */
uint64_t spe_virtual_address(uint64_t payload);
uint64_t spe_instruction_address(uint64_t payload);

/* Exception level that an instruction address was sampled at: 0 user .. 3. */
unsigned spe_exception_level(uint64_t payload);

/* Numbering of data sources: it belongs to the core's design. */
enum spe_source_table { SPE_SOURCE_NONE, SPE_SOURCE_NEOVERSE, SPE_SOURCE_AMPERE, SPE_SOURCE_HISI };

/* The table for a MIDR_EL1 value (/sys/devices/system/cpu/cpuN/regs/identification/midr_el1);
 * SPE_SOURCE_NONE where none is known: then the events packet decides. */
enum spe_source_table spe_source_table_for(uint64_t midr);

/* The record as an access. kinds is 0 when the operation was no load and no store. */
void spe_to_record(const struct spe_record *, enum spe_source_table, struct access_record *);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What addresses are made of: for every register, which instruction loaded the value that its own
 * was computed from. An access whose address was loaded waits for that load; and an instruction
 * that leads back to itself in this way goes from node to node (estimate side:
 * postproc/report/findings/address_evidence.h).
 *
 * What a register gets from a comparison (a conditional move) is not followed. A word that was
 * stored hands on what the stored register was made of, so that spilled registers are followed. A
 * word that stays where it is and that nobody stores to is a constant (the base of an array, kept
 * in memory): it makes nothing.
 *
 * Pure; no allocation; signal-safe. 14 KiB.
 */
#ifndef REUSE_ISA_PROVENANCE_H
#define REUSE_ISA_PROVENANCE_H

#include <stdint.h>

#include "isa/pipeline.h"

enum { PROVENANCE_WORDS = 256, PROVENANCE_INSTRUCTIONS = 256 };

/* An instruction that loaded, when (in loads); none: nobody. */
struct provenance_maker {
    uint64_t ip;
    uint32_t when;
};

/* What the addresses of an instruction's accesses were made of. */
struct address_source {
    uint64_t ip;
    uint64_t address;   /* the last one */
    uint64_t loaded_by; /* instruction that loaded what most of them were made of */
    uint32_t traced;    /* accesses that were looked at */
    uint32_t loaded;    /* of these, made of a loaded value */
    uint32_t votes;     /* for loaded_by, less those against it (Boyer and Moore, 1981) */
};

struct provenance {
    uint32_t loads;
    struct provenance_maker makers[PIPELINE_REGISTERS];
    /* Of the words that were stored to last, by hash. */
    struct {
        uint64_t word; /* 1 + its number */
        struct provenance_maker maker;
    } stored[PROVENANCE_WORDS];
    struct address_source sources[PROVENANCE_INSTRUCTIONS]; /* by hash; ip 0: free */
};

/* Nothing is known of any register. */
void provenance_begin(struct provenance *);

/* Registers: a bit each. `address` is made of `base`; of a load, `writes` get what it loads. */
void provenance_compute(struct provenance *, uint64_t reads, uint64_t writes);
void provenance_load(struct provenance *, uint64_t ip, uint64_t base, uint64_t writes,
                     uint64_t address);
void provenance_store(struct provenance *, uint64_t ip, uint64_t base, uint64_t data,
                      uint64_t address);

/* NULL: it made no access, or others were in its place. */
const struct address_source *provenance_of(const struct provenance *, uint64_t ip);

#endif

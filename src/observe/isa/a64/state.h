/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interpreter's state, shared by the files of this folder only (through isa/state.h).
 *
 * Poison: bits 0..31 of poison say that x0..x30, sp are unknown, bits 32..63 v0..v31; unknown bytes
 * of memory are in the store buffer. The flags are known or unknown all together.
 */
#ifndef REUSE_ISA_A64_STATE_H
#define REUSE_ISA_A64_STATE_H

#include "isa/a64/operation.h"
#include "isa/guarded_memory.h"
#include "isa/store_buffer.h"

/* Decoded words that are kept, a power of two: those of the largest loops and what they call. */
enum { DECODED_MAX = 2048 };

/* Condition flags as a number of four bits, and where these are in nzcv and in pstate. */
enum { FLAG_V = 1, FLAG_C = 2, FLAG_Z = 4, FLAG_N = 8, NZCV_SHIFT = 28 };

enum { PREDICATES = 16, PREDICATE_FFR = 16 };

struct a64_flags {
    uint32_t nzcv;
    bool unknown;
    bool from_result; /* set from an integer result, which is: */
    int64_t result;
};

struct interpreter {
    uint64_t r[REGISTER_SLOTS];
    uint64_t poison;
    uint64_t ip;
    uint64_t instructions;
    uint64_t accesses;
    struct a64_flags flags;
    uint64_t thread_pointer;
    uint64_t fpcr;
    bool fpcr_unknown;
    /* The exclusive load whose store has not come yet; width 0: none since the beginning. */
    struct {
        uint64_t address;
        unsigned width;
    } monitor;
    /* Scalable vectors: bytes of a register, 0 if unknown or not modelled; predicates with a bit
     * for each byte, and which are unknown. */
    unsigned vector_length;
    uint32_t predicate_poison;
    uint64_t predicate[PREDICATES + 1];
    struct interpreter_options options;
    uint8_t vector[32][VECTOR_BYTES] __attribute__((aligned(64)));
    struct store_buffer store;
    struct a64_operation decoded[DECODED_MAX];
};

/* One instruction on its way, for what is done out of the hot loop. */
struct a64_step {
    uint64_t ip;
    uint64_t address; /* of the memory operand, without a tag */
    uint64_t poison;
    uint64_t fresh; /* registers that become unknown */
    struct access *out;
};

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The decoder's files among themselves. Names of fields and classes are those of the Arm
 * Architecture Reference Manual, section C4 (A64 instruction set encoding). Pure.
 */
#ifndef REUSE_ISA_A64_DECODE_H
#define REUSE_ISA_A64_DECODE_H

#include "access.h"
#include "isa/a64/operation.h"
#include "isa/a64/registers.h"

static inline unsigned field(uint32_t word, unsigned lowest, unsigned bits)
{
    return word >> lowest & ((UINT32_C(1) << bits) - 1);
}

static inline bool bit(uint32_t word, unsigned position)
{
    return word >> position & 1;
}

static inline int64_t signed_field(uint32_t word, unsigned lowest, unsigned bits)
{
    return (int64_t)((uint64_t)field(word, lowest, bits) << (64 - bits)) >> (64 - bits);
}

/* Rd at 0, Rn at 5, Ra at 10, Rm at 16. */
static inline unsigned register_at(uint32_t word, unsigned lowest)
{
    return field(word, lowest, 5);
}

/* Where 31 is zero, as an operand and as a result; elsewhere it is the stack pointer. */
static inline unsigned or_zero(unsigned r)
{
    return r == 31 ? REGISTER_ZERO : r;
}

static inline unsigned or_sink(unsigned r)
{
    return r == 31 ? REGISTER_SINK : r;
}

/* One class each; op is A64_UNKNOWN with its word when they are called, and stays so if they do not
 * know it. */
void a64_decode_immediate(struct a64_operation *);
void a64_decode_register(struct a64_operation *);
void a64_decode_control(struct a64_operation *);
void a64_decode_memory(struct a64_operation *);
void a64_decode_vector(struct a64_operation *);
void a64_decode_scalable(struct a64_operation *);

/* The pattern of bits of a logical immediate; false if the encoding is reserved. */
bool a64_logical_immediate(unsigned n, unsigned immr, unsigned imms, bool wide, uint64_t *pattern);

#endif

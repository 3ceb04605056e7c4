/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rarer integer operations, out of the hot loop. Each works on the interpreter's registers and
 * flags, keeps track of poison itself, and is async-signal-safe.
 */
#ifndef REUSE_ISA_X86_INTEGER_H
#define REUSE_ISA_X86_INTEGER_H

#include "isa/state.h"

void x86_rotate_carry(struct interpreter *, const struct micro_op *);
void x86_double_shift(struct interpreter *, const struct micro_op *);
void x86_bit_scan(struct interpreter *, const struct micro_op *);
void x86_multiply_wide(struct interpreter *, const struct micro_op *);
/* False if the division would raise an exception. */
bool x86_divide(struct interpreter *, const struct micro_op *);
void x86_sign_to_rdx(struct interpreter *, const struct micro_op *);
void x86_compare_exchange(struct interpreter *, const struct micro_op *);
/* old: the operand's 8 or 16 bytes, replaced by what is to be stored. Returns whether that is
 * unknown. */
bool x86_compare_exchange_wide(struct interpreter *, const struct micro_op *, uint64_t old[2],
                               bool old_known);

/* Value of the low width bytes of register r. */
static inline uint64_t register_value(const struct interpreter *it, unsigned r, unsigned width)
{
    return it->r[r] & (~UINT64_C(0) >> (64 - 8 * width));
}

/* Writes the low width bytes of register r as x86 does: 4 bytes clear the upper half. */
static inline void register_write(struct interpreter *it, unsigned r, unsigned width,
                                  uint64_t value)
{
    uint64_t mask = ~UINT64_C(0) >> (64 - 8 * width);
    it->r[r] = width >= 4 ? value & mask : (it->r[r] & ~mask) | (value & mask);
}

/* value, width bytes wide, sign-extended. */
static inline uint64_t sign_extend(uint64_t value, unsigned width)
{
    unsigned shift = 64 - 8 * width;
    return (uint64_t)((int64_t)(value << shift) >> shift);
}

#endif

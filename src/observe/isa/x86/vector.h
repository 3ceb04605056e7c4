/* SPDX-License-Identifier: BSD-3-Clause */
/* Vector registers, the scratch area and MXCSR. Async-signal-safe. */
#ifndef REUSE_ISA_X86_VECTOR_H
#define REUSE_ISA_X86_VECTOR_H

#include "isa/state.h"

/* Bytes of vector register r (REGISTER_VECTOR + n), or of the scratch area. */
static inline uint8_t *vector_bytes(struct interpreter *it, unsigned r)
{
    return r < REGISTER_VECTOR ? it->scratch : it->vector[r - REGISTER_VECTOR];
}

/* d's low op->width bytes = bytes; zeroes from there up to op->immediate. */
void x86_vector_set(struct interpreter *, const struct micro_op *, const uint8_t *bytes);

/* The same with memory at address; d is unchanged after a fault. */
enum memory_outcome x86_vector_load(struct interpreter *, const struct micro_op *,
                                    uint64_t address);

void x86_zero_upper(struct interpreter *, const struct micro_op *);
void x86_load_mxcsr(struct interpreter *, const struct micro_op *);
void x86_store_mxcsr(struct interpreter *, const struct micro_op *);
void x86_poison(struct interpreter *, const struct micro_op *);

/*
 * While the interpreter runs, the processor's MXCSR is the target's with all exceptions masked, so
 * that stubs round and flush as the target does and leave its sticky bits.
 */
uint32_t x86_enter_mxcsr(struct interpreter *);
void x86_leave_mxcsr(struct interpreter *, uint32_t saved);

#endif

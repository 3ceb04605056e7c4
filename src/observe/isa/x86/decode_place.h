/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What integer instructions read and write: general registers, their high bytes, memory and
 * immediates, all in the same way (shared by the decoder's files only). Async-signal-safe.
 */
#ifndef REUSE_ISA_X86_DECODE_PLACE_H
#define REUSE_ISA_X86_DECODE_PLACE_H

#include "isa/x86/decode.h"

/* A place that an instruction reads, writes or both. */
struct place {
    const ZydisDecodedOperand *operand; /* of the instruction, which must outlive the place */
    struct location location;           /* of a memory operand */
    unsigned width;                     /* bytes: 1, 2, 4, 8 */
};

/* May emit the computation of its address. */
struct place place_of(struct emitter *, const ZydisDecodedOperand *);

/*
 * Register that holds the value of place: itself, REGISTER_OPERAND if loaded from memory, or
 * temporary for an immediate or a high byte. Bits above the width are arbitrary.
 */
unsigned read_place(struct emitter *, const struct place *, unsigned temporary,
                    bool read_modify_write);

/* Stores the low bytes of a register there, which may be the place itself. Not of immediates. */
void write_place(struct emitter *, const struct place *, unsigned value, bool read_modify_write);

/* Whether an operand is such a place; others, as segments are, belong to other decoders. */
bool is_integer_place(const ZydisDecodedOperand *);
bool is_memory_operand(const ZydisDecodedOperand *);

/* An immediate as the instruction uses it: 32-bit immediates of 64-bit operations are signed. */
int64_t immediate_of(const struct emitter *, const ZydisDecodedOperand *);

#endif

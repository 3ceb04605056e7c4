/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decoding of x86-64 code into blocks of micro-operations (shared by the decoder's files only).
 * Async-signal-safe; Zydis allocates nothing.
 */
#ifndef REUSE_ISA_X86_DECODE_H
#define REUSE_ISA_X86_DECODE_H

#include <Zydis/Zydis.h>
/* Zydis brings in assert.h, whose macro code for signal handlers does not want. */
#undef assert
#include <stdbool.h>
#include <stddef.h>

#include "access.h"
#include "isa/x86/micro_op.h"

/* A memory operand's address: base + (index << scale) + displacement. */
struct location {
    uint8_t base, index, scale;
    int64_t displacement;
};

/* What is being built: a block, and in it the instruction at ip. */
struct emitter {
    struct block *block;
    const ZydisDecodedInstruction *instruction;
    const ZydisDecodedOperand *operands; /* instruction->operand_count of them */
    uint64_t ip;
    uint64_t next_ip;
    unsigned accesses;   /* of this instruction so far */
    bool ended;          /* the block ends with this instruction */
    unsigned generation; /* of the decode cache, for stubs */
};

/*
 * Decodes up to available bytes (at least the first instruction, if readable) of code at ip into
 * block, whose ops (BLOCK_OPS_MAX + 1) and code (BLOCK_CODE_MAX) point to room. The block always
 * ends with an operation that leaves it. generation: of the decode cache, to build stubs in.
 */
void x86_decode_block(struct block *block, uint64_t ip, const uint8_t *code, size_t available,
                      unsigned generation);

/* One instruction; each returns false if the instruction is not its business (nothing emitted). */
bool x86_decode_integer(struct emitter *);
bool x86_decode_stack(struct emitter *);
bool x86_decode_exchange(struct emitter *);
bool x86_decode_bits(struct emitter *);
bool x86_decode_special(struct emitter *);
bool x86_decode_control(struct emitter *);
bool x86_decode_vector(struct emitter *);
/* Runs on the real processor, on copied registers. Also false if the processor lacks it. */
bool x86_decode_stub(struct emitter *);
bool x86_decode_gather(struct emitter *);
/* Reports its accesses and poisons what it writes; the last resort. */
void x86_decode_unmodelled(struct emitter *);

/* How a mask selects elements of a memory operand; false if none does. */
struct mask_layout;
bool mask_layout_of(const struct emitter *, const ZydisDecodedOperand *memory,
                    struct mask_layout *);

/* Appends a micro-operation with no operands. */
struct micro_op *emit(struct emitter *, unsigned code);
struct micro_op *emit_registers(struct emitter *, unsigned code, unsigned d, unsigned s);
/* d = immediate. */
void emit_immediate(struct emitter *, unsigned d, int64_t immediate);
/* A micro-operation that makes an access at location. */
struct micro_op *emit_access(struct emitter *, unsigned code, const struct location *,
                             unsigned width, enum access_kind, bool read_modify_write);
void emit_load(struct emitter *, unsigned d, const struct location *, unsigned width,
               bool read_modify_write);
void emit_store(struct emitter *, unsigned s, const struct location *, unsigned width,
                bool read_modify_write);
/* Ends the block: stops there, before the instruction. */
void emit_stop(struct emitter *, unsigned why);

/* Address of a memory operand; may emit its computation. */
struct location locate(struct emitter *, const ZydisDecodedOperand *);

/* 0..15, or REGISTER_ZERO if reg is not a general register. Instruction pointers are not. */
unsigned general_register(ZydisRegister reg);
bool is_general(const ZydisDecodedOperand *);
bool is_high_byte(const ZydisDecodedOperand *);
/* 0..31 for xmm, ymm and zmm, -1 otherwise. */
int vector_register(ZydisRegister reg);
bool is_memory(const ZydisDecodedOperand *);

/* Poison bit of any register that is tracked, else 0. */
uint64_t register_bit(ZydisRegister reg);

static inline unsigned width_of(const ZydisDecodedOperand *operand)
{
    return operand->size / 8u;
}

/* Index of widths 1, 2, 4, 8: 0..3. */
static inline unsigned width_index(unsigned width)
{
    return (unsigned)__builtin_ctz(width);
}

#endif

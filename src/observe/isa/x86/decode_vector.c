/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decoding of vector moves and of what clears registers, which need no stub. Signal-safe.
 */
#include "isa/x86/decode.h"

#include "signal_safe.h"

static bool is_vex(const struct emitter *e)
{
    return e->instruction->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY;
}

static bool is_masked(const struct emitter *e)
{
    return e->instruction->avx.mask.reg != ZYDIS_REGISTER_NONE &&
           e->instruction->avx.mask.reg != ZYDIS_REGISTER_K0;
}

static bool is_vector(const ZydisDecodedOperand *operand)
{
    return operand->type == ZYDIS_OPERAND_TYPE_REGISTER && vector_register(operand->reg.value) >= 0;
}

static unsigned vector_of(const ZydisDecodedOperand *operand)
{
    return REGISTER_VECTOR + (unsigned)vector_register(operand->reg.value);
}

/* Bytes of the register named, whatever part the instruction uses. */
static unsigned register_bytes(const ZydisDecodedOperand *operand)
{
    switch (ZydisRegisterGetClass(operand->reg.value)) {
    case ZYDIS_REGCLASS_ZMM:
        return 64;
    case ZYDIS_REGCLASS_YMM:
        return 32;
    default:
        return 16;
    }
}

/* A word: zeroes the rest of 16 bytes and, with VEX, of the register. */
static bool load(struct emitter *e, const ZydisDecodedOperand *from, unsigned width)
{
    struct location location = locate(e, from);
    struct micro_op *op = emit_access(e, OP_VECTOR_LOAD, &location, width, ACCESS_LOAD, false);
    op->d = (uint8_t)vector_of(&e->operands[0]);
    op->immediate = is_vex(e) ? VECTOR_BYTES : 16;
    return true;
}

static bool store(struct emitter *e, const ZydisDecodedOperand *from, unsigned width,
                  unsigned offset)
{
    struct location location = locate(e, &e->operands[0]);
    struct micro_op *op = emit_access(e, OP_VECTOR_STORE, &location, width, ACCESS_STORE, false);
    op->s = (uint8_t)vector_of(from);
    op->immediate = offset;
    return true;
}

/* The source: with EVEX a mask stands between it and the destination. */
static const ZydisDecodedOperand *source_of(const struct emitter *e)
{
    return &e->operands[e->instruction->operand_count_visible - 1];
}

/* Whole registers: movaps and its kin. */
static bool decode_whole(struct emitter *e)
{
    const ZydisDecodedOperand *to = &e->operands[0];
    const ZydisDecodedOperand *from = source_of(e);
    if (is_masked(e))
        return false;
    if (is_vector(to) && is_memory(from)) {
        struct location location = locate(e, from);
        struct micro_op *op =
            emit_access(e, OP_VECTOR_LOAD, &location, width_of(from), ACCESS_LOAD, false);
        op->d = (uint8_t)vector_of(to);
        op->immediate = is_vex(e) ? VECTOR_BYTES : 0;
        return true;
    }
    if (is_memory(to) && is_vector(from)) {
        struct location location = locate(e, to);
        emit_access(e, OP_VECTOR_STORE, &location, width_of(to), ACCESS_STORE, false)->s =
            (uint8_t)vector_of(from);
        return true;
    }
    if (!is_vector(to) || !is_vector(from))
        return false; /* MMX */
    struct micro_op *op = emit_registers(e, OP_VECTOR_MOVE, vector_of(to), vector_of(from));
    op->width = (uint8_t)register_bytes(to);
    op->immediate = is_vex(e) ? VECTOR_BYTES : 0;
    return true;
}

/* movss, movsd (SSE2): between registers they merge, which a stub does. The string instruction
 * movsd has the same name, and no operand that is seen. */
static bool decode_scalar(struct emitter *e)
{
    if (e->instruction->operand_count_visible < 2 || is_masked(e))
        return false;
    const ZydisDecodedOperand *from = source_of(e);
    unsigned width = e->instruction->mnemonic == ZYDIS_MNEMONIC_MOVSS ||
                             e->instruction->mnemonic == ZYDIS_MNEMONIC_VMOVSS
                         ? 4
                         : 8;
    if (is_memory(from))
        return load(e, from, width);
    return is_memory(&e->operands[0]) && store(e, from, width, 0);
}

/* movd, movq in all directions. */
static bool decode_word(struct emitter *e)
{
    const ZydisDecodedOperand *to = &e->operands[0], *from = &e->operands[1];
    unsigned width = e->instruction->mnemonic == ZYDIS_MNEMONIC_MOVD ||
                             e->instruction->mnemonic == ZYDIS_MNEMONIC_VMOVD
                         ? 4
                         : 8;
    struct micro_op *op;
    if (is_vector(to) && is_memory(from))
        return load(e, from, width);
    if (is_memory(to) && is_vector(from))
        return store(e, from, width, 0);
    if (is_vector(to) && is_general(from)) {
        op = emit_registers(e, OP_GENERAL_TO_VECTOR, vector_of(to),
                            general_register(from->reg.value));
    } else if (is_general(to) && is_vector(from)) {
        op = emit_registers(e, OP_VECTOR_TO_GENERAL, general_register(to->reg.value),
                            vector_of(from));
    } else {
        return false; /* MMX, and the rare movq xmm, xmm */
    }
    op->width = (uint8_t)width;
    op->immediate = is_vex(e) ? VECTOR_BYTES : 0;
    return true;
}

/* Halves: only the stores need no stub. */
static bool decode_half_store(struct emitter *e, unsigned offset)
{
    const ZydisDecodedOperand *from = source_of(e);
    return is_memory(&e->operands[0]) && is_vector(from) && store(e, from, 8, offset);
}

/* pxor x, x and its kin clear the register, poison included. */
static bool decode_clear(struct emitter *e)
{
    unsigned last = e->instruction->operand_count_visible - 1u;
    const ZydisDecodedOperand *to = &e->operands[0];
    if (is_masked(e) || !is_vector(to) || !is_vector(&e->operands[last]) ||
        e->operands[last].reg.value != e->operands[last - 1].reg.value)
        return false;
    struct micro_op *op = emit_registers(e, OP_VECTOR_CLEAR, vector_of(to), REGISTER_ZERO);
    op->width = (uint8_t)register_bytes(to);
    op->immediate = is_vex(e) ? VECTOR_BYTES : 0;
    return true;
}

static bool decode_mxcsr(struct emitter *e, bool loads)
{
    struct location location = locate(e, &e->operands[0]);
    if (loads) {
        emit_load(e, REGISTER_OPERAND, &location, 4, false);
        emit_registers(e, OP_LOAD_MXCSR, REGISTER_ZERO, REGISTER_OPERAND);
    } else {
        emit_registers(e, OP_STORE_MXCSR, REGISTER_OPERAND, REGISTER_ZERO);
        emit_store(e, REGISTER_OPERAND, &location, 4, false);
    }
    return true;
}

static bool decode_x87_control(struct emitter *e, bool loads)
{
    struct location location = locate(e, &e->operands[0]);
    if (loads) {
        emit_load(e, REGISTER_OPERAND, &location, 2, false);
        emit_registers(e, OP_X87_LOAD_CONTROL, REGISTER_ZERO, REGISTER_OPERAND);
    } else {
        emit_registers(e, OP_X87_STORE_CONTROL, REGISTER_OPERAND, REGISTER_ZERO);
        emit_store(e, REGISTER_OPERAND, &location, 2, false);
    }
    return true;
}

static bool decode_save(struct emitter *e, bool saves, bool compacted)
{
    struct location location = locate(e, &e->operands[0]);
    emit_access(e, saves ? OP_SAVE_STATE : OP_RESTORE_STATE, &location, 64,
                saves ? ACCESS_STORE : ACCESS_LOAD, false)
        ->s = compacted;
    /* As many as there may be: it gets a block of its own. */
    e->accesses = BLOCK_ACCESSES_MAX;
    if (saves)
        e->block->store_lines += BLOCK_ACCESSES_MAX + 1;
    return true;
}

bool x86_decode_vector(struct emitter *e)
{
    switch (e->instruction->mnemonic) {
#define BOTH(name)                                                                                 \
    case ZYDIS_MNEMONIC_##name:                                                                    \
    case ZYDIS_MNEMONIC_V##name:
        BOTH(MOVAPS)
        BOTH(MOVUPS)
        BOTH(MOVAPD)
        BOTH(MOVUPD)
        BOTH(MOVDQA)
        BOTH(MOVDQU)
        BOTH(LDDQU)
        BOTH(MOVNTDQA)
        BOTH(MOVNTDQ)
        BOTH(MOVNTPS)
        BOTH(MOVNTPD)
    case ZYDIS_MNEMONIC_VMOVDQA32:
    case ZYDIS_MNEMONIC_VMOVDQA64:
    case ZYDIS_MNEMONIC_VMOVDQU8:
    case ZYDIS_MNEMONIC_VMOVDQU16:
    case ZYDIS_MNEMONIC_VMOVDQU32:
    case ZYDIS_MNEMONIC_VMOVDQU64:
        return decode_whole(e);
        BOTH(MOVSS)
        BOTH(MOVSD)
        return decode_scalar(e);
        BOTH(MOVD)
        BOTH(MOVQ)
        return decode_word(e);
        BOTH(MOVLPS)
        BOTH(MOVLPD)
        return decode_half_store(e, 0);
        BOTH(MOVHPS)
        BOTH(MOVHPD)
        return decode_half_store(e, 8);
        BOTH(PXOR)
        BOTH(XORPS)
        BOTH(XORPD)
        BOTH(PSUBB)
        BOTH(PSUBW)
        BOTH(PSUBD)
        BOTH(PSUBQ)
        BOTH(PCMPGTB)
        BOTH(PCMPGTW)
        BOTH(PCMPGTD)
    case ZYDIS_MNEMONIC_VPXORD:
    case ZYDIS_MNEMONIC_VPXORQ:
        return decode_clear(e);
#undef BOTH
    case ZYDIS_MNEMONIC_LDMXCSR:
    case ZYDIS_MNEMONIC_VLDMXCSR:
        return decode_mxcsr(e, true);
    case ZYDIS_MNEMONIC_STMXCSR:
    case ZYDIS_MNEMONIC_VSTMXCSR:
        return decode_mxcsr(e, false);
    case ZYDIS_MNEMONIC_XSAVE:
    case ZYDIS_MNEMONIC_XSAVE64:
    case ZYDIS_MNEMONIC_XSAVEOPT:
    case ZYDIS_MNEMONIC_XSAVEOPT64:
        return decode_save(e, true, false);
    case ZYDIS_MNEMONIC_XSAVEC:
    case ZYDIS_MNEMONIC_XSAVEC64:
        return decode_save(e, true, true);
    case ZYDIS_MNEMONIC_XRSTOR:
    case ZYDIS_MNEMONIC_XRSTOR64:
        /* Which format the area has, its header tells; glibc's is the compacted one where the
         * processor has it. */
        return decode_save(e, false, true);
    case ZYDIS_MNEMONIC_FLDCW:
        return decode_x87_control(e, true);
    case ZYDIS_MNEMONIC_FNSTCW:
        return decode_x87_control(e, false);
    case ZYDIS_MNEMONIC_VZEROUPPER:
    case ZYDIS_MNEMONIC_VZEROALL:
        emit(e, OP_ZERO_UPPER)->scale = e->instruction->mnemonic == ZYDIS_MNEMONIC_VZEROALL;
        return true;
    default:
        return false;
    }
}

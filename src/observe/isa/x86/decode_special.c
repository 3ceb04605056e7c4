/* SPDX-License-Identifier: BSD-3-Clause */
/* Decoding of instructions on flags, of string instructions and of segment bases. Signal-safe. */
#include "isa/x86/decode.h"

#include "isa/x86/lazy_flags.h"

#include "signal_safe.h"

static const struct location top_of_stack = {.base = REGISTER_RSP, .index = REGISTER_ZERO};
static const struct location below_stack = {
    .base = REGISTER_RSP, .index = REGISTER_ZERO, .displacement = -8};

static bool decode_flags(struct emitter *e)
{
    enum { LOW_FLAGS = FLAG_CF | FLAG_PF | FLAG_AF | FLAG_ZF | FLAG_SF };
    struct micro_op *op;
    switch (e->instruction->mnemonic) {
    case ZYDIS_MNEMONIC_LAHF:
        emit_registers(e, OP_FLAGS_TO_REGISTER, REGISTER_HIGH, REGISTER_ZERO)->immediate =
            LOW_FLAGS | 2;
        emit_registers(e, OP_PUT_HIGH, REGISTER_RAX, REGISTER_HIGH);
        return true;
    case ZYDIS_MNEMONIC_SAHF:
        emit_registers(e, OP_GET_HIGH, REGISTER_HIGH, REGISTER_RAX);
        emit_registers(e, OP_REGISTER_TO_FLAGS, REGISTER_ZERO, REGISTER_HIGH)->immediate =
            LOW_FLAGS;
        return true;
    case ZYDIS_MNEMONIC_PUSHFQ:
        emit_registers(e, OP_FLAGS_TO_REGISTER, REGISTER_HIGH, REGISTER_ZERO)->immediate = 0xffffff;
        emit_access(e, OP_PUSH, &below_stack, 8, ACCESS_STORE, false)->s = REGISTER_HIGH;
        return true;
    case ZYDIS_MNEMONIC_POPFQ:
        emit_access(e, OP_POP, &top_of_stack, 8, ACCESS_LOAD, false)->d = REGISTER_HIGH;
        /* AC and ID can be changed by programs, and are by some to find out. */
        emit_registers(e, OP_REGISTER_TO_FLAGS, REGISTER_ZERO, REGISTER_HIGH)->immediate =
            FLAGS_ARITHMETIC | FLAG_DF | 0x240000;
        return true;
    default:
        op = emit(e, OP_FLAG_BITS);
        switch (e->instruction->mnemonic) {
        case ZYDIS_MNEMONIC_CLC:
            op->displacement = FLAG_CF;
            break;
        case ZYDIS_MNEMONIC_STC:
            op->immediate = FLAG_CF;
            break;
        case ZYDIS_MNEMONIC_CMC:
            op->width = FLAG_CF;
            break;
        case ZYDIS_MNEMONIC_XTEST:
            /* A signal ends a transaction: what follows one is in none. */
            op->displacement = FLAGS_ARITHMETIC & ~FLAG_ZF;
            op->immediate = FLAG_ZF;
            break;
        case ZYDIS_MNEMONIC_CLD:
            op->displacement = FLAG_DF;
            break;
        default:
            op->immediate = FLAG_DF;
            break;
        }
        return true;
    }
}

static bool decode_string(struct emitter *e, enum string_operation operation, unsigned width)
{
    if (e->instruction->address_width != 64)
        return false;
    struct micro_op *op = emit(e, OP_STRING);
    op->d = (uint8_t)operation;
    op->width = (uint8_t)width;
    for (unsigned i = 0; i < e->instruction->raw.prefix_count; i++) {
        switch (e->instruction->raw.prefixes[i].value) {
        case 0xf2:
            op->scale = REPEAT_WHILE_NOT_EQUAL;
            break;
        case 0xf3:
            op->scale = REPEAT_WHILE_EQUAL;
            break;
        default:
            break;
        }
    }
    if (e->instruction->attributes & ZYDIS_ATTRIB_HAS_SEGMENT_FS)
        op->s = REGISTER_FS;
    else if (e->instruction->attributes & ZYDIS_ATTRIB_HAS_SEGMENT_GS)
        op->s = REGISTER_GS;
    e->accesses += 2;
    e->block->store_lines += 2;
    if (op->scale != REPEAT_NONE) {
        /* How many accesses follow is not known beforehand: nothing shares the block. */
        struct micro_op *end = emit(e, OP_END);
        end->displacement = (int64_t)e->next_ip;
        end->instruction++;
        e->ended = true;
    }
    return true;
}

static bool decode_base(struct emitter *e)
{
    bool writes = e->instruction->mnemonic == ZYDIS_MNEMONIC_WRFSBASE ||
                  e->instruction->mnemonic == ZYDIS_MNEMONIC_WRGSBASE;
    unsigned base = e->instruction->mnemonic == ZYDIS_MNEMONIC_RDFSBASE ||
                            e->instruction->mnemonic == ZYDIS_MNEMONIC_WRFSBASE
                        ? REGISTER_FS
                        : REGISTER_GS;
    unsigned code = width_of(&e->operands[0]) == 4 ? OP_MOVE_32 : OP_MOVE_64;
    unsigned reg = general_register(e->operands[0].reg.value);
    emit_registers(e, code, writes ? base : reg, writes ? reg : base);
    return true;
}

bool x86_decode_special(struct emitter *e)
{
    switch (e->instruction->mnemonic) {
#define CASE(name, call)                                                                           \
    case ZYDIS_MNEMONIC_##name:                                                                    \
        return call;
        CASE(LAHF, decode_flags(e))
        CASE(SAHF, decode_flags(e))
        CASE(PUSHFQ, decode_flags(e))
        CASE(POPFQ, decode_flags(e))
        CASE(CLC, decode_flags(e))
        CASE(STC, decode_flags(e))
        CASE(CMC, decode_flags(e))
        CASE(XTEST, decode_flags(e))
        CASE(CLD, decode_flags(e))
        CASE(STD, decode_flags(e))
        CASE(RDFSBASE, decode_base(e))
        CASE(RDGSBASE, decode_base(e))
        CASE(WRFSBASE, decode_base(e))
        CASE(WRGSBASE, decode_base(e))
        CASE(MOVSB, decode_string(e, STRING_MOVS, 1))
        CASE(MOVSW, decode_string(e, STRING_MOVS, 2))
        CASE(MOVSQ, decode_string(e, STRING_MOVS, 8))
        CASE(STOSB, decode_string(e, STRING_STOS, 1))
        CASE(STOSW, decode_string(e, STRING_STOS, 2))
        CASE(STOSD, decode_string(e, STRING_STOS, 4))
        CASE(STOSQ, decode_string(e, STRING_STOS, 8))
        CASE(LODSB, decode_string(e, STRING_LODS, 1))
        CASE(LODSW, decode_string(e, STRING_LODS, 2))
        CASE(LODSD, decode_string(e, STRING_LODS, 4))
        CASE(LODSQ, decode_string(e, STRING_LODS, 8))
        CASE(CMPSB, decode_string(e, STRING_CMPS, 1))
        CASE(CMPSW, decode_string(e, STRING_CMPS, 2))
        CASE(CMPSQ, decode_string(e, STRING_CMPS, 8))
        CASE(SCASB, decode_string(e, STRING_SCAS, 1))
        CASE(SCASW, decode_string(e, STRING_SCAS, 2))
        CASE(SCASD, decode_string(e, STRING_SCAS, 4))
        CASE(SCASQ, decode_string(e, STRING_SCAS, 8))
#undef CASE
    case ZYDIS_MNEMONIC_MOVSD:
        /* Also the name of an SSE2 move. */
        return e->instruction->meta.category == ZYDIS_CATEGORY_STRINGOP &&
               decode_string(e, STRING_MOVS, 4);
    case ZYDIS_MNEMONIC_CMPSD:
        return e->instruction->meta.category == ZYDIS_CATEGORY_STRINGOP &&
               decode_string(e, STRING_CMPS, 4);
    default:
        return false;
    }
}

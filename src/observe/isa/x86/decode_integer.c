/* SPDX-License-Identifier: BSD-3-Clause */
/* Decoding of moves, arithmetic and logic on integers, and of conditions. Signal-safe. */
#include "isa/interpreter.h"
#include "isa/x86/decode_place.h"

#include "signal_safe.h"

static bool is_segment(const ZydisDecodedOperand *operand)
{
    return operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
           ZydisRegisterGetClass(operand->reg.value) == ZYDIS_REGCLASS_SEGMENT;
}

static bool decode_move(struct emitter *e)
{
    const ZydisDecodedOperand *to = &e->operands[0], *from = &e->operands[1];
    if (is_segment(to)) {
        emit_stop(e, INTERPRETER_UNKNOWN); /* would change a base */
        return true;
    }
    if (!is_integer_place(to) || !is_integer_place(from))
        return false;
    struct place destination = place_of(e, to), source = place_of(e, from);
    unsigned width = destination.width;
    if (is_memory_operand(to) && from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
        emit_access(e, OP_STORE_IMMEDIATE, &destination.location, width, ACCESS_STORE, false)
            ->immediate = immediate_of(e, from);
        return true;
    }
    if (is_general(to) && width >= 4) {
        unsigned reg = general_register(to->reg.value);
        if (is_memory_operand(from))
            emit_load(e, reg, &source.location, width, false);
        else if (from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
            emit_immediate(
                e, reg, width == 4 ? (int64_t)(uint32_t)from->imm.value.u : immediate_of(e, from));
        else
            emit_registers(e, OP_MOVE_8 + width_index(width), reg,
                           general_register(from->reg.value));
        return true;
    }
    write_place(e, &destination, read_place(e, &source, REGISTER_HIGH, false), false);
    return true;
}

static bool decode_extend(struct emitter *e, bool is_signed)
{
    const ZydisDecodedOperand *to = &e->operands[0], *from = &e->operands[1];
    struct place destination = place_of(e, to), source = place_of(e, from);
    unsigned from_width = source.width, to_width = destination.width;
    if (from_width >= to_width)
        return decode_move(e);
    unsigned reg = to_width >= 4 ? general_register(to->reg.value) : REGISTER_HIGH;
    unsigned code;
    if (!is_signed)
        code = from_width == 1 ? OP_ZERO_EXTEND_8 : OP_ZERO_EXTEND_16;
    else if (from_width == 4)
        code = OP_SIGN_EXTEND_32_64;
    else
        code = (from_width == 1 ? OP_SIGN_EXTEND_8_32 : OP_SIGN_EXTEND_16_32) + (to_width == 8);
    if (is_memory_operand(from)) {
        unsigned load = is_signed ? OP_LOAD_SIGNED_8_32 + (code - OP_SIGN_EXTEND_8_32)
                                  : OP_LOAD_8 + width_index(from_width);
        emit_access(e, load, &source.location, from_width, ACCESS_LOAD, false)->d = (uint8_t)reg;
    } else {
        emit_registers(e, code, reg, read_place(e, &source, REGISTER_HIGH_2, false));
    }
    if (to_width < 4)
        write_place(e, &destination, REGISTER_HIGH, false);
    return true;
}

static bool decode_lea(struct emitter *e)
{
    struct place destination = {.operand = &e->operands[0], .width = width_of(&e->operands[0])};
    struct location location = locate(e, &e->operands[1]);
    unsigned reg =
        destination.width >= 4 ? general_register(e->operands[0].reg.value) : REGISTER_HIGH;
    struct micro_op *op = emit(e, destination.width == 4 ? OP_ADDRESS_32 : OP_ADDRESS_64);
    op->d = (uint8_t)reg;
    op->base = location.base;
    op->index = location.index;
    op->scale = location.scale;
    op->displacement = location.displacement;
    if (destination.width < 4)
        write_place(e, &destination, REGISTER_HIGH, false);
    return true;
}

/* d = d op s, with flags; first is the operation's first code (8-bit, register source). */
static bool decode_binary(struct emitter *e, unsigned first, bool writes)
{
    const ZydisDecodedOperand *to = &e->operands[0], *from = &e->operands[1];
    struct place destination = place_of(e, to), source = place_of(e, from);
    unsigned width = destination.width;
    unsigned code = first + 2 * width_index(width);
    if (width >= 4 && is_general(to) && is_general(from) && to->reg.value == from->reg.value) {
        unsigned reg = general_register(to->reg.value);
        if (first == OP_XOR_8_R || first == OP_SUB_8_R) {
            emit_registers(e, OP_CLEAR, reg, REGISTER_ZERO)->immediate = first == OP_SUB_8_R;
            return true;
        }
        if (first == OP_SBB_8_R) {
            emit_registers(e, OP_BORROW, reg, REGISTER_ZERO)->width = (uint8_t)width;
            return true;
        }
    }
    bool rmw = writes && is_memory_operand(to);
    unsigned d = read_place(e, &destination, REGISTER_HIGH, rmw);
    if (from->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
        emit_registers(e, code + 1, d, REGISTER_ZERO)->immediate = immediate_of(e, from);
    } else {
        unsigned s = read_place(e, &source, REGISTER_HIGH_2, false);
        emit_registers(e, code, d, s);
    }
    if (writes)
        write_place(e, &destination, d, rmw);
    return true;
}

static bool decode_unary(struct emitter *e, unsigned first)
{
    struct place place = place_of(e, &e->operands[0]);
    bool rmw = is_memory_operand(place.operand);
    unsigned d = read_place(e, &place, REGISTER_HIGH, rmw);
    emit_registers(e, first + width_index(place.width), d, REGISTER_ZERO);
    write_place(e, &place, d, rmw);
    return true;
}

static bool decode_multiply(struct emitter *e)
{
    unsigned visible = e->instruction->operand_count_visible;
    const ZydisDecodedOperand *operands = e->operands;
    if (visible == 1 || operands[1].visibility != ZYDIS_OPERAND_VISIBILITY_EXPLICIT) {
        struct place source = place_of(e, &operands[0]);
        unsigned s = read_place(e, &source, REGISTER_HIGH, false);
        struct micro_op *op = emit_registers(e, OP_MULTIPLY_WIDE, REGISTER_ZERO, s);
        op->width = (uint8_t)source.width;
        op->scale = e->instruction->mnemonic == ZYDIS_MNEMONIC_IMUL;
        return true;
    }
    struct place destination = place_of(e, &operands[0]), source = place_of(e, &operands[1]);
    unsigned index = width_index(destination.width);
    unsigned s = read_place(e, &source, REGISTER_HIGH, false);
    unsigned d = general_register(operands[0].reg.value);
    if (visible == 2 || operands[2].type != ZYDIS_OPERAND_TYPE_IMMEDIATE) {
        emit_registers(e, OP_MULTIPLY_8 + index, d, s);
        return true;
    }
    unsigned result = destination.width >= 4 ? d : REGISTER_HIGH;
    emit_registers(e, OP_MULTIPLY_BY_8 + index, result, s)->immediate =
        immediate_of(e, &operands[2]);
    write_place(e, &destination, result, false);
    return true;
}

static bool decode_divide(struct emitter *e, bool is_signed)
{
    struct place source = place_of(e, &e->operands[0]);
    unsigned s = read_place(e, &source, REGISTER_HIGH, false);
    struct micro_op *op = emit_registers(e, OP_DIVIDE, REGISTER_ZERO, s);
    op->width = (uint8_t)source.width;
    op->scale = is_signed;
    return true;
}

static bool decode_swap_bytes(struct emitter *e)
{
    bool moves = e->instruction->mnemonic == ZYDIS_MNEMONIC_MOVBE;
    struct place destination = place_of(e, &e->operands[0]),
                 source = place_of(e, &e->operands[moves]);
    if (destination.width < 4 && !moves)
        return false; /* bswap of 16 bits is undefined */
    unsigned s = read_place(e, &source, REGISTER_HIGH_2, false);
    emit_registers(e, OP_SWAP_BYTES, REGISTER_HIGH, s)->width = (uint8_t)destination.width;
    write_place(e, &destination, REGISTER_HIGH, false);
    return true;
}

static bool decode_sign(struct emitter *e)
{
    struct place ax = {.operand = &e->operands[0], .width = 2};
    switch (e->instruction->mnemonic) {
    case ZYDIS_MNEMONIC_CBW:
        emit_registers(e, OP_SIGN_EXTEND_8_32, REGISTER_HIGH, REGISTER_RAX);
        write_place(e, &ax, REGISTER_HIGH, false);
        return true;
    case ZYDIS_MNEMONIC_CWDE:
        emit_registers(e, OP_SIGN_EXTEND_16_32, REGISTER_RAX, REGISTER_RAX);
        return true;
    case ZYDIS_MNEMONIC_CDQE:
        emit_registers(e, OP_SIGN_EXTEND_32_64, REGISTER_RAX, REGISTER_RAX);
        return true;
    default:
        emit(e, OP_SIGN_TO_RDX)->width = e->instruction->mnemonic == ZYDIS_MNEMONIC_CWD   ? 2
                                         : e->instruction->mnemonic == ZYDIS_MNEMONIC_CDQ ? 4
                                                                                          : 8;
        return true;
    }
}

static bool decode_condition(struct emitter *e, unsigned cc)
{
    struct place destination = place_of(e, &e->operands[0]);
    if (e->instruction->meta.category == ZYDIS_CATEGORY_SETCC) {
        emit_registers(e, OP_SET_IF_O + cc, REGISTER_HIGH, REGISTER_ZERO);
        write_place(e, &destination, REGISTER_HIGH, false);
        return true;
    }
    struct place source = place_of(e, &e->operands[1]);
    unsigned s = read_place(e, &source, REGISTER_HIGH_2, false);
    unsigned d = general_register(e->operands[0].reg.value);
    if (destination.width == 2) {
        emit_registers(e, OP_MOVE_64, REGISTER_HIGH, d);
        emit_registers(e, OP_MOVE_IF_64_O + cc, REGISTER_HIGH, s);
        write_place(e, &destination, REGISTER_HIGH, false);
    } else {
        emit_registers(e, (destination.width == 4 ? OP_MOVE_IF_32_O : OP_MOVE_IF_64_O) + cc, d, s);
    }
    return true;
}

bool x86_decode_integer(struct emitter *e)
{
    if (e->instruction->meta.category == ZYDIS_CATEGORY_SETCC ||
        e->instruction->meta.category == ZYDIS_CATEGORY_CMOV)
        return decode_condition(e, e->instruction->opcode & 15);
    switch (e->instruction->mnemonic) {
#define CASE(name, call)                                                                           \
    case ZYDIS_MNEMONIC_##name:                                                                    \
        return call;
        CASE(MOV, decode_move(e))
        CASE(MOVNTI, decode_move(e))
        CASE(MOVZX, decode_extend(e, false))
        CASE(MOVSX, decode_extend(e, true))
        CASE(MOVSXD, decode_extend(e, true))
        CASE(LEA, decode_lea(e))
        CASE(ADD, decode_binary(e, OP_ADD_8_R, true))
        CASE(SUB, decode_binary(e, OP_SUB_8_R, true))
        CASE(ADC, decode_binary(e, OP_ADC_8_R, true))
        CASE(SBB, decode_binary(e, OP_SBB_8_R, true))
        CASE(AND, decode_binary(e, OP_AND_8_R, true))
        CASE(OR, decode_binary(e, OP_OR_8_R, true))
        CASE(XOR, decode_binary(e, OP_XOR_8_R, true))
        CASE(CMP, decode_binary(e, OP_CMP_8_R, false))
        CASE(TEST, decode_binary(e, OP_TEST_8_R, false))
        CASE(SHL, decode_binary(e, OP_SHL_8_R, true))
        CASE(SHR, decode_binary(e, OP_SHR_8_R, true))
        CASE(SAR, decode_binary(e, OP_SAR_8_R, true))
        CASE(ROL, decode_binary(e, OP_ROL_8_R, true))
        CASE(ROR, decode_binary(e, OP_ROR_8_R, true))
        CASE(INC, decode_unary(e, OP_INC_8))
        CASE(DEC, decode_unary(e, OP_DEC_8))
        CASE(NEG, decode_unary(e, OP_NEG_8))
        CASE(NOT, decode_unary(e, OP_NOT_8))
        CASE(MUL, decode_multiply(e))
        CASE(IMUL, decode_multiply(e))
        CASE(DIV, decode_divide(e, false))
        CASE(IDIV, decode_divide(e, true))
        CASE(BSWAP, decode_swap_bytes(e))
        CASE(MOVBE, decode_swap_bytes(e))
        CASE(CBW, decode_sign(e))
        CASE(CWDE, decode_sign(e))
        CASE(CDQE, decode_sign(e))
        CASE(CWD, decode_sign(e))
        CASE(CDQ, decode_sign(e))
        CASE(CQO, decode_sign(e))
#undef CASE
    default:
        return false;
    }
}

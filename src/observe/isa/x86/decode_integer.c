/* SPDX-License-Identifier: BSD-3-Clause */
/* Decoding of integer instructions into micro-operations. Signal-safe. */
#include "isa/x86/decode.h"

#include "isa/interpreter.h"

#include "signal_safe.h"

static const struct location top_of_stack = {.base = REGISTER_RSP, .index = REGISTER_ZERO};
static const struct location below_stack = {
    .base = REGISTER_RSP, .index = REGISTER_ZERO, .displacement = -8};

/* An immediate as the instruction uses it: 32-bit immediates of 64-bit operations are signed. */
static int64_t immediate_of(const struct emitter *e, const ZydisDecodedOperand *operand)
{
    if (e->instruction->raw.imm[0].size == 32 && e->instruction->operand_width == 64)
        return (int32_t)operand->imm.value.u;
    return operand->imm.value.s;
}

/* A place that an instruction reads, writes or both. */
struct place {
    const ZydisDecodedOperand *operand;
    struct location location; /* of a memory operand */
    unsigned width;
};

static struct place place_of(struct emitter *e, const ZydisDecodedOperand *operand)
{
    struct place place = {.operand = operand, .width = width_of(operand)};
    if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY)
        place.location = locate(e, operand);
    return place;
}

/*
 * Register that holds the value of place: itself, REGISTER_OPERAND if loaded from memory, or
 * temporary for an immediate or a high byte. Bits above the width are arbitrary.
 */
static unsigned read_place(struct emitter *e, const struct place *place, unsigned temporary,
                           bool read_modify_write)
{
    const ZydisDecodedOperand *operand = place->operand;
    if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY) {
        emit_load(e, REGISTER_OPERAND, &place->location, place->width, read_modify_write);
        return REGISTER_OPERAND;
    }
    if (operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
        emit_immediate(e, temporary, immediate_of(e, operand));
        return temporary;
    }
    unsigned reg = general_register(operand->reg.value);
    if (!is_high_byte(operand))
        return reg;
    emit_registers(e, OP_GET_HIGH, temporary, reg);
    return temporary;
}

static void write_place(struct emitter *e, const struct place *place, unsigned value,
                        bool read_modify_write)
{
    if (place->operand->type == ZYDIS_OPERAND_TYPE_MEMORY) {
        emit_store(e, value, &place->location, place->width, read_modify_write);
        return;
    }
    unsigned reg = general_register(place->operand->reg.value);
    if (is_high_byte(place->operand))
        emit_registers(e, OP_PUT_HIGH, reg, value);
    else if (reg != value)
        emit_registers(e, OP_MOVE_8 + width_index(place->width), reg, value);
}

static bool is_integer_place(const ZydisDecodedOperand *operand)
{
    return is_general(operand) || is_memory(operand) ||
           operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

static bool is_memory_operand(const ZydisDecodedOperand *operand)
{
    return operand->type == ZYDIS_OPERAND_TYPE_MEMORY;
}

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

static bool decode_rotate_carry(struct emitter *e, unsigned right)
{
    struct place place = place_of(e, &e->operands[0]), count = place_of(e, &e->operands[1]);
    bool rmw = is_memory_operand(place.operand);
    unsigned d = read_place(e, &place, REGISTER_HIGH, rmw);
    unsigned s = read_place(e, &count, REGISTER_HIGH_2, false);
    struct micro_op *op = emit_registers(e, OP_ROTATE_CARRY, d, s);
    op->width = (uint8_t)place.width;
    op->scale = (uint8_t)right;
    write_place(e, &place, d, rmw);
    return true;
}

static bool decode_double_shift(struct emitter *e, unsigned right)
{
    struct place place = place_of(e, &e->operands[0]), count = place_of(e, &e->operands[2]);
    bool rmw = is_memory_operand(place.operand);
    unsigned d = read_place(e, &place, REGISTER_HIGH, rmw);
    unsigned s = general_register(e->operands[1].reg.value);
    unsigned c = read_place(e, &count, REGISTER_HIGH_2, false);
    struct micro_op *op = emit_registers(e, OP_DOUBLE_SHIFT, d, s);
    op->index = (uint8_t)c;
    op->width = (uint8_t)place.width;
    op->scale = (uint8_t)right;
    write_place(e, &place, d, rmw);
    return true;
}

/* operation: 0 bt, 1 bts, 2 btr, 3 btc. */
static bool decode_bit_test(struct emitter *e, unsigned operation)
{
    struct place place = place_of(e, &e->operands[0]), bit = place_of(e, &e->operands[1]);
    bool in_memory = is_memory_operand(place.operand);
    unsigned s = read_place(e, &bit, REGISTER_HIGH_2, false);
    if (in_memory && is_general(bit.operand)) {
        /* The bit string extends beyond the operand, in both directions. */
        struct micro_op *op = emit_registers(e, OP_BIT_ADDRESS, REGISTER_ADDRESS, s);
        op->base = place.location.base;
        op->index = place.location.index;
        op->scale = place.location.scale;
        op->displacement = place.location.displacement;
        op->width = (uint8_t)place.width;
        place.location = (struct location){.base = REGISTER_ADDRESS, .index = REGISTER_ZERO};
    }
    unsigned d = read_place(e, &place, REGISTER_HIGH, operation != 0 && in_memory);
    if (operation == 0 && !in_memory) {
        /* The operation writes its operand; bt does not. */
        emit_registers(e, OP_MOVE_64, REGISTER_HIGH, d);
        d = REGISTER_HIGH;
    }
    emit_registers(e, OP_BIT_TEST_8 + width_index(place.width), d, s)->scale = (uint8_t)operation;
    if (operation != 0)
        write_place(e, &place, d, in_memory);
    return true;
}

static bool decode_bit_scan(struct emitter *e, enum bit_scan kind)
{
    struct place destination = place_of(e, &e->operands[0]), source = place_of(e, &e->operands[1]);
    unsigned s = read_place(e, &source, REGISTER_HIGH, false);
    unsigned d =
        destination.width >= 4 ? general_register(e->operands[0].reg.value) : REGISTER_HIGH_2;
    struct micro_op *op = emit_registers(e, OP_BIT_SCAN, d, s);
    op->width = (uint8_t)destination.width;
    op->scale = (uint8_t)kind;
    if (destination.width < 4)
        write_place(e, &destination, d, false);
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

static bool decode_push(struct emitter *e)
{
    const ZydisDecodedOperand *operand = &e->operands[0];
    unsigned s = REGISTER_HIGH;
    if (is_integer_place(operand)) {
        struct place source = place_of(e, operand);
        s = read_place(e, &source, REGISTER_HIGH, false);
    } else {
        emit(e, OP_POISON)->immediate = (int64_t)REGISTER_BIT(s); /* a segment's selector */
    }
    if (e->instruction->operand_width == 16) {
        struct location at = below_stack;
        at.displacement = -2;
        emit_store(e, s, &at, 2, false);
        struct micro_op *op = emit_registers(e, OP_ADDRESS_64, REGISTER_RSP, REGISTER_ZERO);
        op->base = REGISTER_RSP;
        op->displacement = -2;
        return true;
    }
    emit_access(e, OP_PUSH, &below_stack, 8, ACCESS_STORE, false)->s = (uint8_t)s;
    return true;
}

static bool decode_pop(struct emitter *e)
{
    const ZydisDecodedOperand *operand = &e->operands[0];
    if (!is_integer_place(operand)) {
        emit_stop(e, INTERPRETER_UNKNOWN); /* a segment, whose base would change */
        return true;
    }
    unsigned width = e->instruction->operand_width == 16 ? 2 : 8;
    if (width == 8 && is_general(operand)) {
        emit_access(e, OP_POP, &top_of_stack, 8, ACCESS_LOAD, false)->d =
            (uint8_t)general_register(operand->reg.value);
        return true;
    }
    emit_load(e, REGISTER_OPERAND, &top_of_stack, width, false);
    struct place destination = {.operand = operand, .width = width};
    if (is_memory_operand(operand)) {
        /* The address is computed with the stack pointer after the pop; a store cannot fail, so
         * the stack pointer may be moved later. */
        destination.location = locate(e, operand);
        if (operand->mem.base == ZYDIS_REGISTER_RSP)
            destination.location.displacement += width;
    }
    write_place(e, &destination, REGISTER_OPERAND, false);
    if (is_memory_operand(operand) || general_register(operand->reg.value) != REGISTER_RSP) {
        struct micro_op *op = emit_registers(e, OP_ADDRESS_64, REGISTER_RSP, REGISTER_ZERO);
        op->base = REGISTER_RSP;
        op->displacement = width;
    }
    return true;
}

static bool decode_leave(struct emitter *e)
{
    if (e->instruction->operand_width == 16)
        return false;
    struct location frame = {.base = REGISTER_RBP, .index = REGISTER_ZERO};
    emit_load(e, REGISTER_OPERAND, &frame, 8, false);
    struct micro_op *op = emit_registers(e, OP_ADDRESS_64, REGISTER_RSP, REGISTER_ZERO);
    op->base = REGISTER_RBP;
    op->displacement = 8;
    emit_registers(e, OP_MOVE_64, REGISTER_RBP, REGISTER_OPERAND);
    return true;
}

static bool decode_enter(struct emitter *e)
{
    if (e->instruction->operand_width == 16 || (e->operands[1].imm.value.u & 31) != 0) {
        emit_stop(e, INTERPRETER_UNKNOWN); /* no compiler nests frames this way */
        return true;
    }
    emit_access(e, OP_PUSH, &below_stack, 8, ACCESS_STORE, false)->s = REGISTER_RBP;
    emit_registers(e, OP_MOVE_64, REGISTER_RBP, REGISTER_RSP);
    struct micro_op *op = emit_registers(e, OP_ADDRESS_64, REGISTER_RSP, REGISTER_ZERO);
    op->base = REGISTER_RSP;
    op->displacement = -(int64_t)(e->operands[0].imm.value.u & 0xffff);
    return true;
}

static bool decode_exchange(struct emitter *e)
{
    /* A memory operand may come first or second. */
    bool swapped = is_memory_operand(&e->operands[1]);
    struct place a = place_of(e, &e->operands[swapped]), b = place_of(e, &e->operands[!swapped]);
    bool rmw = is_memory_operand(a.operand);
    unsigned old = read_place(e, &a, REGISTER_HIGH, rmw);
    if (!rmw && old != REGISTER_HIGH) {
        emit_registers(e, OP_MOVE_64, REGISTER_HIGH, old);
        old = REGISTER_HIGH;
    }
    write_place(e, &a, read_place(e, &b, REGISTER_HIGH_2, false), rmw);
    write_place(e, &b, old, false);
    return true;
}

static bool decode_exchange_add(struct emitter *e)
{
    struct place a = place_of(e, &e->operands[0]), b = place_of(e, &e->operands[1]);
    if (is_high_byte(a.operand) || is_high_byte(b.operand))
        return false;
    bool rmw = is_memory_operand(a.operand);
    unsigned old = read_place(e, &a, REGISTER_HIGH, rmw);
    emit_registers(e, OP_MOVE_64, REGISTER_HIGH_2, old);
    emit_registers(e, OP_MOVE_64, REGISTER_HIGH, old);
    emit_registers(e, OP_ADD_8_R + 2 * width_index(a.width), REGISTER_HIGH,
                   general_register(b.operand->reg.value));
    if (rmw)
        write_place(e, &a, REGISTER_HIGH, true);
    write_place(e, &b, REGISTER_HIGH_2, false);
    if (!rmw)
        write_place(e, &a, REGISTER_HIGH, false);
    return true;
}

static bool decode_compare_exchange(struct emitter *e)
{
    /* With a register as destination, processors differ in what they leave of its upper half. */
    if (!is_memory_operand(&e->operands[0]) || is_high_byte(&e->operands[1]))
        return false;
    struct place a = place_of(e, &e->operands[0]);
    unsigned old = read_place(e, &a, REGISTER_HIGH, true);
    emit_registers(e, OP_MOVE_64, REGISTER_HIGH, old);
    emit_registers(e, OP_CMP_8_R + 2 * width_index(a.width), REGISTER_RAX, REGISTER_HIGH);
    emit_registers(e, OP_COMPARE_EXCHANGE, REGISTER_HIGH,
                   general_register(e->operands[1].reg.value))
        ->width = (uint8_t)a.width;
    write_place(e, &a, REGISTER_HIGH, true);
    return true;
}

static bool decode_compare_exchange_wide(struct emitter *e, unsigned width)
{
    struct location location = locate(e, &e->operands[0]);
    emit_access(e, OP_COMPARE_EXCHANGE_WIDE, &location, width, ACCESS_LOAD, true);
    e->accesses++;
    e->block->store_lines += 2;
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
        CASE(RCL, decode_rotate_carry(e, 0))
        CASE(RCR, decode_rotate_carry(e, 1))
        CASE(SHLD, decode_double_shift(e, 0))
        CASE(SHRD, decode_double_shift(e, 1))
        CASE(INC, decode_unary(e, OP_INC_8))
        CASE(DEC, decode_unary(e, OP_DEC_8))
        CASE(NEG, decode_unary(e, OP_NEG_8))
        CASE(NOT, decode_unary(e, OP_NOT_8))
        CASE(BT, decode_bit_test(e, 0))
        CASE(BTS, decode_bit_test(e, 1))
        CASE(BTR, decode_bit_test(e, 2))
        CASE(BTC, decode_bit_test(e, 3))
        CASE(BSF, decode_bit_scan(e, SCAN_BSF))
        CASE(BSR, decode_bit_scan(e, SCAN_BSR))
        CASE(TZCNT, decode_bit_scan(e, SCAN_TZCNT))
        CASE(LZCNT, decode_bit_scan(e, SCAN_LZCNT))
        CASE(POPCNT, decode_bit_scan(e, SCAN_POPCNT))
        CASE(MUL, decode_multiply(e))
        CASE(IMUL, decode_multiply(e))
        CASE(DIV, decode_divide(e, false))
        CASE(IDIV, decode_divide(e, true))
        CASE(PUSH, decode_push(e))
        CASE(POP, decode_pop(e))
        CASE(LEAVE, decode_leave(e))
        CASE(ENTER, decode_enter(e))
        CASE(XCHG, decode_exchange(e))
        CASE(XADD, decode_exchange_add(e))
        CASE(CMPXCHG, decode_compare_exchange(e))
        CASE(CMPXCHG8B, decode_compare_exchange_wide(e, 8))
        CASE(CMPXCHG16B, decode_compare_exchange_wide(e, 16))
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

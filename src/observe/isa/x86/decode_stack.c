/* SPDX-License-Identifier: BSD-3-Clause */
/* Decoding of what moves the stack pointer and uses the stack, but calls. Signal-safe. */
#include "isa/interpreter.h"
#include "isa/x86/decode_place.h"

#include "signal_safe.h"

static const struct location top_of_stack = {.base = REGISTER_RSP, .index = REGISTER_ZERO};
static const struct location below_stack = {
    .base = REGISTER_RSP, .index = REGISTER_ZERO, .displacement = -8};

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

bool x86_decode_stack(struct emitter *e)
{
    switch (e->instruction->mnemonic) {
    case ZYDIS_MNEMONIC_PUSH:
        return decode_push(e);
    case ZYDIS_MNEMONIC_POP:
        return decode_pop(e);
    case ZYDIS_MNEMONIC_LEAVE:
        return decode_leave(e);
    case ZYDIS_MNEMONIC_ENTER:
        return decode_enter(e);
    default:
        return false;
    }
}

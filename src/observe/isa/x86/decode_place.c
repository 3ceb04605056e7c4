/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "isa/x86/decode_place.h"

#include "signal_safe.h"

int64_t immediate_of(const struct emitter *e, const ZydisDecodedOperand *operand)
{
    if (e->instruction->raw.imm[0].size == 32 && e->instruction->operand_width == 64)
        return (int32_t)operand->imm.value.u;
    return operand->imm.value.s;
}

struct place place_of(struct emitter *e, const ZydisDecodedOperand *operand)
{
    struct place place = {.operand = operand, .width = width_of(operand)};
    if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY)
        place.location = locate(e, operand);
    return place;
}

unsigned read_place(struct emitter *e, const struct place *place, unsigned temporary,
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

void write_place(struct emitter *e, const struct place *place, unsigned value,
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

bool is_integer_place(const ZydisDecodedOperand *operand)
{
    return is_general(operand) || is_memory(operand) ||
           operand->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

bool is_memory_operand(const ZydisDecodedOperand *operand)
{
    return operand->type == ZYDIS_OPERAND_TYPE_MEMORY;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Decoding of exchanges: what reads a place and replaces it, atomically or not. Signal-safe. */
#include "isa/x86/decode_place.h"

#include "signal_safe.h"

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

bool x86_decode_exchange(struct emitter *e)
{
    switch (e->instruction->mnemonic) {
    case ZYDIS_MNEMONIC_XCHG:
        return decode_exchange(e);
    case ZYDIS_MNEMONIC_XADD:
        return decode_exchange_add(e);
    case ZYDIS_MNEMONIC_CMPXCHG:
        return decode_compare_exchange(e);
    case ZYDIS_MNEMONIC_CMPXCHG8B:
        return decode_compare_exchange_wide(e, 8);
    case ZYDIS_MNEMONIC_CMPXCHG16B:
        return decode_compare_exchange_wide(e, 16);
    default:
        return false;
    }
}

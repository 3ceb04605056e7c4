/* SPDX-License-Identifier: BSD-3-Clause */
/* Decoding of rotations through carry, of double shifts, and of tests and scans of single bits.
 * Signal-safe. */
#include "isa/x86/decode_place.h"

#include "signal_safe.h"

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

bool x86_decode_bits(struct emitter *e)
{
    switch (e->instruction->mnemonic) {
    case ZYDIS_MNEMONIC_RCL:
        return decode_rotate_carry(e, 0);
    case ZYDIS_MNEMONIC_RCR:
        return decode_rotate_carry(e, 1);
    case ZYDIS_MNEMONIC_SHLD:
        return decode_double_shift(e, 0);
    case ZYDIS_MNEMONIC_SHRD:
        return decode_double_shift(e, 1);
    case ZYDIS_MNEMONIC_BT:
        return decode_bit_test(e, 0);
    case ZYDIS_MNEMONIC_BTS:
        return decode_bit_test(e, 1);
    case ZYDIS_MNEMONIC_BTR:
        return decode_bit_test(e, 2);
    case ZYDIS_MNEMONIC_BTC:
        return decode_bit_test(e, 3);
    case ZYDIS_MNEMONIC_BSF:
        return decode_bit_scan(e, SCAN_BSF);
    case ZYDIS_MNEMONIC_BSR:
        return decode_bit_scan(e, SCAN_BSR);
    case ZYDIS_MNEMONIC_TZCNT:
        return decode_bit_scan(e, SCAN_TZCNT);
    case ZYDIS_MNEMONIC_LZCNT:
        return decode_bit_scan(e, SCAN_LZCNT);
    case ZYDIS_MNEMONIC_POPCNT:
        return decode_bit_scan(e, SCAN_POPCNT);
    default:
        return false;
    }
}

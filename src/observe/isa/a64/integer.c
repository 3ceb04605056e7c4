/* SPDX-License-Identifier: BSD-3-Clause */
/* Arithmetic that is not worth a place in the loop. Signal-safe. */
#include "isa/a64/execute.h"

#include "signal_safe.h"

uint64_t a64_operand(const struct a64_operation *op, uint64_t value)
{
    unsigned by = op->shift;
    switch (op->mode & ~(unsigned)OPERAND_INVERTED) {
    case OPERAND_UXTB:
        value = (uint64_t)(uint8_t)value << by;
        break;
    case OPERAND_UXTH:
        value = (uint64_t)(uint16_t)value << by;
        break;
    case OPERAND_UXTW:
        value = (uint64_t)(uint32_t)value << by;
        break;
    case OPERAND_UXTX:
    case OPERAND_SXTX:
        value <<= by;
        break;
    case OPERAND_SXTB:
        value = (uint64_t)(int64_t)(int8_t)value << by;
        break;
    case OPERAND_SXTH:
        value = (uint64_t)(int64_t)(int16_t)value << by;
        break;
    case OPERAND_SXTW:
        value = (uint64_t)(int64_t)(int32_t)value << by;
        break;
    case OPERAND_LSR_32:
        value = (uint32_t)value >> by;
        break;
    case OPERAND_LSR_64:
        value >>= by;
        break;
    case OPERAND_ASR_32:
        value = (uint64_t)(int64_t)((int32_t)value >> by);
        break;
    case OPERAND_ASR_64:
        value = (uint64_t)((int64_t)value >> by);
        break;
    case OPERAND_ROR_32:
        value = by ? (uint32_t)value >> by | (uint32_t)value << (32 - by) : (uint32_t)value;
        break;
    case OPERAND_ROR_64:
        value = by ? value >> by | value << (64 - by) : value;
        break;
    }
    return op->mode & OPERAND_INVERTED ? ~value : value;
}

static uint64_t reverse_bits(uint64_t value)
{
    value = (value >> 1 & 0x5555555555555555) | (value & 0x5555555555555555) << 1;
    value = (value >> 2 & 0x3333333333333333) | (value & 0x3333333333333333) << 2;
    value = (value >> 4 & 0x0f0f0f0f0f0f0f0f) | (value & 0x0f0f0f0f0f0f0f0f) << 4;
    return __builtin_bswap64(value);
}

static uint64_t reverse_bytes_of_words(uint64_t value)
{
    value = __builtin_bswap64(value);
    return value >> 32 | value << 32;
}

static uint64_t reverse_bytes_of_halves(uint64_t value)
{
    return (value >> 8 & 0x00ff00ff00ff00ff) | (value & 0x00ff00ff00ff00ff) << 8;
}

static uint64_t absolute(uint64_t value, unsigned bits)
{
    return value >> (bits - 1) & 1 ? 0 - value : value;
}

uint64_t a64_one_source(const struct a64_operation *op, uint64_t value)
{
    enum { RBIT, REV16, REV32, REV64, CLZ, CLS, CTZ, CNT };
    unsigned bits = 8u * op->width;
    uint64_t mask = ~UINT64_C(0) >> (64 - bits), result;
    value &= mask;
    switch (op->immediate) {
    case RBIT:
        result = reverse_bits(value) >> (64 - bits);
        break;
    case REV16:
        result = reverse_bytes_of_halves(value);
        break;
    case REV32:
        result = reverse_bytes_of_words(value);
        break;
    case REV64:
        result = __builtin_bswap64(value);
        break;
    case CLZ:
        result = leading_zeros(value, bits);
        break;
    case CLS: /* bits after the first that are the same */
        result = leading_zeros((value ^ value >> 1) & mask >> 1, bits) - 1;
        break;
    case CTZ:
        result = value == 0 ? bits : (unsigned)__builtin_ctzll(value);
        break;
    case CNT:
        result = (unsigned)__builtin_popcountll(value);
        break;
    default:
        result = absolute(value, bits);
        break;
    }
    return result & mask;
}

uint64_t a64_crc32(const struct a64_operation *op, uint32_t crc, uint64_t value)
{
    /* Both polynomials, bits reversed. */
    uint32_t polynomial = op->mode ? UINT32_C(0x82f63b78) : UINT32_C(0xedb88320);
    for (unsigned i = 0; i < op->width; i++) {
        crc ^= (uint8_t)(value >> 8 * i);
        for (unsigned bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
    }
    return crc;
}

uint64_t a64_multiply_high(uint64_t a, uint64_t b, bool is_signed)
{
    if (is_signed)
        return (uint64_t)((__int128)(int64_t)a * (int64_t)b >> 64);
    return (uint64_t)((unsigned __int128)a * b >> 64);
}

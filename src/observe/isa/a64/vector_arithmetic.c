/* SPDX-License-Identifier: BSD-3-Clause */
/* One lane of an integer vector operation at a time. Signal-safe. */
#include "isa/a64/vector.h"

#include "signal_safe.h"

static uint64_t choose(bool first, uint64_t a, uint64_t b)
{
    return first ? a : b;
}

static uint64_t all_if(bool condition)
{
    return condition ? ~UINT64_C(0) : 0;
}

/* By a signed amount in the low byte of another lane: to the left, or to the right if negative. */
static uint64_t shift_by_lane(uint64_t a, int8_t by, bool is_unsigned, unsigned size)
{
    int bits = 8 * (int)size;
    if (by >= bits)
        return 0;
    if (by >= 0)
        return a << by;
    if (is_unsigned)
        return -by >= bits ? 0 : a >> -by;
    return (uint64_t)(bytes_signed(a, size) >> (-by >= bits ? bits - 1 : -by));
}

bool a64_lane_three(unsigned opcode, bool is_unsigned, unsigned size, uint64_t a, uint64_t b,
                    uint64_t d, uint64_t *out)
{
    int64_t sa = bytes_signed(a, size), sb = bytes_signed(b, size);
    bool greater = is_unsigned ? a > b : sa > sb;
    uint64_t difference = greater ? a - b : b - a;
    switch (opcode) {
    case 0x00: /* halving add */
    case 0x02: /* rounded */
        if (size == 8)
            return false;
        *out = is_unsigned ? (a + b + (opcode >> 1)) >> 1
                           : (uint64_t)((sa + sb + (int64_t)(opcode >> 1)) >> 1);
        return true;
    case 0x04: /* halving subtract */
        if (size == 8)
            return false;
        *out = is_unsigned ? (a - b) >> 1 : (uint64_t)((sa - sb) >> 1);
        return true;
    case 0x06: /* cmgt, cmhi */
        *out = all_if(greater);
        return true;
    case 0x07: /* cmge, cmhs */
        *out = all_if(greater || a == b);
        return true;
    case 0x08: /* sshl, ushl */
        *out = shift_by_lane(a, (int8_t)b, is_unsigned, size);
        return true;
    case 0x0c: /* maximum */
    case 0x14: /* of neighbours */
        *out = choose(greater, a, b);
        return true;
    case 0x0d: /* minimum */
    case 0x15:
        *out = choose(greater, b, a);
        return true;
    case 0x0e: /* absolute difference */
        *out = difference;
        return true;
    case 0x0f: /* added up */
        *out = d + difference;
        return true;
    case 0x10:
        *out = is_unsigned ? a - b : a + b;
        return true;
    case 0x11: /* cmtst, cmeq */
        *out = all_if(is_unsigned ? a == b : (a & b) != 0);
        return true;
    case 0x12:
        *out = is_unsigned ? d - a * b : d + a * b;
        return true;
    case 0x13:
        *out = a * b;
        return !is_unsigned;
    case 0x17: /* addp */
        *out = a + b;
        return !is_unsigned;
    default:
        return false;
    }
}

static uint64_t reverse_byte(uint64_t value)
{
    value = (value >> 1 & 0x55) | (value & 0x55) << 1;
    value = (value >> 2 & 0x33) | (value & 0x33) << 2;
    return (value >> 4 & 0x0f) | (value & 0x0f) << 4;
}

bool a64_lane_two(unsigned opcode, bool is_unsigned, unsigned size, uint64_t a, uint64_t *out)
{
    int64_t value = bytes_signed(a, size);
    unsigned bits = 8 * size;
    switch (opcode) {
    case 0x04: /* cls, clz */
        *out = is_unsigned ? leading_zeros(a, bits)
                           : leading_zeros((a ^ a >> 1) & bytes_mask(size) >> 1, bits) - 1;
        return size < 8;
    case 0x05: /* cnt; not and rbit are told by the caller */
        *out = (unsigned)__builtin_popcountll(a);
        return !is_unsigned && size == 1;
    case 0x08: /* with zero: cmgt, cmge */
        *out = all_if(is_unsigned ? value >= 0 : value > 0);
        return true;
    case 0x09: /* cmeq, cmle */
        *out = all_if(is_unsigned ? value <= 0 : value == 0);
        return true;
    case 0x0a: /* cmlt */
        *out = all_if(value < 0);
        return !is_unsigned;
    case 0x0b: /* abs, neg */
        *out = is_unsigned || value < 0 ? 0 - a : a;
        return true;
    case 0x15: /* not, rbit */
        *out = reverse_byte(a);
        return true;
    default:
        return false;
    }
}

bool a64_lane_shift(unsigned opcode, bool is_unsigned, unsigned size, unsigned amount, uint64_t a,
                    uint64_t d, uint64_t *out)
{
    unsigned bits = 8 * size;
    int64_t value = bytes_signed(a, size);
    /* To the right by at most all bits. */
    uint64_t shifted = is_unsigned ? (amount == 64 ? 0 : a >> amount)
                                   : (uint64_t)(value >> (amount == 64 ? 63 : amount));
    uint64_t rounding = amount == 0 || amount > 64 ? 0 : a >> (amount - 1) & 1;
    switch (opcode) {
    case 0x00: /* sshr, ushr */
        *out = shifted;
        return true;
    case 0x02: /* ssra, usra */
        *out = d + shifted;
        return true;
    case 0x04: /* rounded */
        *out = shifted + rounding;
        return true;
    case 0x06:
        *out = d + shifted + rounding;
        return true;
    case 0x08: { /* sri */
        uint64_t mask = amount == bits ? 0 : bytes_mask(size) >> amount;
        *out = (d & ~mask) | (amount == 64 ? 0 : a >> amount & mask);
        return is_unsigned;
    }
    case 0x0a: { /* shl, sli: amount is to the left */
        uint64_t kept = is_unsigned ? d & ((UINT64_C(1) << amount) - 1) : 0;
        *out = kept | a << amount;
        return true;
    }
    default:
        return false;
    }
}

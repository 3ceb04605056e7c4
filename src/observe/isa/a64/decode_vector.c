/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data processing in vector registers: family, registers read and written. Members of a family that
 * vector.c does not know, and whole families that are not told apart here, leave their result
 * unknown. Signal-safe.
 */
#include "isa/a64/decode.h"
#include "isa/a64/vector.h"

#include "signal_safe.h"

/* Conversions between general and vector registers, with or without a fixed point. */
static bool is_conversion(uint32_t word)
{
    bool scalar = field(word, 24, 7) == 0x1e;
    return scalar && (!bit(word, 21) || field(word, 10, 6) == 0);
}

static enum a64_vector_family scalar_family(uint32_t word)
{
    switch (field(word, 10, 2)) {
    case 1:
        return SCALAR_COMPARE_IF;
    case 2:
        return SCALAR_TWO;
    case 3:
        return SCALAR_SELECT;
    default:
        break;
    }
    if (field(word, 10, 3) == 4)
        return field(word, 5, 5) == 0 ? SCALAR_IMMEDIATE : VECTOR_NOT_MODELLED;
    if (field(word, 10, 6) == 8)
        return SCALAR_COMPARE;
    return field(word, 10, 5) == 16 ? SCALAR_ONE : VECTOR_NOT_MODELLED;
}

/* Bits 28..24 are 01110, or 11110 for scalar members. */
static enum a64_vector_family register_family(uint32_t word, bool scalar)
{
    bool u = bit(word, 29);
    if (bit(word, 21)) {
        if (bit(word, 10))
            return VECTOR_THREE_SAME;
        if (!bit(word, 11))
            return scalar ? VECTOR_NOT_MODELLED : VECTOR_THREE_DIFFERENT;
        switch (field(word, 17, 4)) {
        case 0:
            return VECTOR_TWO;
        case 8:
            return scalar ? VECTOR_PAIRWISE : VECTOR_ACROSS;
        default:
            return VECTOR_NOT_MODELLED;
        }
    }
    if (bit(word, 15))
        return VECTOR_NOT_MODELLED;
    if (bit(word, 10))
        return field(word, 22, 2) == 0 && (!scalar || (!u && field(word, 11, 4) == 0))
                   ? VECTOR_COPY
                   : VECTOR_NOT_MODELLED;
    if (scalar)
        return VECTOR_NOT_MODELLED;
    if (u)
        return field(word, 22, 2) == 0 ? VECTOR_EXTRACT : VECTOR_NOT_MODELLED;
    if (bit(word, 11))
        return VECTOR_PERMUTE;
    return field(word, 22, 2) == 0 ? VECTOR_TABLE : VECTOR_NOT_MODELLED;
}

/* Bits 28..24 are 01111, or 11111 for scalar members. */
static enum a64_vector_family immediate_family(uint32_t word, bool scalar)
{
    if (!bit(word, 10))
        return VECTOR_ELEMENT;
    if (bit(word, 23))
        return VECTOR_NOT_MODELLED;
    if (field(word, 19, 4) != 0)
        return VECTOR_SHIFT;
    return scalar || bit(word, 11) ? VECTOR_NOT_MODELLED : VECTOR_IMMEDIATE;
}

static enum a64_vector_family family_of(uint32_t word)
{
    unsigned top = field(word, 24, 8);
    if (is_conversion(word))
        return SCALAR_CONVERT;
    if (top == 0x1e)
        return scalar_family(word);
    if (top == 0x1f)
        return SCALAR_THREE;
    bool scalar = bit(word, 28);
    if (bit(word, 31) || (scalar && !bit(word, 30)))
        return VECTOR_NOT_MODELLED;
    return bit(word, 24) ? immediate_family(word, scalar) : register_family(word, scalar);
}

static bool writes_general(uint32_t word)
{
    unsigned opcode = field(word, 16, 3);
    bool moves_element = (word & 0xbfe08400) == 0x0e000400; /* dup, ins, umov, smov */
    if (is_conversion(word))
        return opcode != 2 && opcode != 3 && opcode != 7;
    return moves_element && (field(word, 11, 4) == 5 || field(word, 11, 4) == 7);
}

/* dup and ins of a general register, conversions to vector registers. */
static bool reads_general(uint32_t word)
{
    bool from_general = (word & 0xbfe0fc00) == 0x0e000c00 || (word & 0xffe0fc00) == 0x4e001c00;
    return from_general || (is_conversion(word) && !writes_general(word));
}

static bool writes_flags(uint32_t word)
{
    enum { FJCVTZS = 0x1e7e0000 };
    bool compares = field(word, 24, 8) == 0x1e && bit(word, 21) &&
                    (field(word, 10, 6) == 8 || field(word, 10, 2) == 1);
    return compares || (word & 0xfffffc00) == FJCVTZS;
}

static bool reads_m(uint32_t word, enum a64_vector_family family)
{
    switch (family) {
    case VECTOR_THREE_SAME:
    case VECTOR_THREE_DIFFERENT:
    case VECTOR_PERMUTE:
    case VECTOR_EXTRACT:
    case VECTOR_TABLE:
    case VECTOR_ELEMENT:
    case SCALAR_TWO:
    case SCALAR_THREE:
    case SCALAR_COMPARE_IF:
        return true;
    case SCALAR_COMPARE:
        return !bit(word, 3); /* else with zero */
    default:
        return false;
    }
}

/* Whether the result depends on what register d held. */
static bool reads_d(uint32_t word, enum a64_vector_family family)
{
    unsigned low = field(word, 11, 5), high = field(word, 12, 5), size = field(word, 22, 2);
    bool u = bit(word, 29), second_half = bit(word, 30);
    switch (family) {
    case VECTOR_THREE_SAME:
        return low == 0x0f || low == 0x12 || low == 0x19 || (low == 3 && u && size != 0);
    case VECTOR_THREE_DIFFERENT:
        high &= 15;
        return high == 5 || high == 8 || high == 10 || ((high == 4 || high == 6) && second_half);
    case VECTOR_TWO:
        return high == 6 || (high == 0x12 && second_half);
    case VECTOR_COPY:
        return (u && !bit(word, 28)) || field(word, 11, 4) == 3;
    case VECTOR_TABLE:
        return bit(word, 12);
    case VECTOR_IMMEDIATE:
        return bit(word, 12) && field(word, 12, 4) < 12;
    case VECTOR_SHIFT:
        return low == 2 || low == 6 || (u && (low == 8 || low == 0x0a)) ||
               ((low == 0x10 || low == 0x11) && second_half);
    case VECTOR_ELEMENT:
        return (field(word, 12, 4) & 10) == 0;
    case SCALAR_CONVERT: /* the lower half stays */
        return field(word, 16, 3) == 7 && field(word, 19, 2) == 1;
    default:
        return false;
    }
}

static bool computes_floats(uint32_t word, enum a64_vector_family family)
{
    unsigned high = field(word, 12, 5);
    switch (family) {
    case VECTOR_THREE_SAME:
        return field(word, 11, 5) >= 0x18;
    case VECTOR_TWO:
        return high >= 0x0c && high != 0x12 && high != 0x13;
    case VECTOR_ELEMENT:
        return bit(word, 12);
    case VECTOR_PAIRWISE:
        return high != 0x1b;
    case SCALAR_ONE: /* but for fmov, fabs, fneg */
        return field(word, 15, 6) > 2;
    case SCALAR_CONVERT: /* but for fmov */
        return field(word, 16, 3) < 6;
    case SCALAR_IMMEDIATE:
    case SCALAR_SELECT:
        return false;
    default:
        return family >= SCALAR_ONE;
    }
}

/* The constant of fmov, as the bits of a double or of a float. */
static uint64_t float_constant(unsigned imm8, bool wide)
{
    uint64_t sign = imm8 >> 7, low = imm8 & 0x3f;
    bool small = imm8 & 0x40;
    if (wide)
        return sign << 63 | (small ? UINT64_C(0x3fc) : UINT64_C(0x400)) << 52 | low << 48;
    return sign << 31 | (small ? UINT64_C(0x3e000000) : UINT64_C(0x40000000)) | low << 19;
}

/* AdvSIMDExpandImm of the manual. */
static uint64_t vector_constant(uint32_t word)
{
    unsigned cmode = field(word, 12, 4), imm8 = field(word, 16, 3) << 5 | field(word, 5, 5);
    bool op = bit(word, 29);
    uint64_t value = imm8;
    if (cmode < 8)
        return (value << 8 * (cmode >> 1)) * UINT64_C(0x100000001);
    if (cmode < 12)
        return (value << (cmode & 2 ? 8 : 0)) * UINT64_C(0x1000100010001);
    if (cmode < 14)
        return (cmode & 1 ? value << 16 | 0xffff : value << 8 | 0xff) * UINT64_C(0x100000001);
    if (cmode == 15)
        return op ? float_constant(imm8, true)
                  : float_constant(imm8, false) * UINT64_C(0x100000001);
    if (!op)
        return value * UINT64_C(0x0101010101010101);
    uint64_t bytes = 0;
    for (unsigned i = 0; i < 8; i++)
        bytes |= imm8 >> i & 1 ? UINT64_C(0xff) << 8 * i : 0;
    return bytes;
}

static void set_reads(struct a64_operation *op, enum a64_vector_family family)
{
    uint32_t word = op->word;
    unsigned n = register_at(word, 5), m = register_at(word, 16);
    op->n = (uint8_t)n;
    op->m = (uint8_t)m;
    if (family == VECTOR_IMMEDIATE || family == SCALAR_IMMEDIATE) {
        op->immediate = (int64_t)(family == VECTOR_IMMEDIATE
                                      ? vector_constant(word)
                                      : float_constant(field(word, 13, 8), bit(word, 22)));
    } else if (reads_general(word)) {
        op->n = (uint8_t)or_zero(n);
        op->reads |= general_bit(op->n);
    } else if (family != SCALAR_SELECT) { /* which reads only what is selected */
        op->reads |= vector_bit(n);
    }
    for (unsigned i = 1; family == VECTOR_TABLE && i <= field(word, 13, 2); i++)
        op->reads |= vector_bit(n + i);
    if (family == VECTOR_ELEMENT && field(word, 22, 2) == 1)
        m &= 15;
    if (reads_m(word, family))
        op->reads |= vector_bit(m);
    if (reads_d(word, family))
        op->reads |= vector_bit(register_at(word, 0));
    if (family == SCALAR_THREE)
        op->reads |= vector_bit(register_at(word, 10));
}

void a64_decode_vector(struct a64_operation *op)
{
    uint32_t word = op->word;
    unsigned d = register_at(word, 0);
    enum a64_vector_family family = family_of(word);
    op->code = A64_POISON;
    op->mode = writes_flags(word);
    op->unknown = op->mode ? UNKNOWN_RESULT_AND_FLAGS : UNKNOWN_RESULT;
    if (writes_general(word)) {
        op->d = (uint8_t)or_sink(d);
        op->writes = general_bit(op->d);
    } else if (!op->mode) {
        op->d = (uint8_t)d;
        op->writes = vector_bit(d);
    }
    if (family == VECTOR_NOT_MODELLED)
        return;
    op->code = A64_VECTOR;
    op->shift = (uint8_t)family;
    op->a = computes_floats(word, family);
    set_reads(op, family);
}

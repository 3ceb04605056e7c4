/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data processing in vector registers: which registers an instruction reads and writes. What it
 * computes is told by vector.c for those that it knows, and unknown for all others. Signal-safe.
 */
#include "isa/a64/decode.h"

#include "signal_safe.h"

/* Scalar floating point: bits 28..24 are 11110 and bit 30 is 0. */
static bool is_scalar(uint32_t word)
{
    return field(word, 24, 5) == 0x1e && !bit(word, 30);
}

/* Conversions between general and vector registers, with or without a fixed point. */
static bool is_conversion(uint32_t word)
{
    return is_scalar(word) && !bit(word, 29) && (!bit(word, 21) || field(word, 10, 6) == 0);
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
    bool compares = is_scalar(word) && !bit(word, 29) && bit(word, 21) &&
                    (field(word, 10, 6) == 8 || field(word, 10, 2) == 1);
    return compares || (word & 0xfffffc00) == FJCVTZS;
}

void a64_decode_vector(struct a64_operation *op)
{
    uint32_t word = op->word;
    unsigned d = register_at(word, 0), n = register_at(word, 5);
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
    if (!a64_vector_is_modelled(word))
        return;
    op->code = A64_VECTOR;
    op->n = (uint8_t)n;
    if (reads_general(word)) {
        op->n = (uint8_t)or_zero(n);
        op->reads = general_bit(op->n);
    } else {
        op->reads = vector_bit(n);
    }
}

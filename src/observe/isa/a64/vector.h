/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data processing in vector registers, by the families of section C4.1 of the manual. A handler
 * computes the new contents of register d, of which the caller sees that all registers read are
 * known; false: this member of the family is not modelled. Signal-safe.
 */
#ifndef REUSE_ISA_A64_VECTOR_H
#define REUSE_ISA_A64_VECTOR_H

#include <string.h>

#include "isa/a64/bytes.h"
#include "isa/a64/decode.h"
#include "isa/state.h"

enum a64_vector_family {
    VECTOR_NOT_MODELLED,
    VECTOR_THREE_SAME,
    VECTOR_THREE_DIFFERENT,
    VECTOR_TWO,       /* "two-register miscellaneous" */
    VECTOR_ACROSS,    /* from all lanes to one */
    VECTOR_COPY,      /* dup, ins, smov, umov */
    VECTOR_PERMUTE,   /* zip, uzp, trn */
    VECTOR_EXTRACT,   /* ext */
    VECTOR_TABLE,     /* tbl, tbx */
    VECTOR_IMMEDIATE, /* movi and its like */
    VECTOR_SHIFT,     /* by an immediate */
    VECTOR_ELEMENT,   /* "by indexed element" */
    VECTOR_PAIRWISE,  /* the two lanes of a scalar pair */
    SCALAR_ONE,       /* floating point from here on */
    SCALAR_TWO,
    SCALAR_THREE,
    SCALAR_IMMEDIATE,
    SCALAR_COMPARE,
    SCALAR_COMPARE_IF,
    SCALAR_SELECT,
    SCALAR_CONVERT, /* to and from general registers */
};

/* A register's contents on their way; bytes above those of the operation stay zero. */
struct a64_lanes {
    uint8_t bytes[16];
};

/* Lane i of size bytes, zero-extended. */
static inline uint64_t lane(const uint8_t *vector, unsigned i, unsigned size)
{
    uint64_t value = 0;
    memcpy(&value, vector + (size_t)i * size, size);
    return value;
}

static inline void set_lane(struct a64_lanes *lanes, unsigned i, unsigned size, uint64_t value)
{
    memcpy(lanes->bytes + (size_t)i * size, &value, size);
}

/* vector_move.c: nothing is computed. */
bool a64_vector_copy(struct interpreter *, const struct a64_operation *, struct a64_lanes *);
bool a64_vector_permute(struct interpreter *, const struct a64_operation *, struct a64_lanes *);
bool a64_vector_extract(struct interpreter *, const struct a64_operation *, struct a64_lanes *);
bool a64_vector_table(struct interpreter *, const struct a64_operation *, struct a64_lanes *);
bool a64_vector_immediate(struct interpreter *, const struct a64_operation *, struct a64_lanes *);

/* Bytes of the operands; scalar members have one lane. */
static inline unsigned vector_extent(uint32_t word, unsigned size)
{
    bool scalar = bit(word, 28);
    return scalar ? size : bit(word, 30) ? 16 : 8;
}

/* vector_arithmetic.c: one lane of integers; false if not modelled. */
bool a64_lane_three(unsigned opcode, bool is_unsigned, unsigned size, uint64_t a, uint64_t b,
                    uint64_t d, uint64_t *out);
bool a64_lane_two(unsigned opcode, bool is_unsigned, unsigned size, uint64_t a, uint64_t *out);
bool a64_lane_shift(unsigned opcode, bool is_unsigned, unsigned size, unsigned amount, uint64_t a,
                    uint64_t d, uint64_t *out);

/* vector_float.c: one lane of floating-point numbers of 4 or 8 bytes; false also for results that
 * are not a number, whose bits depend on more than is followed here. */
enum a64_float_operation {
    FLOAT_ADD,
    FLOAT_SUBTRACT,
    FLOAT_MULTIPLY,
    FLOAT_DIVIDE,
    FLOAT_MAXIMUM,
    FLOAT_MINIMUM,
    FLOAT_MAXIMUM_NUMBER,
    FLOAT_MINIMUM_NUMBER,
    FLOAT_NEGATED_PRODUCT,
    FLOAT_DIFFERENCE, /* absolute */
    FLOAT_EQUAL,      /* comparisons: all ones or zeros */
    FLOAT_GREATER_EQUAL,
    FLOAT_GREATER,
    FLOAT_OPERATIONS,
};
bool a64_float_two(enum a64_float_operation, unsigned size, uint64_t a, uint64_t b, uint64_t *out);
/* d + a * b, with the signs of the product and of d changed first. */
bool a64_float_multiply_add(unsigned size, uint64_t a, uint64_t b, uint64_t d, bool minus_product,
                            bool minus_d, uint64_t *out);
bool a64_float_root(uint64_t value, unsigned size, uint64_t *out);
bool a64_float_from_integer(uint64_t value, bool is_unsigned, unsigned from, unsigned size,
                            uint64_t *out);
/* Rounded to zero, within limits. */
uint64_t a64_float_to_integer_lane(uint64_t value, bool is_unsigned, unsigned size);
/* Scalar instructions, and those between registers of both kinds. */
bool a64_scalar(struct interpreter *, const struct a64_operation *, uint64_t poison,
                struct a64_lanes *);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an A64 instruction is decoded into: one operation each. It depends on nothing but the
 * instruction's 32 bits, so that decoded operations can be kept by these and never go stale.
 */
#ifndef REUSE_ISA_A64_OPERATION_H
#define REUSE_ISA_A64_OPERATION_H

#include <stdbool.h>
#include <stdint.h>

/* Register numbers: 0..30 are x0..x30. Encoding 31 is the stack pointer or zero, by instruction. */
enum {
    REGISTER_SP = 31,
    REGISTER_ZERO = 32, /* reads as zero, never unknown */
    REGISTER_SINK = 33, /* a result that is thrown away */
    REGISTER_SLOTS = 34,
    VECTOR_BYTES = 64, /* of a Z register; longer ones are not modelled */
};

/* Positions in masks of registers. Zero and the sink have none. */
static inline uint64_t general_bit(unsigned r)
{
    return r < REGISTER_ZERO ? UINT64_C(1) << r : 0;
}

static inline uint64_t vector_bit(unsigned v)
{
    return UINT64_C(1) << (32 + v % 32);
}

/* clang-format off */
/* Second operand: immediate; register shifted left by shift; as mode says. */
#define A64_OF_OPERANDS(X, name) X(name##_32_I) X(name##_32_R) X(name##_32_X) \
                                 X(name##_64_I) X(name##_64_R) X(name##_64_X)
#define A64_OF_WIDTHS(X, name) X(name##_32) X(name##_64)
#define A64_OPERATIONS(X) \
    X(UNKNOWN)             /* stops; 0, so that an empty entry is that of the word 0 (udf) */ \
    X(NOTHING) \
    X(POISON)              /* not modelled: writes becomes unknown, with mode the flags as well */ \
    X(SYSTEM_CALL) \
    X(MOVE)                /* d = immediate */ \
    X(KEEP_32) X(KEEP_64)  /* movk: d = d with 16 bits of immediate at shift */ \
    X(ADDRESS)             /* d = ip + immediate */ \
    X(PAGE_ADDRESS)        /* d = page of ip + immediate */ \
    A64_OF_OPERANDS(X, ADD) A64_OF_OPERANDS(X, SUB) \
    A64_OF_OPERANDS(X, ADDS) A64_OF_OPERANDS(X, SUBS) \
    A64_OF_OPERANDS(X, AND) A64_OF_OPERANDS(X, ORR) \
    A64_OF_OPERANDS(X, EOR) A64_OF_OPERANDS(X, ANDS) \
    /* carry in; mode: sets the flags; a: m is inverted */ \
    A64_OF_WIDTHS(X, ADC) \
    /* bitfields: shift: lowest bit, width: bits */ \
    X(EXTRACT) A64_OF_WIDTHS(X, EXTRACT_SIGNED)   /* d = field of n */ \
    X(PLACE) A64_OF_WIDTHS(X, PLACE_SIGNED)       /* d = low bits of n at the field */ \
    A64_OF_WIDTHS(X, COPY_LOW)   /* bfxil: d's low bits = field of n */ \
    A64_OF_WIDTHS(X, COPY_FIELD) /* bfi: d's field = low bits of n */ \
    A64_OF_WIDTHS(X, EXTRACT_PAIR) /* extr */ \
    /* conditional; shift: condition */ \
    A64_OF_WIDTHS(X, SELECT)     /* mode: 0 m, 1 m + 1, 2 ~m, 3 -m otherwise */ \
    A64_OF_WIDTHS(X, COMPARE_IF) /* immediate or (a) register; mode: compare negative; width: else */ \
    A64_OF_WIDTHS(X, MULTIPLY_ADD) A64_OF_WIDTHS(X, MULTIPLY_SUBTRACT) \
    X(MULTIPLY_LONG)       /* mode: 1 subtract, 2 signed */ \
    X(MULTIPLY_HIGH)       /* mode: 2 signed */ \
    A64_OF_WIDTHS(X, UDIV) A64_OF_WIDTHS(X, SDIV) \
    A64_OF_WIDTHS(X, LSLV) A64_OF_WIDTHS(X, LSRV) A64_OF_WIDTHS(X, ASRV) A64_OF_WIDTHS(X, RORV) \
    X(CRC32)               /* width: bytes; mode: Castagnoli */ \
    X(ONE_SOURCE)          /* immediate: opcode; width: bytes */ \
    X(ROTATE_FLAGS)        /* rmif: shift, mode: mask */ \
    X(SET_FLAGS_OF)        /* setf8, setf16: width in bits */ \
    X(INVERT_CARRY) \
    X(READ_SYSTEM) X(WRITE_SYSTEM) /* immediate: the register's number */ \
    X(AUTHENTICATE)        /* d by modifier n; mode: enum a64_authentication */ \
    X(CLEAR_MONITOR) \
    /* branches; immediate: distance */ \
    X(BRANCH) X(BRANCH_LINK) X(BRANCH_IF) \
    A64_OF_WIDTHS(X, BRANCH_ZERO) A64_OF_WIDTHS(X, BRANCH_NONZERO) \
    X(BRANCH_BIT_CLEAR) X(BRANCH_BIT_SET) \
    X(BRANCH_REGISTER) X(CALL_REGISTER) X(RETURN) /* mode: the address is authenticated */ \
    /* memory; mode: enum a64_addressing */ \
    X(LOAD_8) X(LOAD_16) X(LOAD_32) X(LOAD_64) \
    A64_OF_WIDTHS(X, LOAD_SIGNED) \
    X(STORE_8) X(STORE_16) X(STORE_32) X(STORE_64) \
    X(LOAD_PAIR) X(LOAD_PAIR_SIGNED) X(STORE_PAIR) /* d, a; width: bytes of one */ \
    X(VECTOR_LOAD) X(VECTOR_STORE) X(VECTOR_LOAD_PAIR) X(VECTOR_STORE_PAIR) \
    X(LOAD_EXCLUSIVE) X(STORE_EXCLUSIVE) /* d, and of a pair a; m: status; width: bytes of one */ \
    X(COMPARE_AND_SWAP)    /* m compared, d stored; shift: a pair of registers each */ \
    X(ATOMIC)              /* shift: opcode, 8: swap; m operand, d old value */ \
    X(ZERO_BLOCK)          /* dc zva */ \
    X(STRUCTURE)           /* ld1..ld4, st1..st4: see structure.c */ \
    X(VECTOR)              /* data processing in vector registers: see vector.c */ \
    X(SCALABLE)            /* see scalable.c */
/* clang-format on */

enum a64_code {
#define ENUMERATE(name) A64_##name,
    A64_OPERATIONS(ENUMERATE)
#undef ENUMERATE
        A64_CODES
};

/* How the second operand of arithmetic comes from register m (shift: by how much). */
enum a64_operand {
    OPERAND_UXTB,
    OPERAND_UXTH,
    OPERAND_UXTW,
    OPERAND_UXTX, /* also a shift to the left */
    OPERAND_SXTB,
    OPERAND_SXTH,
    OPERAND_SXTW,
    OPERAND_SXTX,
    OPERAND_LSR_32,
    OPERAND_LSR_64,
    OPERAND_ASR_32,
    OPERAND_ASR_64,
    OPERAND_ROR_32,
    OPERAND_ROR_64,
    OPERAND_INVERTED = 0x80,
};

enum a64_addressing {
    ADDRESSING_OFFSET,  /* n + immediate */
    ADDRESSING_PRE,     /* the same, and n becomes the address */
    ADDRESSING_POST,    /* n, and n grows by immediate */
    ADDRESSING_POST_BY, /* n, and n grows by m */
    ADDRESSING_LITERAL, /* ip + immediate */
    ADDRESSING_LSL,     /* n + (m << shift) */
    ADDRESSING_UXTW,
    ADDRESSING_SXTW,
};

enum a64_authentication { SIGN_A, SIGN_B, AUTHENTICATE_OR_STRIP };

/* What it means if one of the registers read is unknown. */
enum a64_unknown {
    UNKNOWN_RESULT,           /* registers written become unknown */
    UNKNOWN_RESULT_AND_FLAGS, /* and the flags */
    UNKNOWN_ADDRESS,          /* stop */
    UNKNOWN_BRANCH,           /* stop */
};

struct a64_operation {
    uint32_t word;
    uint8_t code;    /* enum a64_code */
    uint8_t unknown; /* enum a64_unknown */
    uint8_t d, n, m, a;
    uint8_t width; /* bytes of a memory operand or of one element of it */
    uint8_t shift;
    uint8_t mode;
    uint8_t accesses; /* at most */
    int64_t immediate;
    /* Registers that must be known, and that are written. What a store stores, and what an
     * instruction looks after itself, is not among those read. */
    uint64_t reads, writes;
};

/* Decodes any word; what is not known, or is not for programs, becomes A64_UNKNOWN. Pure. */
void a64_decode(uint32_t word, struct a64_operation *);

#endif

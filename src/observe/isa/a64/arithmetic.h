/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arithmetic of general registers: flags, and the cases of the interpreter's switch (execute.c)
 * that differ in width and operands only. They use its variables r, op, flags, poison, fresh,
 * flag_result, flag_extended, tested, taken.
 */
#ifndef REUSE_ISA_A64_ARITHMETIC_H
#define REUSE_ISA_A64_ARITHMETIC_H

#include "isa/a64/execute.h"

static inline uint32_t flags_of_64(uint64_t result, bool carry, bool overflow)
{
    return (result >> 63 ? FLAG_N : 0) | (result == 0 ? FLAG_Z : 0) | (carry ? FLAG_C : 0) |
           (overflow ? FLAG_V : 0);
}

static inline void set_flags(struct a64_flags *flags, uint32_t nzcv, int64_t result)
{
    flags->nzcv = nzcv;
    flags->unknown = false;
    flags->from_result = true;
    flags->result = result;
}

/* a + b + carry with flags. */
#define ADD_WITH_FLAGS(bits)                                                                       \
    static inline uint64_t add_with_flags_##bits(struct a64_flags *flags, uint##bits##_t a,        \
                                                 uint##bits##_t b, bool carry)                     \
    {                                                                                              \
        uint##bits##_t result = (uint##bits##_t)(a + b + carry);                                   \
        int64_t extended = (int##bits##_t)result;                                                  \
        bool carries = carry ? result <= a : result < a;                                           \
        bool overflows = ((a ^ result) & (b ^ result)) >> (bits - 1);                              \
        set_flags(flags, flags_of_64((uint64_t)extended, carries, overflows), extended);           \
        return result;                                                                             \
    }
ADD_WITH_FLAGS(32)
ADD_WITH_FLAGS(64)

static inline uint32_t rotate_32(uint32_t value, unsigned by)
{
    return by == 0 ? value : value >> by | value << (32 - by);
}

static inline uint64_t rotate_64(uint64_t value, unsigned by)
{
    return by == 0 ? value : value >> by | value << (64 - by);
}

#define OF_OPERANDS(name, bits, expression)                                                        \
    case A64_##name##_##bits##_I: {                                                                \
        const uint##bits##_t a = (uint##bits##_t)r[op->n], b = (uint##bits##_t)op->immediate;      \
        r[op->d] = expression;                                                                     \
        break;                                                                                     \
    }                                                                                              \
    case A64_##name##_##bits##_R: {                                                                \
        const uint##bits##_t a = (uint##bits##_t)r[op->n],                                         \
                             b = (uint##bits##_t)(r[op->m] << op->shift);                          \
        r[op->d] = expression;                                                                     \
        break;                                                                                     \
    }                                                                                              \
    case A64_##name##_##bits##_X: {                                                                \
        const uint##bits##_t a = (uint##bits##_t)r[op->n],                                         \
                             b = (uint##bits##_t)a64_operand(op, r[op->m]);                        \
        r[op->d] = expression;                                                                     \
        break;                                                                                     \
    }
#define ARITHMETIC(bits)                                                                           \
    OF_OPERANDS(ADD, bits, (uint##bits##_t)(a + b))                                                \
    OF_OPERANDS(SUB, bits, (uint##bits##_t)(a - b))                                                \
    OF_OPERANDS(ADDS, bits, add_with_flags_##bits(flags, a, b, false))                             \
    OF_OPERANDS(SUBS, bits, add_with_flags_##bits(flags, a, (uint##bits##_t) ~b, true))            \
    OF_OPERANDS(AND, bits, a &b)                                                                   \
    OF_OPERANDS(ORR, bits, a | b)                                                                  \
    OF_OPERANDS(EOR, bits, a ^ b)                                                                  \
    OF_OPERANDS(                                                                                   \
        ANDS, bits,                                                                                \
        (flag_result = a & b, flag_extended = (int##bits##_t)flag_result,                          \
         set_flags(flags, flags_of_64((uint64_t)flag_extended, false, false), flag_extended),      \
         (uint##bits##_t)flag_result))

#define OF_WIDTH(bits)                                                                             \
    case A64_KEEP_##bits:                                                                          \
        r[op->d] = (uint##bits##_t)((r[op->d] & ~(UINT64_C(0xffff) << op->shift)) |                \
                                    (uint64_t)op->immediate);                                      \
        break;                                                                                     \
    case A64_ADC_##bits: {                                                                         \
        if (flags->unknown) {                                                                      \
            fresh = op->writes;                                                                    \
            break;                                                                                 \
        }                                                                                          \
        uint##bits##_t a = (uint##bits##_t)r[op->n];                                               \
        uint##bits##_t b = (uint##bits##_t)(op->a ? ~r[op->m] : r[op->m]);                         \
        bool carry = flags->nzcv & FLAG_C;                                                         \
        r[op->d] = op->mode ? add_with_flags_##bits(flags, a, b, carry)                            \
                            : (uint##bits##_t)(a + b + carry);                                     \
        break;                                                                                     \
    }                                                                                              \
    case A64_EXTRACT_SIGNED_##bits:                                                                \
        r[op->d] = (uint##bits##_t)((int64_t)(r[op->n] << (64 - op->shift - op->width)) >>         \
                                    (64 - op->width));                                             \
        break;                                                                                     \
    case A64_PLACE_SIGNED_##bits:                                                                  \
        r[op->d] = (uint##bits##_t)(                                                               \
            (uint64_t)((int64_t)(r[op->n] << (64 - op->width)) >> (64 - op->width)) << op->shift); \
        break;                                                                                     \
    case A64_COPY_LOW_##bits: {                                                                    \
        uint64_t mask = store_buffer_mask(op->width);                                              \
        r[op->d] = (uint##bits##_t)((r[op->d] & ~mask) | (r[op->n] >> op->shift & mask));          \
        break;                                                                                     \
    }                                                                                              \
    case A64_COPY_FIELD_##bits: {                                                                  \
        uint64_t mask = store_buffer_mask(op->width) << op->shift;                                 \
        r[op->d] = (uint##bits##_t)((r[op->d] & ~mask) | (r[op->n] << op->shift & mask));          \
        break;                                                                                     \
    }                                                                                              \
    case A64_SELECT_##bits: {                                                                      \
        bool first = a64_condition(op->shift, flags->nzcv);                                        \
        unsigned chosen = first ? op->n : op->m;                                                   \
        uint64_t value = r[chosen];                                                                \
        if (unlikely((flags->unknown && op->n != op->m) || poison & general_bit(chosen)))          \
            fresh = op->writes;                                                                    \
        if (flags->unknown && op->mode)                                                            \
            fresh = op->writes;                                                                    \
        if (!first && op->mode)                                                                    \
            value = op->mode == 1 ? value + 1 : op->mode == 2 ? ~value : -value;                   \
        r[op->d] = (uint##bits##_t)value;                                                          \
        break;                                                                                     \
    }                                                                                              \
    case A64_COMPARE_IF_##bits:                                                                    \
        if (flags->unknown)                                                                        \
            break;                                                                                 \
        if (a64_condition(op->shift, flags->nzcv)) {                                               \
            uint##bits##_t a = (uint##bits##_t)r[op->n],                                           \
                           b = (uint##bits##_t)(op->a ? r[op->m] : (uint64_t)op->immediate);       \
            add_with_flags_##bits(flags, a, op->mode ? b : (uint##bits##_t) ~b, !op->mode);        \
        } else {                                                                                   \
            flags->nzcv = op->width;                                                               \
            flags->from_result = false;                                                            \
        }                                                                                          \
        break;                                                                                     \
    case A64_MULTIPLY_ADD_##bits:                                                                  \
        r[op->d] = (uint##bits##_t)(r[op->a] + r[op->n] * r[op->m]);                               \
        break;                                                                                     \
    case A64_MULTIPLY_SUBTRACT_##bits:                                                             \
        r[op->d] = (uint##bits##_t)(r[op->a] - r[op->n] * r[op->m]);                               \
        break;                                                                                     \
    case A64_UDIV_##bits: {                                                                        \
        uint##bits##_t a = (uint##bits##_t)r[op->n], b = (uint##bits##_t)r[op->m];                 \
        r[op->d] = b == 0 ? 0 : a / b;                                                             \
        break;                                                                                     \
    }                                                                                              \
    case A64_SDIV_##bits: {                                                                        \
        int##bits##_t a = (int##bits##_t)r[op->n], b = (int##bits##_t)r[op->m];                    \
        r[op->d] = b == 0    ? 0                                                                   \
                   : b == -1 ? (uint##bits##_t)(0 - (uint##bits##_t)a)                             \
                             : (uint##bits##_t)(a / b);                                            \
        break;                                                                                     \
    }                                                                                              \
    case A64_LSLV_##bits:                                                                          \
        r[op->d] = (uint##bits##_t)(r[op->n] << (r[op->m] % bits));                                \
        break;                                                                                     \
    case A64_LSRV_##bits:                                                                          \
        r[op->d] = (uint##bits##_t)r[op->n] >> (r[op->m] % bits);                                  \
        break;                                                                                     \
    case A64_ASRV_##bits:                                                                          \
        r[op->d] = (uint##bits##_t)((int##bits##_t)r[op->n] >> (r[op->m] % bits));                 \
        break;                                                                                     \
    case A64_RORV_##bits:                                                                          \
        r[op->d] = rotate_##bits((uint##bits##_t)r[op->n], (unsigned)r[op->m] % bits);             \
        break;                                                                                     \
    case A64_EXTRACT_PAIR_##bits:                                                                  \
        r[op->d] = op->shift == 0 ? (uint##bits##_t)r[op->m]                                       \
                                  : (uint##bits##_t)((uint##bits##_t)r[op->m] >> op->shift |       \
                                                     r[op->n] << (bits - op->shift));              \
        break;                                                                                     \
    case A64_BRANCH_ZERO_##bits:                                                                   \
        tested = (int##bits##_t)r[op->n];                                                          \
        taken = tested == 0;                                                                       \
        goto compared;                                                                             \
    case A64_BRANCH_NONZERO_##bits:                                                                \
        tested = (int##bits##_t)r[op->n];                                                          \
        taken = tested != 0;                                                                       \
        goto compared;

#endif

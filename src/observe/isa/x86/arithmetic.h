/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arithmetic handlers of the hot loop (x86_execute.c), as macros: each is a label and a body
 * for one operation, width and kind of source. They use that function's variables.
 */
#ifndef REUSE_ISA_X86_ARITHMETIC_H
#define REUSE_ISA_X86_ARITHMETIC_H

#define WRITE_8(value) r[op->d] = (r[op->d] & ~UINT64_C(0xff)) | (uint8_t)(value)
#define WRITE_16(value) r[op->d] = (r[op->d] & ~UINT64_C(0xffff)) | (uint16_t)(value)
#define WRITE_32(value) r[op->d] = (uint32_t)(value)
#define WRITE_64(value) r[op->d] = (value)
#define SOURCE_R(bits) ((uint##bits##_t)r[op->s])
#define SOURCE_I(bits) ((uint##bits##_t)op->immediate)
#define DESTINATION(bits) ((uint##bits##_t)r[op->d])

/* Records result and carries, an unsigned integer of this many bits. */
#define SET_FLAGS(bits, value_, carry_vector, unknown)                                             \
    do {                                                                                           \
        uint64_t vector_ = (uint##bits##_t)(carry_vector);                                         \
        flags->result = (uint64_t)(int64_t)(int##bits##_t)(value_);                                \
        flags->carries = vector_ << (64 - bits) | vector_;                                         \
        flags->kind = (unknown);                                                                   \
    } while (0)
#define CARRIES_OF_SUM(a, b, sum) (((a) & (b)) | (((a) | (b)) & ~(sum)))
#define CARRIES_OF_DIFFERENCE(a, b, difference) ((~(a) & (b)) | (~((a) ^ (b)) & (difference)))

/* One handler for each width and source kind. */
#define FOR_WIDTHS(MACRO) MACRO(8) MACRO(16) MACRO(32) MACRO(64)
#define FOR_SOURCES(MACRO)                                                                         \
    MACRO(8, R)                                                                                    \
    MACRO(8, I) MACRO(16, R) MACRO(16, I) MACRO(32, R) MACRO(32, I) MACRO(64, R) MACRO(64, I)
#define FOR_CONDITIONS(MACRO)                                                                      \
    MACRO(O, 0, lazy_of(flags))                                                                    \
    MACRO(NO, 1, !lazy_of(flags))                                                                  \
    MACRO(B, 2, lazy_cf(flags))                                                                    \
    MACRO(NB, 3, !lazy_cf(flags))                                                                  \
    MACRO(Z, 4, flags->result == 0)                                                                \
    MACRO(NZ, 5, flags->result != 0)                                                               \
    MACRO(BE, 6, lazy_cf(flags) || flags->result == 0)                                             \
    MACRO(NBE, 7, !lazy_cf(flags) && flags->result != 0)                                           \
    MACRO(S, 8, (int64_t)flags->result < 0)                                                        \
    MACRO(NS, 9, (int64_t)flags->result >= 0)                                                      \
    MACRO(P, 10, lazy_pf(flags))                                                                   \
    MACRO(NP, 11, !lazy_pf(flags))                                                                 \
    MACRO(L, 12, ((int64_t)flags->result < 0) != lazy_of(flags))                                   \
    MACRO(NL, 13, ((int64_t)flags->result < 0) == lazy_of(flags))                                  \
    MACRO(LE, 14, flags->result == 0 || ((int64_t)flags->result < 0) != lazy_of(flags))            \
    MACRO(NLE, 15, flags->result != 0 && ((int64_t)flags->result < 0) == lazy_of(flags))
/* taken = condition; runs otherwise if it depends on a flag that is unknown. */
#define EVALUATE(number, expression, otherwise)                                                    \
    if (unlikely(flags->kind & (FLAGS_FROM_VALUE | condition_flags(number)))) {                    \
        if (flags->kind & condition_flags(number))                                                 \
            otherwise;                                                                             \
        taken = condition_of_value(lazy_flags_value(flags), number);                               \
    } else {                                                                                       \
        taken = (expression);                                                                      \
    }
/* carry = CF; runs otherwise if it is unknown. */
#define EVALUATE_CARRY(otherwise)                                                                  \
    if (unlikely(flags->kind & FLAG_CF))                                                           \
        otherwise;                                                                                 \
    carry = flags->kind & FLAGS_FROM_VALUE ? flags->value & FLAG_CF : lazy_cf(flags);

#define ADD(bits, source)                                                                          \
    do_ADD_##bits##_##source:                                                                      \
    {                                                                                              \
        uint##bits##_t a = DESTINATION(bits), b = SOURCE_##source(bits);                           \
        uint##bits##_t sum = (uint##bits##_t)(a + b);                                              \
        WRITE_##bits(sum);                                                                         \
        SET_FLAGS(bits, sum, CARRIES_OF_SUM(a, b, sum), 0);                                        \
        NEXT;                                                                                      \
    }
#define SUB(bits, source)                                                                          \
    do_SUB_##bits##_##source:                                                                      \
    {                                                                                              \
        uint##bits##_t a = DESTINATION(bits), b = SOURCE_##source(bits);                           \
        uint##bits##_t difference = (uint##bits##_t)(a - b);                                       \
        WRITE_##bits(difference);                                                                  \
        SET_FLAGS(bits, difference, CARRIES_OF_DIFFERENCE(a, b, difference), 0);                   \
        NEXT;                                                                                      \
    }
#define CMP(bits, source)                                                                          \
    do_CMP_##bits##_##source:                                                                      \
    {                                                                                              \
        uint##bits##_t a = DESTINATION(bits), b = SOURCE_##source(bits);                           \
        uint##bits##_t difference = (uint##bits##_t)(a - b);                                       \
        SET_FLAGS(bits, difference, CARRIES_OF_DIFFERENCE(a, b, difference), 0);                   \
        NEXT;                                                                                      \
    }
#define ADC(bits, source)                                                                          \
    do_ADC_##bits##_##source:                                                                      \
    {                                                                                              \
        EVALUATE_CARRY(goto result_unknown)                                                        \
        uint##bits##_t a = DESTINATION(bits), b = SOURCE_##source(bits);                           \
        uint##bits##_t sum = (uint##bits##_t)(a + b + carry);                                      \
        WRITE_##bits(sum);                                                                         \
        SET_FLAGS(bits, sum, CARRIES_OF_SUM(a, b, sum), 0);                                        \
        NEXT;                                                                                      \
    }
#define SBB(bits, source)                                                                          \
    do_SBB_##bits##_##source:                                                                      \
    {                                                                                              \
        EVALUATE_CARRY(goto result_unknown)                                                        \
        uint##bits##_t a = DESTINATION(bits), b = SOURCE_##source(bits);                           \
        uint##bits##_t difference = (uint##bits##_t)(a - b - carry);                               \
        WRITE_##bits(difference);                                                                  \
        SET_FLAGS(bits, difference, CARRIES_OF_DIFFERENCE(a, b, difference), 0);                   \
        NEXT;                                                                                      \
    }
#define LOGIC(name, operator, bits, source)                                                        \
    do_##name##_##bits##_##source:                                                                 \
    {                                                                                              \
        uint##bits##_t result =                                                                    \
            (uint##bits##_t)(DESTINATION(bits) operator SOURCE_##source(bits));                    \
        WRITE_##bits(result);                                                                      \
        SET_FLAGS(bits, result, 0, FLAG_AF);                                                       \
        NEXT;                                                                                      \
    }
#define AND(bits, source) LOGIC(AND, &, bits, source)
#define OR(bits, source) LOGIC(OR, |, bits, source)
#define XOR(bits, source) LOGIC(XOR, ^, bits, source)
#define TEST(bits, source)                                                                         \
    do_TEST_##bits##_##source:                                                                     \
    {                                                                                              \
        uint##bits##_t result = (uint##bits##_t)(DESTINATION(bits) & SOURCE_##source(bits));       \
        SET_FLAGS(bits, result, 0, FLAG_AF);                                                       \
        NEXT;                                                                                      \
    }
/* inc and dec keep CF: it goes where the topmost carry would be, and OF along. */
#define KEEP_CARRY(bits, value_, vector)                                                           \
    do {                                                                                           \
        uint32_t unknown = flags->kind & FLAG_CF;                                                  \
        carry = flags->kind & FLAGS_FROM_VALUE ? flags->value & FLAG_CF : lazy_cf(flags);          \
        SET_FLAGS(bits, value_, vector, unknown);                                                  \
        bool overflow = lazy_of(flags);                                                            \
        flags->carries = (flags->carries & (UINT64_MAX >> 2)) | (uint64_t)carry << 63 |            \
                         (uint64_t)(carry != overflow) << 62;                                      \
    } while (0)
#define INC(bits)                                                                                  \
    do_INC_##bits:                                                                                 \
    {                                                                                              \
        uint##bits##_t a = DESTINATION(bits), sum = (uint##bits##_t)(a + 1);                       \
        WRITE_##bits(sum);                                                                         \
        KEEP_CARRY(bits, sum, CARRIES_OF_SUM(a, (uint##bits##_t)1, sum));                          \
        NEXT;                                                                                      \
    }
#define DEC(bits)                                                                                  \
    do_DEC_##bits:                                                                                 \
    {                                                                                              \
        uint##bits##_t a = DESTINATION(bits), difference = (uint##bits##_t)(a - 1);                \
        WRITE_##bits(difference);                                                                  \
        KEEP_CARRY(bits, difference, CARRIES_OF_DIFFERENCE(a, (uint##bits##_t)1, difference));     \
        NEXT;                                                                                      \
    }
#define NEG(bits)                                                                                  \
    do_NEG_##bits:                                                                                 \
    {                                                                                              \
        uint##bits##_t b = DESTINATION(bits), difference = (uint##bits##_t)(0 - b);                \
        WRITE_##bits(difference);                                                                  \
        SET_FLAGS(bits, difference, CARRIES_OF_DIFFERENCE((uint##bits##_t)0, b, difference), 0);   \
        NEXT;                                                                                      \
    }
#define NOT(bits)                                                                                  \
    do_NOT_##bits : WRITE_##bits(~r[op->d]);                                                       \
    NEXT;
#define COUNT(bits, source) ((unsigned)SOURCE_##source(8) & (bits == 64 ? 63u : 31u))
#define SHIFT_FLAGS(bits, value_, cf, of, unknown)                                                 \
    do {                                                                                           \
        flags->result = (uint64_t)(int64_t)(int##bits##_t)(value_);                                \
        flags->carries = (uint64_t)(cf) << 63 | (uint64_t)((cf) != (of)) << 62;                    \
        flags->kind = FLAG_AF | (n == 1 ? 0 : FLAG_OF) | (unknown);                                \
    } while (0)
#define SHL(bits, source)                                                                          \
    do_SHL_##bits##_##source:                                                                      \
    {                                                                                              \
        unsigned n = COUNT(bits, source);                                                          \
        uint##bits##_t a = DESTINATION(bits);                                                      \
        uint##bits##_t result = (uint##bits##_t)(n < bits ? a << n : 0);                           \
        WRITE_##bits(result);                                                                      \
        if (n) {                                                                                   \
            bool out_ = n <= bits && (a >> (bits - n) & 1);                                        \
            SHIFT_FLAGS(bits, result, out_, out_ != (bool)(result >> (bits - 1)),                  \
                        n < bits ? 0 : FLAG_CF);                                                   \
        }                                                                                          \
        NEXT;                                                                                      \
    }
#define SHR(bits, source)                                                                          \
    do_SHR_##bits##_##source:                                                                      \
    {                                                                                              \
        unsigned n = COUNT(bits, source);                                                          \
        uint##bits##_t a = DESTINATION(bits);                                                      \
        uint##bits##_t result = (uint##bits##_t)(n < bits ? a >> n : 0);                           \
        WRITE_##bits(result);                                                                      \
        if (n) {                                                                                   \
            bool out_ = n <= bits && (a >> (n - 1) & 1);                                           \
            SHIFT_FLAGS(bits, result, out_, (bool)(a >> (bits - 1)), n < bits ? 0 : FLAG_CF);      \
        }                                                                                          \
        NEXT;                                                                                      \
    }
#define SAR(bits, source)                                                                          \
    do_SAR_##bits##_##source:                                                                      \
    {                                                                                              \
        unsigned n = COUNT(bits, source);                                                          \
        int64_t a = (int##bits##_t)r[op->d];                                                       \
        WRITE_##bits((uint64_t)(a >> n));                                                          \
        if (n)                                                                                     \
            SHIFT_FLAGS(bits, a >> n, a >> (n - 1) & 1, false, 0);                                 \
        NEXT;                                                                                      \
    }
#define ROL(bits, source)                                                                          \
    do_ROL_##bits##_##source:                                                                      \
    {                                                                                              \
        unsigned n = COUNT(bits, source);                                                          \
        uint##bits##_t a = DESTINATION(bits);                                                      \
        uint##bits##_t result = (uint##bits##_t)(a << n % bits | a >> (bits - n) % bits);          \
        WRITE_##bits(result);                                                                      \
        if (n)                                                                                     \
            lazy_flags_assign(flags,                                                               \
                              (result & 1 ? FLAG_CF : 0) |                                         \
                                  ((result >> (bits - 1) ^ result) & 1 ? FLAG_OF : 0),             \
                              FLAG_CF | FLAG_OF, n == 1 ? 0 : FLAG_OF);                            \
        NEXT;                                                                                      \
    }
#define ROR(bits, source)                                                                          \
    do_ROR_##bits##_##source:                                                                      \
    {                                                                                              \
        unsigned n = COUNT(bits, source);                                                          \
        uint##bits##_t a = DESTINATION(bits);                                                      \
        uint##bits##_t result = (uint##bits##_t)(a >> n % bits | a << (bits - n) % bits);          \
        WRITE_##bits(result);                                                                      \
        if (n)                                                                                     \
            lazy_flags_assign(                                                                     \
                flags,                                                                             \
                (result >> (bits - 1) ? FLAG_CF : 0) |                                             \
                    ((result >> (bits - 1) ^ result >> (bits - 2)) & 1 ? FLAG_OF : 0),             \
                FLAG_CF | FLAG_OF, n == 1 ? 0 : FLAG_OF);                                          \
        NEXT;                                                                                      \
    }
#define BIT_TEST(bits)                                                                             \
    do_BIT_TEST_##bits:                                                                            \
    {                                                                                              \
        unsigned n = (unsigned)r[op->s] & (bits - 1);                                              \
        uint64_t value = r[op->d], bit = UINT64_C(1) << n;                                         \
        lazy_flags_assign(flags, value &bit ? FLAG_CF : 0, FLAG_CF,                                \
                          FLAG_OF | FLAG_SF | FLAG_AF | FLAG_PF);                                  \
        if (op->scale == 1)                                                                        \
            WRITE_##bits(value | bit);                                                             \
        else if (op->scale == 2)                                                                   \
            WRITE_##bits(value & ~bit);                                                            \
        else if (op->scale == 3)                                                                   \
            WRITE_##bits(value ^ bit);                                                             \
        NEXT;                                                                                      \
    }
#define MULTIPLY(name, bits, a, b)                                                                 \
    do_##name##_##bits:                                                                            \
    {                                                                                              \
        int##bits##_t product;                                                                     \
        bool wide = __builtin_mul_overflow((int##bits##_t)(a), (int##bits##_t)(b), &product);      \
        WRITE_##bits((uint64_t)product);                                                           \
        SET_FLAGS(64, 0, (uint64_t)wide << 63, FLAG_SF | FLAG_ZF | FLAG_AF | FLAG_PF);             \
        NEXT;                                                                                      \
    }
#define MULTIPLY_D(bits) MULTIPLY(MULTIPLY, bits, r[op->d], r[op->s])
#define MULTIPLY_S(bits) MULTIPLY(MULTIPLY_BY, bits, r[op->s], op->immediate)

#endif

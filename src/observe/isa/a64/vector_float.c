/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Floating-point numbers: by the arithmetic of the processor at hand, in whose rounding mode the
 * interpreter runs. Results that are not a number are left unknown. Signal-safe.
 */
#include "isa/a64/vector.h"

#include <math.h>

#include "isa/a64/execute.h"

#include "signal_safe.h"

static double to_double(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float to_float(uint64_t bits)
{
    float value;
    uint32_t low = (uint32_t)bits;
    memcpy(&value, &low, sizeof value);
    return value;
}

static bool from_double(double value, uint64_t *out)
{
    memcpy(out, &value, sizeof value);
    return !isnan(value);
}

static bool from_float(float value, uint64_t *out)
{
    uint32_t low;
    memcpy(&low, &value, sizeof value);
    *out = low;
    return !isnan(value);
}

#define OF_TYPE(type)                                                                              \
    static type maximum_##type(type a, type b)                                                     \
    {                                                                                              \
        if (a == b)                                                                                \
            return signbit(a) ? b : a;                                                             \
        return a > b ? a : b;                                                                      \
    }                                                                                              \
    static type minimum_##type(type a, type b)                                                     \
    {                                                                                              \
        if (a == b)                                                                                \
            return signbit(a) ? a : b;                                                             \
        return a < b ? a : b;                                                                      \
    }                                                                                              \
    static bool float_two_##type(enum a64_float_operation operation, type a, type b,               \
                                 uint64_t *out)                                                    \
    {                                                                                              \
        bool ordered = !isnan(a) && !isnan(b);                                                     \
        switch (operation) {                                                                       \
        case FLOAT_ADD:                                                                            \
            return from_##type(a + b, out);                                                        \
        case FLOAT_SUBTRACT:                                                                       \
            return from_##type(a - b, out);                                                        \
        case FLOAT_MULTIPLY:                                                                       \
            return from_##type(a * b, out);                                                        \
        case FLOAT_NEGATED_PRODUCT:                                                                \
            return from_##type(-(a * b), out);                                                     \
        case FLOAT_DIVIDE:                                                                         \
            return from_##type(a / b, out);                                                        \
        case FLOAT_DIFFERENCE:                                                                     \
            return from_##type(a > b ? a - b : -(a - b), out) &&                                   \
                   (*out &= ~(UINT64_C(1) << (8 * sizeof(type) - 1)), true);                       \
        case FLOAT_MAXIMUM:                                                                        \
        case FLOAT_MAXIMUM_NUMBER:                                                                 \
            return ordered && from_##type(maximum_##type(a, b), out);                              \
        case FLOAT_MINIMUM:                                                                        \
        case FLOAT_MINIMUM_NUMBER:                                                                 \
            return ordered && from_##type(minimum_##type(a, b), out);                              \
        case FLOAT_EQUAL:                                                                          \
            *out = a == b ? ~UINT64_C(0) : 0;                                                      \
            return true;                                                                           \
        case FLOAT_GREATER_EQUAL:                                                                  \
            *out = a >= b ? ~UINT64_C(0) : 0;                                                      \
            return true;                                                                           \
        case FLOAT_GREATER:                                                                        \
            *out = a > b ? ~UINT64_C(0) : 0;                                                       \
            return true;                                                                           \
        default:                                                                                   \
            return false;                                                                          \
        }                                                                                          \
    }
OF_TYPE(double)
OF_TYPE(float)

bool a64_float_two(enum a64_float_operation operation, unsigned size, uint64_t a, uint64_t b,
                   uint64_t *out)
{
    return size == 8 ? float_two_double(operation, to_double(a), to_double(b), out)
                     : float_two_float(operation, to_float(a), to_float(b), out);
}

bool a64_float_multiply_add(unsigned size, uint64_t a, uint64_t b, uint64_t d, bool minus_product,
                            bool minus_d, uint64_t *out)
{
    uint64_t sign = UINT64_C(1) << (8 * size - 1);
    a ^= minus_product ? sign : 0;
    d ^= minus_d ? sign : 0;
    return size == 8 ? from_double(fma(to_double(a), to_double(b), to_double(d)), out)
                     : from_float(fmaf(to_float(a), to_float(b), to_float(d)), out);
}

/* Rounded as the two bits of rmode in conversions say. */
static double rounded(double value, unsigned mode)
{
    enum { NEAREST, UP, DOWN, ZERO, AWAY };
    switch (mode) {
    case NEAREST: {
        double below = floor(value), part = value - below;
        if (part != 0.5)
            return copysign(part < 0.5 ? below : below + 1, value);
        return copysign(2 * floor(below / 2 + 0.5), value);
    }
    case UP:
        return ceil(value);
    case DOWN:
        return floor(value);
    case ZERO:
        return trunc(value);
    default:
        return round(value);
    }
}

/* Within limits; what is not a number gives 0. */
static uint64_t to_integer(double value, unsigned mode, bool is_unsigned, unsigned size)
{
    double limit = ldexp(1, (int)(8 * size) - !is_unsigned);
    uint64_t largest = bytes_mask(size) >> !is_unsigned;
    double whole;
    if (isnan(value))
        return 0;
    whole = isinf(value) ? value : rounded(value, mode);
    if (whole >= limit)
        return largest;
    if (is_unsigned)
        return whole <= 0 ? 0 : (uint64_t)whole;
    return (whole <= -limit ? ~largest : (uint64_t)(int64_t)whole) & bytes_mask(size);
}

/* Of a float as a double: exact. */
static double number(uint64_t bits, unsigned size)
{
    return size == 8 ? to_double(bits) : (double)to_float(bits);
}

bool a64_float_from_integer(uint64_t value, bool is_unsigned, unsigned from, unsigned size,
                            uint64_t *out)
{
    int64_t extended = bytes_signed(value, from);
    value &= bytes_mask(from);
    if (size == 8)
        return from_double(is_unsigned ? (double)value : (double)extended, out);
    return from_float(is_unsigned ? (float)value : (float)extended, out);
}

uint64_t a64_float_to_integer_lane(uint64_t value, bool is_unsigned, unsigned size)
{
    enum { ZERO = 3 };
    return to_integer(number(value, size), ZERO, is_unsigned, size);
}

bool a64_float_root(uint64_t value, unsigned size, uint64_t *out)
{
    if (!(number(value, size) >= 0)) /* for which the C library would set errno */
        return false;
    return size == 8 ? from_double(__builtin_sqrt(to_double(value)), out)
                     : from_float(__builtin_sqrtf(to_float(value)), out);
}

static bool scalar_one(uint32_t word, unsigned size, uint64_t a, uint64_t *out, unsigned *out_size)
{
    enum { MOVE, ABS, NEG, ROOT, TO_SINGLE, TO_DOUBLE, RINT_NEAREST = 8, RINT_AWAY = 12 };
    unsigned opcode = field(word, 15, 6);
    uint64_t sign = UINT64_C(1) << (8 * size - 1);
    *out_size = size;
    switch (opcode) {
    case MOVE:
        *out = a;
        return true;
    case ABS:
        *out = a & ~sign;
        return true;
    case NEG:
        *out = a ^ sign;
        return true;
    case ROOT:
        return a64_float_root(a, size, out);
    case TO_SINGLE:
        *out_size = 4;
        return size == 8 && from_float((float)to_double(a), out);
    case TO_DOUBLE:
        *out_size = 8;
        return size == 4 && from_double((double)to_float(a), out);
    default:
        break;
    }
    if (opcode < RINT_NEAREST || opcode > RINT_AWAY)
        return false;
    double value = number(a, size);
    if (isnan(value))
        return false;
    value = isinf(value) ? value : rounded(value, opcode - RINT_NEAREST);
    return size == 8 ? from_double(value, out) : from_float((float)value, out);
}

static bool scalar_two(uint32_t word, unsigned size, uint64_t a, uint64_t b, uint64_t *out)
{
    static const uint8_t operations[9] = {
        FLOAT_MULTIPLY,       FLOAT_DIVIDE,         FLOAT_ADD,
        FLOAT_SUBTRACT,       FLOAT_MAXIMUM,        FLOAT_MINIMUM,
        FLOAT_MAXIMUM_NUMBER, FLOAT_MINIMUM_NUMBER, FLOAT_NEGATED_PRODUCT};
    unsigned opcode = field(word, 12, 4);
    return opcode < sizeof operations &&
           a64_float_two((enum a64_float_operation)operations[opcode], size, a, b, out);
}

static void compare(struct interpreter *it, double a, double b)
{
    it->flags.nzcv = a == b ? FLAG_Z | FLAG_C : a < b ? FLAG_N : a > b ? FLAG_C : FLAG_C | FLAG_V;
    it->flags.unknown = it->flags.from_result = false;
}

/* To and from general registers. */
static bool convert(struct interpreter *it, const struct a64_operation *op,
                    struct a64_lanes *result)
{
    enum { FROM_SIGNED = 2, FROM_UNSIGNED, TO_AWAY_SIGNED, TO_AWAY_UNSIGNED, MOVE_OUT, MOVE_IN };
    uint32_t word = op->word;
    unsigned opcode = field(word, 16, 3), mode = field(word, 19, 2), type = field(word, 22, 2);
    unsigned general = bit(word, 31) ? 8 : 4, size = type == 1 ? 8 : 4;
    uint64_t out;
    if (opcode >= MOVE_OUT && mode == 1) { /* the upper half of a vector register */
        if (type != 2 || general != 8)
            return false;
        if (opcode == MOVE_IN) {
            memcpy(result->bytes, it->vector[op->d], 8);
            set_lane(result, 1, 8, it->r[op->n]);
        } else {
            it->r[op->d] = lane(it->vector[op->n], 1, 8);
        }
        return true;
    }
    if (type > 1 || !bit(word, 21))
        return false;
    switch (opcode) {
    case MOVE_OUT:
        it->r[op->d] = lane(it->vector[op->n], 0, size);
        return mode == 0 && general == size;
    case MOVE_IN:
        set_lane(result, 0, size, it->r[op->n]);
        return mode == 0 && general == size;
    case FROM_SIGNED:
    case FROM_UNSIGNED:
        a64_float_from_integer(it->r[op->n], opcode == FROM_UNSIGNED, general, size, &out);
        set_lane(result, 0, size, out);
        return mode == 0;
    default:
        if (opcode >= TO_AWAY_SIGNED && mode != 0)
            return false;
        mode = opcode >= TO_AWAY_SIGNED ? 4 : mode;
        it->r[op->d] =
            to_integer(number(lane(it->vector[op->n], 0, size), size), mode, opcode & 1, general);
        return true;
    }
}

bool a64_scalar(struct interpreter *it, const struct a64_operation *op, uint64_t poison,
                struct a64_lanes *result)
{
    uint32_t word = op->word;
    unsigned type = field(word, 22, 2), size = type == 1 ? 8 : 4, out_size = size;
    unsigned condition = field(word, 12, 4), chosen;
    uint64_t n = lane(it->vector[op->n % 32], 0, size), m = lane(it->vector[op->m % 32], 0, size);
    uint64_t out = 0;
    bool modelled = true;
    if (op->shift == SCALAR_CONVERT)
        return convert(it, op, result);
    if (type > 1)
        return false;
    switch ((enum a64_vector_family)op->shift) {
    case SCALAR_ONE:
        modelled = scalar_one(word, size, n, &out, &out_size);
        break;
    case SCALAR_TWO:
        modelled = scalar_two(word, size, n, m, &out);
        break;
    case SCALAR_THREE: /* bit 15: the product's sign differs from that of bit 21 */
        modelled =
            a64_float_multiply_add(size, n, m, lane(it->vector[register_at(word, 10)], 0, size),
                                   bit(word, 15) != bit(word, 21), bit(word, 21), &out);
        break;
    case SCALAR_IMMEDIATE:
        out = (uint64_t)op->immediate;
        break;
    case SCALAR_COMPARE:
        compare(it, number(n, size), bit(word, 3) ? 0 : number(m, size));
        return true;
    case SCALAR_COMPARE_IF:
        if (it->flags.unknown)
            return false;
        if (a64_condition(condition, it->flags.nzcv)) {
            compare(it, number(n, size), number(m, size));
        } else {
            it->flags.nzcv = field(word, 0, 4);
            it->flags.from_result = false;
        }
        return true;
    case SCALAR_SELECT:
        if (it->flags.unknown)
            return false;
        chosen = a64_condition(condition, it->flags.nzcv) ? op->n : op->m;
        modelled = !(poison & vector_bit(chosen));
        out = lane(it->vector[chosen], 0, size);
        break;
    default:
        return false;
    }
    set_lane(result, 0, out_size, out);
    return modelled;
}

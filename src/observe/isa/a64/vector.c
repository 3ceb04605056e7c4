/* SPDX-License-Identifier: BSD-3-Clause */
/* Vector instructions, family by family. Signal-safe. */
#include "isa/a64/vector.h"

#include "isa/a64/execute.h"
#include "isa/a64/system.h"

#include "signal_safe.h"

static bool logical(uint32_t word, uint64_t a, uint64_t b, uint64_t d, uint64_t *out)
{
    switch (field(word, 29, 1) << 2 | field(word, 22, 2)) {
    case 0:
        *out = a & b;
        break;
    case 1:
        *out = a & ~b;
        break;
    case 2:
        *out = a | b;
        break;
    case 3:
        *out = a | ~b;
        break;
    case 4:
        *out = a ^ b;
        break;
    case 5: /* bsl */
        *out = (a & d) | (b & ~d);
        break;
    case 6: /* bit */
        *out = (d & ~b) | (a & b);
        break;
    default: /* bif */
        *out = (d & b) | (a & ~b);
        break;
    }
    return true;
}

/* Floating-point operation of "three same" by opcode, U and the upper bit of size. */
static bool float_three(uint32_t word, unsigned size, uint64_t a, uint64_t b, uint64_t d,
                        uint64_t *out)
{
    enum { KEYS = 1 << 7, KNOWN = 1 };
    static const uint8_t operations[KEYS] = {
        [0x18 << 2 | 0] = KNOWN + FLOAT_MAXIMUM_NUMBER,
        [0x18 << 2 | 1] = KNOWN + FLOAT_MINIMUM_NUMBER,
        [0x1a << 2 | 0] = KNOWN + FLOAT_ADD,
        [0x1a << 2 | 1] = KNOWN + FLOAT_SUBTRACT,
        [0x1a << 2 | 2] = KNOWN + FLOAT_ADD, /* faddp */
        [0x1a << 2 | 3] = KNOWN + FLOAT_DIFFERENCE,
        [0x1b << 2 | 2] = KNOWN + FLOAT_MULTIPLY,
        [0x1c << 2 | 0] = KNOWN + FLOAT_EQUAL,
        [0x1c << 2 | 2] = KNOWN + FLOAT_GREATER_EQUAL,
        [0x1c << 2 | 3] = KNOWN + FLOAT_GREATER,
        [0x1e << 2 | 0] = KNOWN + FLOAT_MAXIMUM,
        [0x1e << 2 | 1] = KNOWN + FLOAT_MINIMUM,
        [0x1f << 2 | 2] = KNOWN + FLOAT_DIVIDE,
    };
    unsigned opcode = field(word, 11, 5), u = field(word, 29, 1), upper = field(word, 23, 1);
    unsigned operation = operations[opcode << 2 | u << 1 | upper];
    if (opcode == 0x19 && !u) /* fmla, fmls */
        return a64_float_multiply_add(size, a, b, d, upper, false, out);
    return operation && a64_float_two(operation - KNOWN, size, a, b, out);
}

static bool three_same(struct interpreter *it, const struct a64_operation *op,
                       struct a64_lanes *result)
{
    uint32_t word = op->word;
    unsigned opcode = field(word, 11, 5), size = 1u << field(word, 22, 2);
    bool is_unsigned = bit(word, 29), floats = opcode >= 0x18, logic = opcode == 3;
    bool neighbours = opcode == 0x14 || opcode == 0x15 || opcode == 0x17 ||
                      (opcode == 0x1a && is_unsigned && !bit(word, 23));
    const uint8_t *n = it->vector[op->n], *m = it->vector[op->m], *d = it->vector[op->d];
    if (floats)
        size = bit(word, 22) ? 8 : 4;
    else if (logic)
        size = 8;
    unsigned lanes = vector_extent(word, size) / size;
    if (bit(word, 28) && (neighbours || logic || (!floats && size != 8)))
        return false;
    for (unsigned i = 0; i < lanes; i++) {
        uint64_t a = lane(n, i, size), b = lane(m, i, size), out = 0;
        if (neighbours) {
            const uint8_t *from = 2 * i < lanes ? n : m;
            a = lane(from, 2 * i % lanes, size);
            b = lane(from, 2 * i % lanes + 1, size);
        }
        bool modelled =
            floats  ? float_three(word, size, a, b, lane(d, i, size), &out)
            : logic ? logical(word, a, b, lane(d, i, size), &out)
                    : a64_lane_three(opcode, is_unsigned, size, a, b, lane(d, i, size), &out);
        if (!modelled)
            return false;
        set_lane(result, i, size, out);
    }
    return true;
}

/* Operands of a half with results of double width, or the other way round. */
static bool three_different(struct interpreter *it, const struct a64_operation *op,
                            struct a64_lanes *result)
{
    enum { ADDL, ADDW, SUBL, SUBW, ADDHN, ABAL, SUBHN, ABDL, MLAL, MLSL = 10, MULL = 12 };
    uint32_t word = op->word;
    unsigned opcode = field(word, 12, 4), size = 1u << field(word, 22, 2);
    bool is_unsigned = bit(word, 29), second_half = bit(word, 30);
    const uint8_t *n = it->vector[op->n], *m = it->vector[op->m], *d = it->vector[op->d];
    if (size == 8 || bit(word, 28) || (opcode & 9) == 9 || opcode == 14)
        return false;
    unsigned lanes = 8 / size, from = second_half ? lanes : 0;
    bool narrows = opcode == ADDHN || opcode == SUBHN;
    bool wide_n = opcode == ADDW || opcode == SUBW || narrows;
    if (narrows && second_half)
        memcpy(result->bytes, d, 8);
    for (unsigned i = 0; i < lanes; i++) {
        uint64_t a = wide_n ? lane(n, i, 2 * size) : lane(n, from + i, size);
        uint64_t b = narrows ? lane(m, i, 2 * size) : lane(m, from + i, size), out;
        uint64_t old = lane(d, i, 2 * size);
        if (!is_unsigned && !narrows) {
            a = (uint64_t)bytes_signed(a, wide_n ? 2 * size : size);
            b = (uint64_t)bytes_signed(b, size);
        }
        bool greater = is_unsigned ? a > b : (int64_t)a > (int64_t)b;
        uint64_t difference = greater ? a - b : b - a;
        switch (opcode) {
        case ADDL:
        case ADDW:
            out = a + b;
            break;
        case SUBL:
        case SUBW:
            out = a - b;
            break;
        case ADDHN:
        case SUBHN: {
            uint64_t rounding = is_unsigned ? UINT64_C(1) << (8 * size - 1) : 0;
            out = ((opcode == ADDHN ? a + b : a - b) + rounding) >> 8 * size;
            set_lane(result, from + i, size, out);
            continue;
        }
        case ABAL:
            out = old + difference;
            break;
        case ABDL:
            out = difference;
            break;
        case MLAL:
            out = old + a * b;
            break;
        case MLSL:
            out = old - a * b;
            break;
        default: /* MULL */
            out = a * b;
            break;
        }
        set_lane(result, i, 2 * size, out);
    }
    return true;
}

/* Elements that fill their container, or more, are no instruction. */
static bool reverse(const uint8_t *n, unsigned container, unsigned size, unsigned bytes,
                    struct a64_lanes *result)
{
    unsigned in_container = container / size;
    if (size >= container)
        return false;
    for (unsigned i = 0; i < bytes / size; i++)
        set_lane(result, i, size, lane(n, i ^ (in_container - 1), size));
    return true;
}

/* Sums of neighbours, of double width (saddlp, uaddlp; sadalp, uadalp). */
static void add_neighbours(const uint8_t *n, const uint8_t *d, unsigned size, unsigned bytes,
                           bool is_unsigned, struct a64_lanes *result)
{
    for (unsigned i = 0; i < bytes / size / 2; i++) {
        uint64_t a = lane(n, 2 * i, size), b = lane(n, 2 * i + 1, size);
        uint64_t sum =
            is_unsigned ? a + b : (uint64_t)(bytes_signed(a, size) + bytes_signed(b, size));
        set_lane(result, i, 2 * size, sum + (d ? lane(d, i, 2 * size) : 0));
    }
}

static bool float_two_registers(struct interpreter *it, const struct a64_operation *op,
                                struct a64_lanes *result)
{
    enum { ABS_NEG = 0x0f, TO_INTEGER = 0x1b, FROM_INTEGER = 0x1d, ROOT = 0x1f };
    uint32_t word = op->word;
    unsigned opcode = field(word, 12, 5), size = bit(word, 22) ? 8 : 4;
    bool u = bit(word, 29), upper = bit(word, 23);
    uint64_t sign = UINT64_C(1) << (8 * size - 1);
    for (unsigned i = 0; i < vector_extent(word, size) / size; i++) {
        uint64_t a = lane(it->vector[op->n], i, size), out;
        if (upper && opcode == ABS_NEG && !bit(word, 28))
            out = u ? a ^ sign : a & ~sign;
        else if (upper && opcode == TO_INTEGER)
            out = a64_float_to_integer_lane(a, u, size);
        else if (!(upper
                       ? opcode == ROOT && u && !bit(word, 28) && a64_float_root(a, size, &out)
                       : opcode == FROM_INTEGER && a64_float_from_integer(a, u, size, size, &out)))
            return false;
        set_lane(result, i, size, out);
    }
    return true;
}

static bool two_registers(struct interpreter *it, const struct a64_operation *op,
                          struct a64_lanes *result)
{
    enum { REV64, REV16, ADDLP, COUNT = 5, ADALP, XTN = 0x12, SHLL };
    uint32_t word = op->word;
    unsigned opcode = field(word, 12, 5), size = 1u << field(word, 22, 2);
    bool u = bit(word, 29), second_half = bit(word, 30), scalar = bit(word, 28);
    const uint8_t *n = it->vector[op->n], *d = it->vector[op->d];
    unsigned bytes = vector_extent(word, size);
    if (opcode >= 0x0c && opcode != XTN && opcode != SHLL)
        return float_two_registers(it, op, result);
    if (scalar && (size != 8 || opcode < 8 || opcode > 0x0b))
        return false;
    switch (opcode) {
    case REV64:
        return reverse(n, u ? 4 : 8, size, bytes, result);
    case REV16:
        return !u && reverse(n, 2, size, bytes, result);
    case ADDLP:
    case ADALP:
        if (size == 8)
            return false;
        add_neighbours(n, opcode == ADALP ? d : NULL, size, bytes, u, result);
        return true;
    case XTN:
    case SHLL:
        if (u != (opcode == SHLL) || size == 8)
            return false;
        if (opcode == XTN && second_half)
            memcpy(result->bytes, d, 8);
        for (unsigned i = 0; i < 8 / size; i++) {
            unsigned high = second_half ? 8 / size + i : i;
            if (opcode == XTN)
                set_lane(result, high, size, lane(n, i, 2 * size));
            else
                set_lane(result, i, 2 * size, lane(n, high, size) << 8 * size);
        }
        return true;
    case COUNT: /* with U: not of bytes, or their bits reversed */
        if (u && size <= 2) {
            bool reverses = size == 2;
            for (unsigned i = 0; i < bytes; i++) {
                uint64_t out = ~(uint64_t)n[i];
                if (reverses)
                    a64_lane_two(0x15, true, 1, n[i], &out);
                set_lane(result, i, 1, out);
            }
            return true;
        }
        break;
    default:
        break;
    }
    for (unsigned i = 0; i < bytes / size; i++) {
        uint64_t out = 0;
        if (!a64_lane_two(opcode, u, size, lane(n, i, size), &out))
            return false;
        set_lane(result, i, size, out);
    }
    return true;
}

static bool across(struct interpreter *it, const struct a64_operation *op, struct a64_lanes *result)
{
    enum { ADDLV = 0x03, MAXV = 0x0a, MINV = 0x1a, ADDV };
    uint32_t word = op->word;
    unsigned opcode = field(word, 12, 5), size = 1u << field(word, 22, 2);
    bool u = bit(word, 29);
    const uint8_t *n = it->vector[op->n];
    unsigned lanes = vector_extent(word, size) / size;
    if (size == 8 || (size == 4 && !bit(word, 30)) || bit(word, 28))
        return false;
    uint64_t total = lane(n, 0, size);
    if (opcode == ADDLV && !u)
        total = (uint64_t)bytes_signed(total, size);
    for (unsigned i = 1; i < lanes; i++) {
        uint64_t next = lane(n, i, size);
        bool greater = u ? total > next : bytes_signed(total, size) > bytes_signed(next, size);
        switch (opcode) {
        case ADDLV:
            total += u ? next : (uint64_t)bytes_signed(next, size);
            break;
        case ADDV:
            total += next;
            break;
        case MAXV:
            total = greater ? total : next;
            break;
        case MINV:
            total = greater ? next : total;
            break;
        default:
            return false;
        }
    }
    set_lane(result, 0, opcode == ADDLV ? 2 * size : size, total);
    return !(opcode == ADDV && u);
}

static bool shift(struct interpreter *it, const struct a64_operation *op, struct a64_lanes *result)
{
    enum { SHL = 0x0a, SHRN = 0x10, RSHRN, SHLL = 0x14 };
    uint32_t word = op->word;
    unsigned immh = field(word, 19, 4), opcode = field(word, 11, 5);
    unsigned size = 1u << (31 - __builtin_clz(immh)), bits = 8 * size;
    unsigned left = field(word, 16, 7) - bits, right = 2 * bits - field(word, 16, 7);
    bool u = bit(word, 29), second_half = bit(word, 30), scalar = bit(word, 28);
    const uint8_t *n = it->vector[op->n], *d = it->vector[op->d];
    if (scalar && (size != 8 || opcode > SHL))
        return false;
    if (opcode == SHRN || opcode == RSHRN) {
        if (u || size == 8)
            return false;
        if (second_half)
            memcpy(result->bytes, d, 8);
        for (unsigned i = 0; i < 8 / size; i++) {
            uint64_t value = lane(n, i, 2 * size);
            value += opcode == RSHRN ? UINT64_C(1) << (right - 1) : 0;
            set_lane(result, second_half ? 8 / size + i : i, size, value >> right);
        }
        return true;
    }
    if (opcode == SHLL) {
        if (size == 8)
            return false;
        for (unsigned i = 0; i < 8 / size; i++) {
            uint64_t value = lane(n, second_half ? 8 / size + i : i, size);
            value = u ? value : (uint64_t)bytes_signed(value, size);
            set_lane(result, i, 2 * size, value << left);
        }
        return true;
    }
    for (unsigned i = 0; i < vector_extent(word, size) / size; i++) {
        uint64_t out = 0;
        if (!a64_lane_shift(opcode, u, size, opcode == SHL ? left : right, lane(n, i, size),
                            lane(d, i, size), &out))
            return false;
        set_lane(result, i, size, out);
    }
    return true;
}

/* The second operand is one lane of m. */
static bool by_element(struct interpreter *it, const struct a64_operation *op,
                       struct a64_lanes *result)
{
    enum { MLA = 0, FMLA = 1, MLS = 4, FMLS = 5, MUL = 8, FMUL = 9 };
    uint32_t word = op->word;
    unsigned opcode = field(word, 12, 4), u = field(word, 29, 1);
    bool floats = opcode == FMLA || opcode == FMLS || opcode == FMUL;
    unsigned size = 1u << field(word, 22, 2), h = field(word, 11, 1), l = field(word, 21, 1);
    unsigned m = register_at(word, 16), index = h << 1 | l;
    if (floats ? u || size < 4 : size < 2 || size > 4 || bit(word, 28))
        return false;
    if (size == 2) {
        index = index << 1 | field(word, 20, 1);
        m &= 15;
    } else if (size == 8) {
        index = h;
    }
    uint64_t b = lane(it->vector[m], index, size);
    for (unsigned i = 0; i < vector_extent(word, size) / size; i++) {
        uint64_t a = lane(it->vector[op->n], i, size), d = lane(it->vector[op->d], i, size), out;
        bool modelled = true;
        if (floats)
            modelled = opcode == FMUL
                           ? a64_float_two(FLOAT_MULTIPLY, size, a, b, &out)
                           : a64_float_multiply_add(size, a, b, d, opcode == FMLS, false, &out);
        else if (opcode == MUL && !u)
            out = a * b;
        else if (opcode == MLA && u)
            out = d + a * b;
        else if (opcode == MLS && u)
            out = d - a * b;
        else
            return false;
        if (!modelled)
            return false;
        set_lane(result, i, size, out);
    }
    return true;
}

/* addp, faddp to a scalar. */
static bool pairwise(struct interpreter *it, const struct a64_operation *op,
                     struct a64_lanes *result)
{
    enum { ADDP = 0x1b, FADDP = 0x0d };
    uint32_t word = op->word;
    unsigned opcode = field(word, 12, 5), size = bit(word, 22) ? 8 : 4;
    const uint8_t *n = it->vector[op->n];
    uint64_t out;
    if (opcode == ADDP && !bit(word, 29) && field(word, 22, 2) == 3) {
        set_lane(result, 0, 8, lane(n, 0, 8) + lane(n, 1, 8));
        return true;
    }
    if (opcode != FADDP || !bit(word, 29) || bit(word, 23) ||
        !a64_float_two(FLOAT_ADD, size, lane(n, 0, size), lane(n, 1, size), &out))
        return false;
    set_lane(result, 0, size, out);
    return true;
}

static bool vector(struct interpreter *it, const struct a64_operation *op, struct a64_lanes *result)
{
    switch ((enum a64_vector_family)op->shift) {
    case VECTOR_THREE_SAME:
        return three_same(it, op, result);
    case VECTOR_THREE_DIFFERENT:
        return three_different(it, op, result);
    case VECTOR_TWO:
        return two_registers(it, op, result);
    case VECTOR_ACROSS:
        return across(it, op, result);
    case VECTOR_COPY:
        return a64_vector_copy(it, op, result);
    case VECTOR_PERMUTE:
        return a64_vector_permute(it, op, result);
    case VECTOR_EXTRACT:
        return a64_vector_extract(it, op, result);
    case VECTOR_TABLE:
        return a64_vector_table(it, op, result);
    case VECTOR_IMMEDIATE:
        return a64_vector_immediate(it, op, result);
    case VECTOR_SHIFT:
        return shift(it, op, result);
    case VECTOR_ELEMENT:
        return by_element(it, op, result);
    case VECTOR_PAIRWISE:
        return pairwise(it, op, result);
    default:
        return false;
    }
}

enum interpreter_stop a64_vector(struct interpreter *it, const struct a64_operation *op,
                                 struct a64_step *step)
{
    struct a64_lanes result = {{0}};
    bool same_arithmetic = !it->fpcr_unknown && it->fpcr == a64_fpcr();
    bool modelled = (!op->a || same_arithmetic) &&
                    (op->shift >= SCALAR_ONE ? a64_scalar(it, op, step->poison, &result)
                                             : vector(it, op, &result));
    if (!modelled) {
        step->fresh = op->writes;
        it->flags.unknown |= op->mode != 0;
    } else if (op->writes >> 32) {
        a64_set_vector(it, op->d, result.bytes, sizeof result.bytes);
    }
    return INTERPRETER_FULL;
}

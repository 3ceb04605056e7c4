/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Integers and expressions of call frame information. Signal-safe.
 *
 * The operations are those that compilers, linkers (procedure linkage tables), the C library's
 * signal trampolines and hand-written assembly were seen to use; any other makes the value unknown.
 */
#include "objects/call_frame_expression.h"

#include <string.h>

#include "signal_safe.h"

uint64_t frame_read_unsigned(struct frame_reader *reader, unsigned bytes)
{
    uint64_t value = 0;
    if (reader->end < reader->at || (uint64_t)(reader->end - reader->at) < bytes) {
        reader->failed = true;
        return 0;
    }
    memcpy(&value, reader->at, bytes); /* both machines are little-endian */
    reader->at += bytes;
    return value;
}

uint64_t frame_read_uleb128(struct frame_reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        const uint64_t byte = frame_read_byte(reader);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        if ((byte & 0x80) == 0)
            return value;
    }
}

int64_t frame_read_sleb128(struct frame_reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        const uint64_t byte = frame_read_byte(reader);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) {
            if ((byte & 0x40) != 0 && shift + 7 < 64)
                value |= -(UINT64_C(1) << (shift + 7));
            return (int64_t)value;
        }
    }
}

/* Operations (DWARF 4, section 7.7.1). */
enum {
    OP_DEREF = 0x06,
    OP_CONST1U = 0x08,
    OP_CONST1S = 0x09,
    OP_CONST2U = 0x0a,
    OP_CONST2S = 0x0b,
    OP_CONST4U = 0x0c,
    OP_CONST4S = 0x0d,
    OP_AND = 0x1a,
    OP_MINUS = 0x1c,
    OP_PLUS = 0x22,
    OP_PLUS_UCONST = 0x23,
    OP_SHL = 0x24,
    OP_GE = 0x2a,
    OP_LIT0 = 0x30,
    OP_LIT31 = 0x4f,
    OP_BREG0 = 0x70,
    OP_BREG31 = 0x8f,
};

static struct frame_value constant(int64_t value)
{
    return (struct frame_value){.kind = FRAME_VALUE_CONSTANT, .offset = value};
}

static struct frame_value plus(struct frame_value value, int64_t addend)
{
    if (value.kind == FRAME_VALUE_DEREFERENCE)
        value.addend += addend;
    else
        value.offset += addend;
    return value;
}

static struct frame_value dereference(struct frame_value value)
{
    if (value.kind != FRAME_VALUE_REGISTER)
        return (struct frame_value){.kind = FRAME_VALUE_UNKNOWN};
    value.kind = FRAME_VALUE_DEREFERENCE;
    return value;
}

static struct frame_value binary(uint8_t operation, struct frame_value a, struct frame_value b)
{
    const struct frame_value unknown = {.kind = FRAME_VALUE_UNKNOWN};
    if (b.kind != FRAME_VALUE_CONSTANT) {
        if (operation != OP_PLUS || a.kind != FRAME_VALUE_CONSTANT)
            return unknown;
        return plus(b, a.offset);
    }
    if (operation == OP_PLUS)
        return plus(a, b.offset);
    if (operation == OP_MINUS)
        return plus(a, -b.offset);
    if (a.kind != FRAME_VALUE_CONSTANT)
        return unknown;
    switch (operation) {
    case OP_AND:
        return constant(a.offset & b.offset);
    case OP_SHL:
        return b.offset >= 0 && b.offset < 64 ? constant((int64_t)((uint64_t)a.offset << b.offset))
                                              : unknown;
    default: /* OP_GE */
        return constant(a.offset >= b.offset);
    }
}

/* What the operation pushes without looking at the stack; false when it is not such a one. */
static bool push_operand(uint8_t operation, struct frame_reader *reader, uint64_t ip,
                         struct frame_value *value)
{
    if (operation >= OP_LIT0 && operation <= OP_LIT31) {
        *value = constant(operation - OP_LIT0);
        return true;
    }
    if (operation >= OP_BREG0 && operation <= OP_BREG31) {
        const uint64_t reg = operation - OP_BREG0;
        const int64_t offset = frame_read_sleb128(reader);
        *value = (struct frame_value){.kind = FRAME_VALUE_REGISTER, .reg = reg, .offset = offset};
#if defined(__x86_64__)
        if (reg == CALL_FRAME_RETURN_ADDRESS)
            *value = constant((int64_t)ip + offset);
#else
        (void)ip;
#endif
        return true;
    }
    switch (operation) {
    case OP_CONST1U:
        *value = constant((int64_t)frame_read_byte(reader));
        return true;
    case OP_CONST1S:
        *value = constant((int8_t)frame_read_byte(reader));
        return true;
    case OP_CONST2U:
        *value = constant((int64_t)frame_read_unsigned(reader, 2));
        return true;
    case OP_CONST2S:
        *value = constant((int16_t)frame_read_unsigned(reader, 2));
        return true;
    case OP_CONST4U:
        *value = constant((int64_t)frame_read_unsigned(reader, 4));
        return true;
    case OP_CONST4S:
        *value = constant((int32_t)frame_read_unsigned(reader, 4));
        return true;
    default:
        return false;
    }
}

struct frame_value frame_evaluate(struct frame_reader *expression, uint64_t ip)
{
    const struct frame_value unknown = {.kind = FRAME_VALUE_UNKNOWN};
    struct frame_value stack[8];
    unsigned depth = 0;
    while (expression->at < expression->end) {
        const uint8_t operation = frame_read_byte(expression);
        struct frame_value value;
        if (push_operand(operation, expression, ip, &value)) {
            if (depth == sizeof stack / sizeof stack[0])
                return unknown;
            stack[depth++] = value;
            continue;
        }
        switch (operation) {
        case OP_DEREF:
            if (depth < 1)
                return unknown;
            stack[depth - 1] = dereference(stack[depth - 1]);
            break;
        case OP_PLUS_UCONST:
            if (depth < 1)
                return unknown;
            stack[depth - 1] = plus(stack[depth - 1], (int64_t)frame_read_uleb128(expression));
            break;
        case OP_AND:
        case OP_MINUS:
        case OP_PLUS:
        case OP_SHL:
        case OP_GE:
            if (depth < 2)
                return unknown;
            depth--;
            stack[depth - 1] = binary(operation, stack[depth - 1], stack[depth]);
            break;
        default:
            return unknown;
        }
    }
    return depth == 1 && !expression->failed ? stack[0] : unknown;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. */
#include "isa/trapped_access.h"

#include "signal_safe.h"

enum { OPERANDS_MAX = 8 };

static bool decode(const unsigned char *code, unsigned length,
                   const struct interpreter_registers *before, uint64_t word, uint32_t word_size,
                   struct trapped_access *found)
{
    struct access accesses[OPERANDS_MAX];
    unsigned decoded;
    int count = instruction_accesses(code, length, before, accesses, OPERANDS_MAX, &decoded);

    return count > 0 && decoded == length &&
           trapped_access_among(accesses, (unsigned)count, word, word_size, found);
}

/* Pushes and pops have moved the stack pointer. */
static bool moves_stack(const unsigned char *code, unsigned length)
{
    unsigned char opcode = code[0];

    if (opcode == 0x41 && length > 1)
        opcode = code[1];
    return (opcode & 0xf0) == 0x50 || opcode == 0xff || opcode == 0x8f || opcode == 0x68 ||
           opcode == 0x6a;
}

/* String instructions end with their opcode and have moved rsi and rdi. Size of their operand. */
static unsigned string_operand(const unsigned char *code, unsigned length)
{
    unsigned char opcode = code[length - 1];

    if (opcode < 0xa4 || opcode > 0xaf || opcode == 0xa8 || opcode == 0xa9)
        return 0;
    if (!(opcode & 1))
        return 1;
    for (unsigned i = 0; i + 1 < length; i++)
        if ((code[i] & 0xf8) == 0x48)
            return 8;
    return 4;
}

static bool decode_moved(const unsigned char *code, unsigned length,
                         const struct interpreter_registers *after, uint64_t word,
                         uint32_t word_size, struct trapped_access *found)
{
    enum { RSI = 6, RDI = 7 };
    struct interpreter_registers before = *after;
    unsigned step = string_operand(code, length);

    before.ip = after->ip - length;
    if (step) {
        before.general[RSI] -= step;
        before.general[RDI] -= step;
        return decode(code, length, &before, word, word_size, found);
    }
    if (!moves_stack(code, length))
        return false;
    before.general[INTERPRETER_STACK_POINTER] += 8;
    if (decode(code, length, &before, word, word_size, found))
        return true;
    before.general[INTERPRETER_STACK_POINTER] -= 16;
    return decode(code, length, &before, word, word_size, found);
}

static bool is_rex(unsigned char byte)
{
    return (byte & 0xf0) == 0x40;
}

/* Segments, sizes of operand and address, lock and rep. */
static bool is_legacy_prefix(unsigned char byte)
{
    return byte == 0x26 || byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x64 ||
           byte == 0x65 || byte == 0x66 || byte == 0x67 || byte == 0xf0 || byte == 0xf2 ||
           byte == 0xf3;
}

/*
 * A first byte that would be a prefix without an effect, which no compiler writes: it is the end of
 * the instruction before. REX counts only right before the opcode; rep stands before strings and
 * opcodes of two bytes; four segments have no base.
 */
static bool begins_idly(const unsigned char *code, unsigned length)
{
    unsigned opcode = 1;

    if (length < 2)
        return false;
    if (is_rex(code[0]))
        return is_rex(code[1]) || is_legacy_prefix(code[1]);
    if (code[0] == 0x26 || code[0] == 0x2e || code[0] == 0x36 || code[0] == 0x3e)
        return true;
    if (code[0] != 0xf2 && code[0] != 0xf3)
        return false;
    while (opcode + 1 < length && (is_rex(code[opcode]) || is_legacy_prefix(code[opcode])))
        opcode++;
    return code[opcode] != 0x0f && string_operand(code, opcode + 1) == 0;
}

bool trapped_access_find(const void *code, size_t size, const struct interpreter_registers *after,
                         uint64_t word, uint32_t word_size, uint64_t expected,
                         struct trapped_access *out)
{
    const unsigned char *end = (const unsigned char *)code + size;
    unsigned longest = size < TRAPPED_CODE_BYTES ? (unsigned)size : TRAPPED_CODE_BYTES;
    struct trapped_access candidate;
    bool found = false;

    /* The longest that fits: a shorter one is mostly the same without its prefixes. */
    for (unsigned length = 1; length <= longest; length++) {
        struct interpreter_registers before = *after;

        before.ip = after->ip - length;
        if (!decode(end - length, length, &before, word, word_size, &candidate))
            continue;
        if (!found || before.ip == expected || !begins_idly(end - length, length))
            *out = candidate;
        found = true;
        if (before.ip == expected)
            break;
    }
    for (unsigned length = 1; !found && length <= longest; length++) {
        if (decode_moved(end - length, length, after, word, word_size, &candidate)) {
            *out = candidate;
            found = true;
        }
    }
    return found;
}

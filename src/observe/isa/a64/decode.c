/* SPDX-License-Identifier: BSD-3-Clause */
/* The classes of instructions, and arithmetic with immediates. Signal-safe. */
#include "isa/a64/decode.h"

#include "signal_safe.h"

bool a64_logical_immediate(unsigned n, unsigned immr, unsigned imms, bool wide, uint64_t *pattern)
{
    unsigned selector = n << 6 | (~imms & 0x3f);
    if (selector <= 1)
        return false;
    unsigned size = 1u << (31 - __builtin_clz(selector)); /* of the element that repeats */
    unsigned ones = (imms & (size - 1)) + 1, rotation = immr & (size - 1);
    if (ones == size || (n && !wide))
        return false;
    uint64_t element = (UINT64_C(1) << ones) - 1;
    uint64_t mask = ~UINT64_C(0) >> (64 - size);
    if (rotation)
        element = (element >> rotation | element << (size - rotation)) & mask;
    for (unsigned width = size; width < 64; width *= 2)
        element |= element << width;
    *pattern = wide ? element : (uint32_t)element;
    return true;
}

static void decode_add_immediate(struct a64_operation *op)
{
    uint32_t word = op->word;
    bool sets_flags = bit(word, 29);
    static const uint8_t codes[2][2][2] = {
        {{A64_ADD_32_I, A64_ADD_64_I}, {A64_ADDS_32_I, A64_ADDS_64_I}},
        {{A64_SUB_32_I, A64_SUB_64_I}, {A64_SUBS_32_I, A64_SUBS_64_I}}};
    op->code = codes[bit(word, 30)][sets_flags][bit(word, 31)];
    op->n = (uint8_t)register_at(word, 5);
    op->d = (uint8_t)(sets_flags ? or_sink(register_at(word, 0)) : register_at(word, 0));
    op->immediate = (int64_t)field(word, 10, 12) << (bit(word, 22) ? 12 : 0);
    op->unknown = sets_flags ? UNKNOWN_RESULT_AND_FLAGS : UNKNOWN_RESULT;
    op->reads = general_bit(op->n);
    op->writes = general_bit(op->d);
}

static void decode_logical_immediate(struct a64_operation *op)
{
    uint32_t word = op->word;
    bool wide = bit(word, 31);
    unsigned opc = field(word, 29, 2);
    uint64_t pattern;
    static const uint8_t codes[4][2] = {{A64_AND_32_I, A64_AND_64_I},
                                        {A64_ORR_32_I, A64_ORR_64_I},
                                        {A64_EOR_32_I, A64_EOR_64_I},
                                        {A64_ANDS_32_I, A64_ANDS_64_I}};
    if (!a64_logical_immediate(field(word, 22, 1), field(word, 16, 6), field(word, 10, 6), wide,
                               &pattern))
        return;
    op->code = codes[opc][wide];
    op->n = (uint8_t)or_zero(register_at(word, 5));
    op->d = (uint8_t)(opc == 3 ? or_sink(register_at(word, 0)) : register_at(word, 0));
    op->immediate = (int64_t)pattern;
    op->unknown = opc == 3 ? UNKNOWN_RESULT_AND_FLAGS : UNKNOWN_RESULT;
    op->reads = general_bit(op->n);
    op->writes = general_bit(op->d);
}

static void decode_move_wide(struct a64_operation *op)
{
    uint32_t word = op->word;
    bool wide = bit(word, 31);
    unsigned opc = field(word, 29, 2), shift = 16 * field(word, 21, 2);
    uint64_t value = (uint64_t)field(word, 5, 16) << shift;
    if (opc == 1 || (!wide && shift > 16))
        return;
    op->d = (uint8_t)or_sink(register_at(word, 0));
    op->writes = general_bit(op->d);
    if (opc == 3) {
        op->code = wide ? A64_KEEP_64 : A64_KEEP_32;
        op->shift = (uint8_t)shift;
        op->immediate = (int64_t)value;
        op->reads = op->writes;
        return;
    }
    op->code = A64_MOVE;
    if (opc == 0)
        value = ~value;
    op->immediate = (int64_t)(wide ? value : (uint32_t)value);
}

/* sbfm, bfm, ubfm: a field is moved down to bit 0, or the low bits up to a field. */
static void decode_bitfield(struct a64_operation *op)
{
    uint32_t word = op->word;
    bool wide = bit(word, 31);
    unsigned opc = field(word, 29, 2), immr = field(word, 16, 6), imms = field(word, 10, 6);
    unsigned size = wide ? 64 : 32;
    static const uint8_t codes[3][2][2] = {
        {{A64_EXTRACT_SIGNED_32, A64_EXTRACT_SIGNED_64},
         {A64_PLACE_SIGNED_32, A64_PLACE_SIGNED_64}},
        {{A64_COPY_LOW_32, A64_COPY_LOW_64}, {A64_COPY_FIELD_32, A64_COPY_FIELD_64}},
        {{A64_EXTRACT, A64_EXTRACT}, {A64_PLACE, A64_PLACE}}};
    if (opc == 3 || bit(word, 22) != wide || immr >= size || imms >= size)
        return;
    bool up = imms < immr;
    op->code = codes[opc][up][wide];
    op->d = (uint8_t)or_sink(register_at(word, 0));
    op->n = (uint8_t)or_zero(register_at(word, 5));
    op->shift = (uint8_t)(up ? size - immr : immr);
    op->width = (uint8_t)(up ? imms + 1 : imms - immr + 1);
    op->writes = general_bit(op->d);
    op->reads = general_bit(op->n) | (opc == 1 ? op->writes : 0);
}

static void decode_extract(struct a64_operation *op)
{
    uint32_t word = op->word;
    bool wide = bit(word, 31);
    unsigned lowest = field(word, 10, 6);
    if (field(word, 29, 2) != 0 || bit(word, 21) || bit(word, 22) != wide || (!wide && lowest > 31))
        return;
    op->code = wide ? A64_EXTRACT_PAIR_64 : A64_EXTRACT_PAIR_32;
    op->d = (uint8_t)or_sink(register_at(word, 0));
    op->n = (uint8_t)or_zero(register_at(word, 5));
    op->m = (uint8_t)or_zero(register_at(word, 16));
    op->shift = (uint8_t)lowest;
    op->reads = general_bit(op->n) | general_bit(op->m);
    op->writes = general_bit(op->d);
}

static void decode_address(struct a64_operation *op)
{
    uint32_t word = op->word;
    int64_t immediate = signed_field(word, 5, 19) * 4 + field(word, 29, 2);
    op->code = bit(word, 31) ? A64_PAGE_ADDRESS : A64_ADDRESS;
    op->immediate = bit(word, 31) ? immediate * 4096 : immediate;
    op->d = (uint8_t)or_sink(register_at(word, 0));
    op->writes = general_bit(op->d);
}

void a64_decode_immediate(struct a64_operation *op)
{
    switch (field(op->word, 23, 3)) {
    case 0:
    case 1:
        decode_address(op);
        break;
    case 2:
        decode_add_immediate(op);
        break;
    case 4:
        decode_logical_immediate(op);
        break;
    case 5:
        decode_move_wide(op);
        break;
    case 6:
        decode_bitfield(op);
        break;
    case 7:
        decode_extract(op);
        break;
    default: /* memory tags */
        break;
    }
}

void a64_decode(uint32_t word, struct a64_operation *op)
{
    *op = (struct a64_operation){
        .word = word,
        .code = A64_UNKNOWN,
        .d = REGISTER_SINK,
        .n = REGISTER_ZERO,
        .m = REGISTER_ZERO,
        .a = REGISTER_ZERO,
    };
    switch (field(word, 25, 4)) {
    case 2:
        a64_decode_scalable(op);
        break;
    case 8:
    case 9:
        a64_decode_immediate(op);
        break;
    case 10:
    case 11:
        a64_decode_control(op);
        break;
    case 4:
    case 6:
    case 12:
    case 14:
        a64_decode_memory(op);
        break;
    case 5:
    case 13:
        a64_decode_register(op);
        break;
    case 7:
    case 15:
        a64_decode_vector(op);
        break;
    default: /* reserved, matrix extension */
        break;
    }
}

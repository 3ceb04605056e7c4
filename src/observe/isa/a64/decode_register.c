/* SPDX-License-Identifier: BSD-3-Clause */
/* Data processing of general registers. Signal-safe. */
#include "isa/a64/decode.h"

#include "signal_safe.h"

static void set_operands(struct a64_operation *op)
{
    op->d = (uint8_t)or_sink(register_at(op->word, 0));
    op->n = (uint8_t)or_zero(register_at(op->word, 5));
    op->m = (uint8_t)or_zero(register_at(op->word, 16));
    op->reads = general_bit(op->n) | general_bit(op->m);
    op->writes = general_bit(op->d);
}

/* The second operand's kind, from the shift's two bits. */
static unsigned shifted(unsigned type, bool wide)
{
    static const uint8_t kinds[4][2] = {{OPERAND_UXTX, OPERAND_UXTX},
                                        {OPERAND_LSR_32, OPERAND_LSR_64},
                                        {OPERAND_ASR_32, OPERAND_ASR_64},
                                        {OPERAND_ROR_32, OPERAND_ROR_64}};
    return kinds[type][wide];
}

static void decode_logical(struct a64_operation *op)
{
    uint32_t word = op->word;
    bool wide = bit(word, 31), inverted = bit(word, 21);
    unsigned opc = field(word, 29, 2), amount = field(word, 10, 6), type = field(word, 22, 2);
    static const uint8_t codes[4][2][2] = {
        {{A64_AND_32_R, A64_AND_64_R}, {A64_AND_32_X, A64_AND_64_X}},
        {{A64_ORR_32_R, A64_ORR_64_R}, {A64_ORR_32_X, A64_ORR_64_X}},
        {{A64_EOR_32_R, A64_EOR_64_R}, {A64_EOR_32_X, A64_EOR_64_X}},
        {{A64_ANDS_32_R, A64_ANDS_64_R}, {A64_ANDS_32_X, A64_ANDS_64_X}}};
    if (!wide && amount > 31)
        return;
    op->code = codes[opc][inverted || type != 0][wide];
    op->mode = (uint8_t)(shifted(type, wide) | (inverted ? OPERAND_INVERTED : 0));
    op->shift = (uint8_t)amount;
    op->unknown = opc == 3 ? UNKNOWN_RESULT_AND_FLAGS : UNKNOWN_RESULT;
    set_operands(op);
}

static const uint8_t add_codes[2][2][2][2] = {
    /* subtract, sets flags, general operand, wide */
    {{{A64_ADD_32_R, A64_ADD_64_R}, {A64_ADD_32_X, A64_ADD_64_X}},
     {{A64_ADDS_32_R, A64_ADDS_64_R}, {A64_ADDS_32_X, A64_ADDS_64_X}}},
    {{{A64_SUB_32_R, A64_SUB_64_R}, {A64_SUB_32_X, A64_SUB_64_X}},
     {{A64_SUBS_32_R, A64_SUBS_64_R}, {A64_SUBS_32_X, A64_SUBS_64_X}}}};

static void decode_add_shifted(struct a64_operation *op)
{
    uint32_t word = op->word;
    bool wide = bit(word, 31), sets_flags = bit(word, 29);
    unsigned amount = field(word, 10, 6), type = field(word, 22, 2);
    if (type == 3 || (!wide && amount > 31))
        return;
    op->code = add_codes[bit(word, 30)][sets_flags][type != 0][wide];
    op->mode = (uint8_t)shifted(type, wide);
    op->shift = (uint8_t)amount;
    op->unknown = sets_flags ? UNKNOWN_RESULT_AND_FLAGS : UNKNOWN_RESULT;
    set_operands(op);
}

static void decode_add_extended(struct a64_operation *op)
{
    uint32_t word = op->word;
    bool wide = bit(word, 31), sets_flags = bit(word, 29);
    unsigned amount = field(word, 10, 3);
    if (field(word, 22, 2) != 0 || amount > 4)
        return;
    op->code = add_codes[bit(word, 30)][sets_flags][1][wide];
    op->mode = (uint8_t)field(word, 13, 3);
    op->shift = (uint8_t)amount;
    op->unknown = sets_flags ? UNKNOWN_RESULT_AND_FLAGS : UNKNOWN_RESULT;
    set_operands(op);
    op->n = (uint8_t)register_at(word, 5);
    if (!sets_flags)
        op->d = (uint8_t)register_at(word, 0);
    op->reads = general_bit(op->n) | general_bit(op->m);
    op->writes = general_bit(op->d);
}

/* adc, sbc; rmif, setf8, setf16. */
static void decode_carry(struct a64_operation *op)
{
    uint32_t word = op->word;
    bool wide = bit(word, 31);
    unsigned opcode = field(word, 10, 6);
    if (opcode == 0) {
        op->code = wide ? A64_ADC_64 : A64_ADC_32;
        op->mode = bit(word, 29);
        op->unknown = op->mode ? UNKNOWN_RESULT_AND_FLAGS : UNKNOWN_RESULT;
        set_operands(op);
        op->a = bit(word, 30);
    } else if ((opcode & 0x1f) == 1 && field(word, 29, 3) == 5 && !bit(word, 4)) {
        op->code = A64_ROTATE_FLAGS;
        op->shift = (uint8_t)field(word, 15, 6);
        op->mode = (uint8_t)field(word, 0, 4);
    } else if ((opcode & 0xf) == 2 && field(word, 29, 3) == 1 && field(word, 15, 6) == 0 &&
               field(word, 0, 5) == 0xd) {
        op->code = A64_SET_FLAGS_OF;
        op->width = bit(word, 14) ? 16 : 8;
    }
    if (op->code == A64_ROTATE_FLAGS || op->code == A64_SET_FLAGS_OF) {
        op->unknown = UNKNOWN_RESULT_AND_FLAGS;
        op->n = (uint8_t)or_zero(register_at(word, 5));
        op->reads = general_bit(op->n);
    }
}

static void decode_conditional_compare(struct a64_operation *op)
{
    uint32_t word = op->word;
    bool by_register = !bit(word, 11);
    if (!bit(word, 29) || bit(word, 10) || bit(word, 4))
        return;
    op->code = bit(word, 31) ? A64_COMPARE_IF_64 : A64_COMPARE_IF_32;
    op->unknown = UNKNOWN_RESULT_AND_FLAGS;
    op->n = (uint8_t)or_zero(register_at(word, 5));
    op->a = by_register;
    if (by_register)
        op->m = (uint8_t)or_zero(register_at(word, 16));
    else
        op->immediate = field(word, 16, 5);
    op->mode = !bit(word, 30);
    op->shift = (uint8_t)field(word, 12, 4);
    op->width = (uint8_t)field(word, 0, 4);
    op->reads = general_bit(op->n) | general_bit(op->m);
}

static void decode_select(struct a64_operation *op)
{
    uint32_t word = op->word;
    if (bit(word, 29) || bit(word, 11))
        return;
    op->code = bit(word, 31) ? A64_SELECT_64 : A64_SELECT_32;
    op->mode = (uint8_t)(bit(word, 30) * 2 + bit(word, 10));
    op->shift = (uint8_t)field(word, 12, 4);
    set_operands(op);
    op->reads = 0; /* only what is selected */
}

static void decode_two_sources(struct a64_operation *op)
{
    uint32_t word = op->word;
    bool wide = bit(word, 31);
    unsigned opcode = field(word, 10, 6);
    static const uint8_t codes[12][2] = {
        [2] = {A64_UDIV_32, A64_UDIV_64},  [3] = {A64_SDIV_32, A64_SDIV_64},
        [8] = {A64_LSLV_32, A64_LSLV_64},  [9] = {A64_LSRV_32, A64_LSRV_64},
        [10] = {A64_ASRV_32, A64_ASRV_64}, [11] = {A64_RORV_32, A64_RORV_64}};
    if (bit(word, 29))
        return;
    if (opcode < 12) {
        op->code = codes[opcode][wide];
    } else if (opcode == 12 && wide) {
        op->code = A64_POISON; /* pacga */
    } else if (opcode >> 3 == 2 && wide == ((opcode & 3) == 3)) {
        op->code = A64_CRC32;
        op->width = (uint8_t)(1u << (opcode & 3));
        op->mode = bit(word, 12);
    } else if (opcode >> 2 == 6) {
        op->code = A64_POISON; /* smax, umax, smin, umin */
    }
    if (op->code != A64_UNKNOWN)
        set_operands(op);
}

static void decode_authentication(struct a64_operation *op)
{
    uint32_t word = op->word;
    unsigned opcode = field(word, 10, 6);
    bool by_zero = opcode >= 8;
    if (!bit(word, 31) || opcode > 0x11 || (by_zero && register_at(word, 5) != 31))
        return;
    unsigned kind = opcode >= 0x10 ? 6 : opcode & 7;
    op->d = (uint8_t)or_sink(register_at(word, 0));
    op->n = (uint8_t)(by_zero ? REGISTER_ZERO : register_at(word, 5));
    op->writes = general_bit(op->d);
    op->reads = op->writes | (kind < 4 ? general_bit(op->n) : 0);
    op->code = kind == 2 || kind == 3 ? A64_POISON : A64_AUTHENTICATE; /* data keys are not ours */
    op->mode = (uint8_t)(kind == 0 ? SIGN_A : kind == 1 ? SIGN_B : AUTHENTICATE_OR_STRIP);
    if (op->code == A64_POISON)
        op->mode = 0;
}

static void decode_one_source(struct a64_operation *op)
{
    uint32_t word = op->word;
    unsigned opcode = field(word, 10, 6);
    bool wide = bit(word, 31);
    if (bit(word, 29))
        return;
    if (register_at(word, 16) == 1) {
        decode_authentication(op);
        return;
    }
    if (register_at(word, 16) != 0 || opcode > 8 || (opcode == 3 && !wide))
        return;
    set_operands(op);
    op->code = A64_ONE_SOURCE;
    op->immediate = opcode;
    op->width = wide ? 8 : 4;
    op->reads = general_bit(op->n);
}

static void decode_three_sources(struct a64_operation *op)
{
    uint32_t word = op->word;
    bool wide = bit(word, 31), subtracts = bit(word, 15);
    unsigned kind = field(word, 21, 3);
    if (field(word, 29, 2) != 0 || (kind != 0 && !wide))
        return;
    switch (kind) {
    case 0:
        op->code = subtracts ? (wide ? A64_MULTIPLY_SUBTRACT_64 : A64_MULTIPLY_SUBTRACT_32)
                             : (wide ? A64_MULTIPLY_ADD_64 : A64_MULTIPLY_ADD_32);
        break;
    case 1:
    case 5:
        op->code = A64_MULTIPLY_LONG;
        op->mode = (uint8_t)((kind == 1 ? 2 : 0) + subtracts);
        break;
    case 2:
    case 6:
        if (subtracts)
            return;
        op->code = A64_MULTIPLY_HIGH;
        op->mode = kind == 2 ? 2 : 0;
        break;
    default:
        return;
    }
    set_operands(op);
    if (op->code != A64_MULTIPLY_HIGH)
        op->a = (uint8_t)or_zero(register_at(word, 10));
    op->reads |= general_bit(op->a);
}

void a64_decode_register(struct a64_operation *op)
{
    uint32_t word = op->word;
    if (!bit(word, 28)) {
        if (!bit(word, 24))
            decode_logical(op);
        else if (!bit(word, 21))
            decode_add_shifted(op);
        else
            decode_add_extended(op);
    } else if (bit(word, 24)) {
        decode_three_sources(op);
    } else if (field(word, 21, 4) == 0) {
        decode_carry(op);
    } else if (field(word, 21, 4) == 2) {
        decode_conditional_compare(op);
    } else if (field(word, 21, 4) == 4) {
        decode_select(op);
    } else if (field(word, 21, 4) == 6) {
        if (bit(word, 30))
            decode_one_source(op);
        else
            decode_two_sources(op);
    }
}

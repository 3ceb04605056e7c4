/* SPDX-License-Identifier: BSD-3-Clause */
/* Branches, system registers, hints. Signal-safe. */
#include "isa/a64/decode.h"
#include "isa/a64/system.h"

#include "signal_safe.h"

/* pacia1716 and the like: always there, doing nothing on processors that cannot. */
static void decode_hint_authentication(struct a64_operation *op, unsigned hint)
{
    unsigned d = INTERPRETER_LINK_REGISTER, modifier;
    if (hint < 16) {
        d = 17;
        modifier = 16;
    } else {
        modifier = hint & 1 ? REGISTER_SP : REGISTER_ZERO;
    }
    bool authenticates = hint & 4, second_key = hint & 2;
    op->code = A64_AUTHENTICATE;
    op->d = (uint8_t)d;
    op->n = (uint8_t)modifier;
    op->mode = authenticates ? AUTHENTICATE_OR_STRIP : second_key ? SIGN_B : SIGN_A;
    op->writes = general_bit(d);
    op->reads = op->writes | (authenticates ? 0 : general_bit(modifier));
}

static void decode_hint(struct a64_operation *op)
{
    enum { XPACLRI = 7, FIRST_1716 = 8, LAST_1716 = 14, FIRST_SP = 24, LAST_SP = 31 };
    unsigned hint = field(op->word, 5, 7);
    op->code = A64_NOTHING;
    if (hint == XPACLRI) {
        op->code = A64_AUTHENTICATE;
        op->d = INTERPRETER_LINK_REGISTER;
        op->mode = AUTHENTICATE_OR_STRIP;
        op->reads = op->writes = general_bit(op->d);
    } else if (hint >= FIRST_1716 && hint <= LAST_1716 && hint % 2 == 0) {
        decode_hint_authentication(op, hint);
    } else if (hint >= FIRST_SP && hint <= LAST_SP) {
        decode_hint_authentication(op, hint);
    }
}

/* msr of an immediate to a field of the processor's state. */
static void decode_state_field(struct a64_operation *op)
{
    unsigned op1 = field(op->word, 16, 3), op2 = field(op->word, 5, 3);
    if (register_at(op->word, 0) != 31)
        return;
    if (op1 == 0 && op2 == 0) {
        op->code = A64_INVERT_CARRY;
    } else if (op1 == 0 && op2 <= 2) { /* axflag, xaflag */
        op->code = A64_POISON;
        op->mode = 1;
    } else if (op1 == 3 && (op2 == 1 || op2 == 2)) { /* ssbs, dit */
        op->code = A64_NOTHING;
    }
}

/* Cache maintenance, of which only dc zva touches memory as a store does. */
static void decode_maintenance(struct a64_operation *op)
{
    unsigned line = field(op->word, 8, 4), op2 = field(op->word, 5, 3);
    if (field(op->word, 16, 3) != 3 || field(op->word, 12, 4) != 7 || bit(op->word, 21))
        return;
    if (line == 4 && op2 == 1) {
        op->code = A64_ZERO_BLOCK;
        op->n = (uint8_t)or_zero(register_at(op->word, 0));
        op->unknown = UNKNOWN_ADDRESS;
        op->reads = general_bit(op->n);
        op->accesses = A64_ZERO_BLOCK_MAX / ACCESS_WIDTH_MAX;
    } else if (line == 3 || line == 5 || line >= 10) {
        op->code = A64_NOTHING;
    }
}

static void decode_system_register(struct a64_operation *op)
{
    unsigned number = field(op->word, 5, 16), t = register_at(op->word, 0);
    op->immediate = number;
    if (bit(op->word, 21)) {
        op->d = (uint8_t)or_sink(t);
        op->writes = general_bit(op->d);
        op->code = A64_READ_SYSTEM;
        if (!a64_system_is_readable(number)) {
            op->code = A64_POISON;
            op->mode = number == A64_RNDR || number == A64_RNDRRS;
        }
    } else if (a64_system_is_writable(number)) {
        op->code = A64_WRITE_SYSTEM;
        op->n = (uint8_t)or_zero(t);
    }
}

static void decode_system(struct a64_operation *op)
{
    enum { HINT = 2, BARRIER = 3, STATE = 4, CLREX = 2 };
    uint32_t word = op->word;
    unsigned op0 = field(word, 19, 2), op1 = field(word, 16, 3), crn = field(word, 12, 4);
    if (op0 >= 2) {
        decode_system_register(op);
    } else if (op0 == 1) {
        decode_maintenance(op);
    } else if (bit(word, 21)) {
        return;
    } else if (crn == HINT && op1 == 3 && register_at(word, 0) == 31) {
        decode_hint(op);
    } else if (crn == BARRIER && op1 == 3) {
        op->code = field(word, 5, 3) == CLREX ? A64_CLEAR_MONITOR : A64_NOTHING;
    } else if (crn == STATE) {
        decode_state_field(op);
    } else if (crn == 1 && op1 == 3) { /* wfet, wfit */
        op->code = A64_NOTHING;
    }
}

static void decode_branch_register(struct a64_operation *op)
{
    uint32_t word = op->word;
    unsigned opc = field(word, 21, 4), op3 = field(word, 10, 6), op4 = field(word, 0, 5);
    bool authenticated = (op3 & 0x3e) == 2;
    static const uint8_t codes[3] = {A64_BRANCH_REGISTER, A64_CALL_REGISTER, A64_RETURN};
    if (register_at(word, 16) != 31 || (opc & 7) > 2 || (op3 != 0 && !authenticated) ||
        (opc >= 8 && (!authenticated || opc == 10)))
        return;
    if (opc < 8 && op4 != (authenticated ? 31u : 0u))
        return;
    op->code = codes[opc & 7];
    op->n = (uint8_t)(opc == 2 && authenticated ? INTERPRETER_LINK_REGISTER
                                                : or_zero(register_at(word, 5)));
    op->mode = authenticated;
    op->unknown = UNKNOWN_BRANCH;
    op->reads = general_bit(op->n);
    if (op->code == A64_CALL_REGISTER)
        op->writes = general_bit(INTERPRETER_LINK_REGISTER);
}

static void decode_compare_branch(struct a64_operation *op)
{
    uint32_t word = op->word;
    op->n = (uint8_t)or_zero(register_at(word, 0));
    op->unknown = UNKNOWN_BRANCH;
    op->reads = general_bit(op->n);
    if (bit(word, 25)) {
        op->code = bit(word, 24) ? A64_BRANCH_BIT_SET : A64_BRANCH_BIT_CLEAR;
        op->shift = (uint8_t)(field(word, 31, 1) << 5 | field(word, 19, 5));
        op->immediate = signed_field(word, 5, 14) * 4;
        return;
    }
    static const uint8_t codes[2][2] = {{A64_BRANCH_ZERO_32, A64_BRANCH_ZERO_64},
                                        {A64_BRANCH_NONZERO_32, A64_BRANCH_NONZERO_64}};
    op->code = codes[bit(word, 24)][bit(word, 31)];
    op->immediate = signed_field(word, 5, 19) * 4;
}

void a64_decode_control(struct a64_operation *op)
{
    uint32_t word = op->word;
    switch (field(word, 29, 3)) {
    case 0:
    case 4:
        op->code = bit(word, 31) ? A64_BRANCH_LINK : A64_BRANCH;
        op->immediate = signed_field(word, 0, 26) * 4;
        op->writes = bit(word, 31) ? general_bit(INTERPRETER_LINK_REGISTER) : 0;
        break;
    case 1:
    case 5:
        decode_compare_branch(op);
        break;
    case 2:
        if (field(word, 24, 2) != 0)
            break;
        op->code = A64_BRANCH_IF;
        op->shift = (uint8_t)field(word, 0, 4);
        op->immediate = signed_field(word, 5, 19) * 4;
        break;
    case 6:
        if (bit(word, 25))
            decode_branch_register(op);
        else if (field(word, 22, 3) == 4)
            decode_system(op);
        else if (field(word, 21, 4) == 0 && field(word, 0, 5) == 1)
            op->code = A64_SYSTEM_CALL;
        break;
    default:
        break;
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Decoding of control transfers and of what stops or is skipped. Signal-safe. */
#include "isa/x86/decode.h"

#include "isa/interpreter.h"
#include "isa/x86/processor.h"

#include "signal_safe.h"

static const struct location top_of_stack = {.base = REGISTER_RSP, .index = REGISTER_ZERO};
static const struct location below_stack = {
    .base = REGISTER_RSP, .index = REGISTER_ZERO, .displacement = -8};

/* Register that holds a branch target, loaded if it is in memory. */
static unsigned target_register(struct emitter *e)
{
    const ZydisDecodedOperand *operand = &e->operands[0];
    if (is_general(operand))
        return general_register(operand->reg.value);
    struct location location = locate(e, operand);
    emit_load(e, REGISTER_OPERAND, &location, 8, false);
    return REGISTER_OPERAND;
}

static int64_t direct_target(const struct emitter *e)
{
    return (int64_t)(e->next_ip + (uint64_t)e->operands[0].imm.value.s);
}

static void decode_call(struct emitter *e)
{
    struct micro_op *op;
    if (e->operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
        op = emit_access(e, OP_CALL, &below_stack, 8, ACCESS_STORE, false);
        op->immediate = direct_target(e);
    } else {
        unsigned target = target_register(e);
        op = emit_access(e, OP_CALL_REGISTER, &below_stack, 8, ACCESS_STORE, false);
        op->s = (uint8_t)target;
    }
    op->scale = e->instruction->length;
}

static void decode_jump(struct emitter *e)
{
    if (e->operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
        emit(e, OP_JUMP)->immediate = direct_target(e);
    } else {
        unsigned target = target_register(e);
        emit_registers(e, OP_JUMP_REGISTER, REGISTER_ZERO, target);
    }
}

static void decode_conditional(struct emitter *e)
{
    struct micro_op *op;
    switch (e->instruction->mnemonic) {
    case ZYDIS_MNEMONIC_JRCXZ:
    case ZYDIS_MNEMONIC_JECXZ:
        op = emit_registers(e, OP_JUMP_RCX_ZERO, REGISTER_ZERO, REGISTER_RCX);
        break;
    case ZYDIS_MNEMONIC_LOOP:
    case ZYDIS_MNEMONIC_LOOPE:
    case ZYDIS_MNEMONIC_LOOPNE:
        op = emit_registers(e, OP_LOOP, REGISTER_ZERO, REGISTER_RCX);
        op->scale = e->instruction->mnemonic == ZYDIS_MNEMONIC_LOOP    ? 0
                    : e->instruction->mnemonic == ZYDIS_MNEMONIC_LOOPE ? 1
                                                                       : 2;
        break;
    case ZYDIS_MNEMONIC_XBEGIN:
        emit_stop(e, INTERPRETER_UNKNOWN);
        return;
    default:
        op = emit(e, OP_JUMP_IF_O + (e->instruction->opcode & 15));
        break;
    }
    op->width = e->instruction->address_width / 8;
    op->immediate = direct_target(e);
}

static bool is_harmless(const ZydisDecodedInstruction *instruction)
{
    switch (instruction->meta.category) {
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
    case ZYDIS_CATEGORY_PREFETCH:
    case ZYDIS_CATEGORY_PREFETCHWT1:
        return true;
    default:
        break;
    }
    switch (instruction->mnemonic) {
    case ZYDIS_MNEMONIC_NOP:
    case ZYDIS_MNEMONIC_ENDBR64:
    case ZYDIS_MNEMONIC_ENDBR32:
    case ZYDIS_MNEMONIC_PAUSE:
    case ZYDIS_MNEMONIC_LFENCE:
    case ZYDIS_MNEMONIC_MFENCE:
    case ZYDIS_MNEMONIC_SFENCE:
    case ZYDIS_MNEMONIC_CLFLUSH:
    case ZYDIS_MNEMONIC_CLFLUSHOPT:
    case ZYDIS_MNEMONIC_CLWB:
    case ZYDIS_MNEMONIC_CLDEMOTE:
    case ZYDIS_MNEMONIC_SERIALIZE:
    case ZYDIS_MNEMONIC_FNOP:
    case ZYDIS_MNEMONIC_FWAIT:
    case ZYDIS_MNEMONIC_EMMS:
        return true;
    case ZYDIS_MNEMONIC_RDSSPD:
    case ZYDIS_MNEMONIC_RDSSPQ:
    case ZYDIS_MNEMONIC_INCSSPD:
    case ZYDIS_MNEMONIC_INCSSPQ:
        return !x86_processor.shadow_stack;
    default:
        return false;
    }
}

bool x86_decode_control(struct emitter *e)
{
    const ZydisDecodedInstruction *instruction = e->instruction;
    if (is_harmless(instruction))
        return true;
    switch (instruction->meta.category) {
    case ZYDIS_CATEGORY_CALL:
    case ZYDIS_CATEGORY_RET:
    case ZYDIS_CATEGORY_UNCOND_BR:
    case ZYDIS_CATEGORY_COND_BR:
        break;
    case ZYDIS_CATEGORY_SYSCALL:
        emit_stop(e, INTERPRETER_SYSTEM_CALL);
        return true;
    case ZYDIS_CATEGORY_INTERRUPT:
        emit_stop(e, instruction->mnemonic == ZYDIS_MNEMONIC_INT ? INTERPRETER_SYSTEM_CALL
                                                                 : INTERPRETER_UNKNOWN);
        return true;
    case ZYDIS_CATEGORY_SYSRET:
    case ZYDIS_CATEGORY_IO:
    case ZYDIS_CATEGORY_IOSTRINGOP:
        emit_stop(e, INTERPRETER_UNKNOWN);
        return true;
    default:
        switch (instruction->mnemonic) {
        case ZYDIS_MNEMONIC_UD0:
        case ZYDIS_MNEMONIC_UD1:
        case ZYDIS_MNEMONIC_UD2:
        case ZYDIS_MNEMONIC_HLT:
        case ZYDIS_MNEMONIC_XABORT:
        case ZYDIS_MNEMONIC_RSM:
        case ZYDIS_MNEMONIC_UIRET:
            emit_stop(e, INTERPRETER_UNKNOWN);
            return true;
        default:
            return false;
        }
    }
    e->ended = true;
    /* With a 16-bit operand size the processors disagree on the target. */
    if (instruction->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR || instruction->operand_width == 16)
        emit_stop(e, INTERPRETER_UNKNOWN);
    else if (instruction->meta.category == ZYDIS_CATEGORY_CALL)
        decode_call(e);
    else if (instruction->meta.category == ZYDIS_CATEGORY_UNCOND_BR)
        decode_jump(e);
    else if (instruction->meta.category == ZYDIS_CATEGORY_COND_BR)
        decode_conditional(e);
    else if (instruction->mnemonic == ZYDIS_MNEMONIC_RET)
        emit_access(e, OP_RETURN, &top_of_stack, 8, ACCESS_LOAD, false)->immediate =
            8 + (e->operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE
                     ? (int64_t)(e->operands[0].imm.value.u & 0xffff)
                     : 0);
    else
        emit_stop(e, INTERPRETER_UNKNOWN);
    return true;
}

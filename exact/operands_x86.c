/* SPDX-License-Identifier: BSD-3-Clause */
/* x86-64 operands, by Zydis. */
#include "operands.h"

#include <Zydis/Zydis.h>

enum {
    WHOLE_OPERAND_MAX = 8, /* bytes; QEMU may report wider ones in pieces */
    OPERAND_MAX = 64,      /* wider ones count as accesses of 64 bytes: src/base/access.h */
};

bool operands_decode(const void *code, size_t size, struct instruction *instruction)
{
    ZydisDecoder decoder;
    ZydisDecodedInstruction decoded;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    instruction->operand_bytes = 0;
    instruction->role = 0;
    instruction->length = (uint8_t)size;
    if (!ZYAN_SUCCESS(
            ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
        !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, size, &decoded, operands)))
        return true;

    bool touches = false;
    for (unsigned i = 0; i < decoded.operand_count; i++) {
        const ZydisDecodedOperand *operand = &operands[i];
        if (operand->type != ZYDIS_OPERAND_TYPE_MEMORY || operand->actions == 0 ||
            operand->mem.type == ZYDIS_MEMOP_TYPE_AGEN)
            continue;
        touches = true;
        /* Gathers and scatters: each element is an operand of its own. */
        unsigned bytes = operand->mem.type == ZYDIS_MEMOP_TYPE_VSIB ? operand->element_size / 8u
                                                                    : operand->size / 8u;
        if ((operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ) &&
            (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
            instruction->role |= ROLE_MODIFY;
        if (bytes > OPERAND_MAX)
            bytes = OPERAND_MAX;
        if (bytes > WHOLE_OPERAND_MAX && bytes > instruction->operand_bytes)
            instruction->operand_bytes = (uint8_t)bytes;
        bool through_stack_pointer = operand->mem.base == ZYDIS_REGISTER_RSP &&
                                     operand->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
        if (through_stack_pointer && (operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
            instruction->role |= ROLE_PUSH;
    }
    if (decoded.meta.category == ZYDIS_CATEGORY_CALL)
        instruction->role |= ROLE_CALL;
    if (decoded.meta.category == ZYDIS_CATEGORY_RET)
        instruction->role |= ROLE_RETURN;
    return touches;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Decoding of memory operands with masks, gathers and scatters. Signal-safe. */
#include <string.h>

#include "isa/x86/decode.h"
#include "isa/x86/masked.h"
#include "isa/x86/processor.h"

#include "signal_safe.h"

static bool is_packed(const ZydisDecodedInstruction *instruction)
{
    return instruction->meta.category == ZYDIS_CATEGORY_EXPAND ||
           instruction->meta.category == ZYDIS_CATEGORY_COMPRESS ||
           instruction->mnemonic == ZYDIS_MNEMONIC_VPEXPANDB ||
           instruction->mnemonic == ZYDIS_MNEMONIC_VPEXPANDW ||
           instruction->mnemonic == ZYDIS_MNEMONIC_VPCOMPRESSB ||
           instruction->mnemonic == ZYDIS_MNEMONIC_VPCOMPRESSW;
}

static bool is_vector_masked_move(const ZydisDecodedInstruction *instruction)
{
    switch (instruction->mnemonic) {
    case ZYDIS_MNEMONIC_VMASKMOVPS:
    case ZYDIS_MNEMONIC_VMASKMOVPD:
    case ZYDIS_MNEMONIC_VPMASKMOVD:
    case ZYDIS_MNEMONIC_VPMASKMOVQ:
        return true;
    default:
        return false;
    }
}

/* Elements of the vector operand that the mask goes by: the widest in number of the registers. */
static unsigned masked_elements(const struct emitter *e)
{
    unsigned most = 1;
    for (unsigned i = 0; i < e->instruction->operand_count_visible; i++) {
        const ZydisDecodedOperand *operand = &e->operands[i];
        if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
            vector_register(operand->reg.value) >= 0 && operand->element_count > most)
            most = operand->element_count;
    }
    return most;
}

/* Shuffles and the like read their whole operand, whatever the mask: their exception class is one
 * without fault suppression. */
static bool reads_whole(const ZydisDecodedInstruction *instruction)
{
    switch (instruction->meta.exception_class) {
    case ZYDIS_EXCEPTION_CLASS_E1NF:
    case ZYDIS_EXCEPTION_CLASS_E2NF:
    case ZYDIS_EXCEPTION_CLASS_E3NF:
    case ZYDIS_EXCEPTION_CLASS_E4NF:
    case ZYDIS_EXCEPTION_CLASS_E5NF:
    case ZYDIS_EXCEPTION_CLASS_E6NF:
    case ZYDIS_EXCEPTION_CLASS_E9NF:
    case ZYDIS_EXCEPTION_CLASS_E10NF:
        return true;
    default:
        return instruction->mnemonic == ZYDIS_MNEMONIC_VDBPSADBW; /* Zydis 4.0 has it wrong */
    }
}

bool mask_layout_of(const struct emitter *e, const ZydisDecodedOperand *memory,
                    struct mask_layout *layout)
{
    ZydisRegister mask = e->instruction->avx.mask.reg;
    *layout = (struct mask_layout){
        .element_bytes = (uint8_t)(memory->element_size / 8),
        .elements = (uint8_t)memory->element_count,
        .mode = MASK_BY_ELEMENT,
    };
    if (is_vector_masked_move(e->instruction)) {
        layout->mask = (uint8_t)(REGISTER_VECTOR + vector_register(e->operands[1].reg.value));
        layout->mask_element_bytes = layout->element_bytes;
        layout->mask_bits = layout->elements;
        return true;
    }
    if (mask == ZYDIS_REGISTER_NONE || mask == ZYDIS_REGISTER_K0 || reads_whole(e->instruction))
        return false;
    layout->mask = (uint8_t)(REGISTER_OPMASK + ZydisRegisterGetId(mask));
    layout->mask_bits = (uint8_t)masked_elements(e);
    if (is_packed(e->instruction))
        layout->mode = MASK_PACKED;
    else if (layout->mask_bits != layout->elements)
        layout->mode = MASK_ANY;
    return true;
}

bool x86_decode_gather(struct emitter *e)
{
    const ZydisDecodedOperand *memory = NULL, *data = NULL;
    bool scatters = e->instruction->meta.category == ZYDIS_CATEGORY_SCATTER;
    bool legacy_mask = e->instruction->encoding == ZYDIS_INSTRUCTION_ENCODING_VEX;
    for (unsigned i = 0; i < e->instruction->operand_count_visible; i++) {
        if (e->operands[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
            memory = &e->operands[i];
    }
    data = &e->operands[scatters ? 2 : 0];
    if (!memory || memory->mem.type != ZYDIS_MEMOP_TYPE_VSIB ||
        data->type != ZYDIS_OPERAND_TYPE_REGISTER || vector_register(data->reg.value) < 0 ||
        memory->mem.segment == ZYDIS_REGISTER_FS || memory->mem.segment == ZYDIS_REGISTER_GS ||
        e->instruction->address_width != 64)
        return false;
    unsigned element_bytes = data->element_size / 8u;
    /* The second letter from the end names the index: vgatherDps, vpgatherQd. */
    bool wide_index = false;
    switch (e->instruction->mnemonic) {
    case ZYDIS_MNEMONIC_VGATHERQPS:
    case ZYDIS_MNEMONIC_VGATHERQPD:
    case ZYDIS_MNEMONIC_VPGATHERQD:
    case ZYDIS_MNEMONIC_VPGATHERQQ:
    case ZYDIS_MNEMONIC_VSCATTERQPS:
    case ZYDIS_MNEMONIC_VSCATTERQPD:
    case ZYDIS_MNEMONIC_VPSCATTERQD:
    case ZYDIS_MNEMONIC_VPSCATTERQQ:
        wide_index = true;
        break;
    default:
        break;
    }
    unsigned widest = wide_index || element_bytes == 8 ? 8 : 4;
    unsigned elements = e->instruction->avx.vector_length / 8u / widest;
    struct mask_layout layout = {
        .mask_bits = (uint8_t)elements,
        .element_bytes = (uint8_t)element_bytes,
        .elements = (uint8_t)elements,
        .mask_element_bytes = (uint8_t)element_bytes,
        .index_bytes = wide_index ? 8 : 4,
    };
    if (legacy_mask)
        layout.mask = (uint8_t)(REGISTER_VECTOR + vector_register(e->operands[2].reg.value));
    else
        layout.mask = (uint8_t)(REGISTER_OPMASK + ZydisRegisterGetId(e->instruction->avx.mask.reg));
    struct location location = {
        .base = (uint8_t)general_register(memory->mem.base),
        .index = (uint8_t)(REGISTER_VECTOR + vector_register(memory->mem.index)),
        .scale = (uint8_t)(memory->mem.scale ? __builtin_ctz(memory->mem.scale) : 0),
        .displacement = memory->mem.disp.has_displacement ? memory->mem.disp.value : 0,
    };
    struct micro_op *op = emit_access(e, scatters ? OP_SCATTER : OP_GATHER, &location,
                                      element_bytes, scatters ? ACCESS_STORE : ACCESS_LOAD, false);
    op->d = op->s = (uint8_t)(REGISTER_VECTOR + vector_register(data->reg.value));
    memcpy(&op->immediate, &layout, sizeof layout);
    e->accesses += elements - 1;
    if (scatters)
        e->block->store_lines += (uint8_t)(2 * (elements - 1));
    return true;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks of micro-operations from code bytes: the loop over instructions, and what the decoder's
 * other files build with. Signal-safe.
 */
#include "isa/x86/decode.h"

#include <string.h>

#include "isa/interpreter.h"

#include "signal_safe.h"

/* Most operations that one instruction becomes; more than any does. */
enum { OPS_PER_INSTRUCTION = 16, ACCESSES_PER_INSTRUCTION = 16 };

struct micro_op *emit(struct emitter *e, unsigned code)
{
    struct micro_op *op = &e->block->ops[e->block->ops_count++];
    *op = (struct micro_op){
        .code = (uint16_t)code,
        .d = REGISTER_ZERO,
        .s = REGISTER_ZERO,
        .base = REGISTER_ZERO,
        .index = REGISTER_ZERO,
        .offset = (uint16_t)(e->ip - e->block->ip),
        .instruction = e->block->instructions,
        .prior = (uint8_t)e->accesses,
    };
    return op;
}

struct micro_op *emit_registers(struct emitter *e, unsigned code, unsigned d, unsigned s)
{
    struct micro_op *op = emit(e, code);
    op->d = (uint8_t)d;
    op->s = (uint8_t)s;
    return op;
}

void emit_immediate(struct emitter *e, unsigned d, int64_t immediate)
{
    emit_registers(e, OP_IMMEDIATE, d, REGISTER_ZERO)->immediate = immediate;
}

struct micro_op *emit_access(struct emitter *e, unsigned code, const struct location *location,
                             unsigned width, enum access_kind kind, bool read_modify_write)
{
    struct micro_op *op = emit(e, code);
    op->base = location->base;
    op->index = location->index;
    op->scale = location->scale;
    op->displacement = location->displacement;
    op->width = (uint8_t)width;
    op->access = width | (uint32_t)kind << 8 | (uint32_t)read_modify_write << 16;
    e->accesses++;
    if (kind == ACCESS_STORE)
        e->block->store_lines += 2;
    return op;
}

void emit_load(struct emitter *e, unsigned d, const struct location *location, unsigned width,
               bool read_modify_write)
{
    emit_access(e, OP_LOAD_8 + width_index(width), location, width, ACCESS_LOAD, read_modify_write)
        ->d = (uint8_t)d;
}

void emit_store(struct emitter *e, unsigned s, const struct location *location, unsigned width,
                bool read_modify_write)
{
    emit_access(e, OP_STORE_8 + width_index(width), location, width, ACCESS_STORE,
                read_modify_write)
        ->s = (uint8_t)s;
}

void emit_stop(struct emitter *e, unsigned why)
{
    emit(e, OP_STOP)->immediate = why;
    e->ended = true;
}

unsigned general_register(ZydisRegister reg)
{
    switch (ZydisRegisterGetClass(reg)) {
    case ZYDIS_REGCLASS_GPR8:
    case ZYDIS_REGCLASS_GPR16:
    case ZYDIS_REGCLASS_GPR32:
    case ZYDIS_REGCLASS_GPR64:
        return (unsigned)(ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg) -
                          ZYDIS_REGISTER_RAX);
    default:
        return REGISTER_ZERO;
    }
}

bool is_general(const ZydisDecodedOperand *operand)
{
    return operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
           general_register(operand->reg.value) != REGISTER_ZERO;
}

bool is_high_byte(const ZydisDecodedOperand *operand)
{
    return operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
           operand->reg.value >= ZYDIS_REGISTER_AH && operand->reg.value <= ZYDIS_REGISTER_BH;
}

int vector_register(ZydisRegister reg)
{
    switch (ZydisRegisterGetClass(reg)) {
    case ZYDIS_REGCLASS_XMM:
    case ZYDIS_REGCLASS_YMM:
    case ZYDIS_REGCLASS_ZMM:
        return ZydisRegisterGetId(reg);
    default:
        return -1;
    }
}

bool is_memory(const ZydisDecodedOperand *operand)
{
    return operand->type == ZYDIS_OPERAND_TYPE_MEMORY && operand->mem.type == ZYDIS_MEMOP_TYPE_MEM;
}

uint64_t register_bit(ZydisRegister reg)
{
    unsigned general = general_register(reg);
    if (general != REGISTER_ZERO)
        return REGISTER_BIT(general);
    if (vector_register(reg) >= 0)
        return REGISTER_BIT(REGISTER_VECTOR + vector_register(reg));
    if (ZydisRegisterGetClass(reg) == ZYDIS_REGCLASS_MASK)
        return REGISTER_BIT(REGISTER_OPMASK + ZydisRegisterGetId(reg));
    return 0;
}

struct location locate(struct emitter *e, const ZydisDecodedOperand *operand)
{
    struct location location = {
        .base = (uint8_t)general_register(operand->mem.base),
        .index = (uint8_t)general_register(operand->mem.index),
        .displacement = operand->mem.disp.has_displacement ? operand->mem.disp.value : 0,
    };
    if (location.index != REGISTER_ZERO && operand->mem.scale > 1)
        location.scale = (uint8_t)__builtin_ctz(operand->mem.scale);
    if (operand->mem.base == ZYDIS_REGISTER_RIP || operand->mem.base == ZYDIS_REGISTER_EIP)
        location.displacement = (int64_t)((uint64_t)location.displacement + e->next_ip);
    unsigned segment = REGISTER_ZERO;
    if (operand->mem.type != ZYDIS_MEMOP_TYPE_AGEN) {
        if (operand->mem.segment == ZYDIS_REGISTER_FS)
            segment = REGISTER_FS;
        else if (operand->mem.segment == ZYDIS_REGISTER_GS)
            segment = REGISTER_GS;
    }
    bool narrow = e->instruction->address_width == 32;
    if (narrow || (segment != REGISTER_ZERO && location.base != REGISTER_ZERO &&
                   location.index != REGISTER_ZERO)) {
        struct micro_op *op = emit(e, narrow ? OP_ADDRESS_32 : OP_ADDRESS_64);
        op->d = REGISTER_ADDRESS;
        op->base = location.base;
        op->index = location.index;
        op->scale = location.scale;
        op->displacement = location.displacement;
        location = (struct location){.base = REGISTER_ADDRESS, .index = REGISTER_ZERO};
    }
    if (segment != REGISTER_ZERO) {
        if (location.base == REGISTER_ZERO)
            location.base = (uint8_t)segment;
        else
            location.index = (uint8_t)segment;
    }
    return location;
}

/* Instructions that load registers which they do not name. */
static bool restores_registers(ZydisMnemonic mnemonic)
{
    return mnemonic == ZYDIS_MNEMONIC_FXRSTOR || mnemonic == ZYDIS_MNEMONIC_FXRSTOR64;
}

static bool touches_x87(const ZydisDecodedInstruction *instruction)
{
    return instruction->meta.isa_ext == ZYDIS_ISA_EXT_X87 ||
           instruction->meta.isa_ext == ZYDIS_ISA_EXT_MMX ||
           instruction->meta.category == ZYDIS_CATEGORY_X87_ALU ||
           instruction->meta.isa_set == ZYDIS_ISA_SET_SSE2MMX ||
           instruction->meta.isa_set == ZYDIS_ISA_SET_SSSE3MMX ||
           restores_registers(instruction->mnemonic);
}

void x86_decode_unmodelled(struct emitter *e)
{
    uint64_t written = 0;
    for (unsigned i = 0; i < e->instruction->operand_count; i++) {
        const ZydisDecodedOperand *operand = &e->operands[i];
        bool reads = operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
        bool writes = operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
        if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER && writes)
            written |= register_bit(operand->reg.value);
        unsigned size = width_of(operand);
        if (!is_memory(operand) || size == 0)
            continue;
        struct location location = locate(e, operand);
        /* A load or a store, in pieces of at most 64 bytes. */
        for (int stores = 0; stores < 2; stores++) {
            if (!(stores ? writes : reads))
                continue;
            struct micro_op *op = emit_access(e, OP_TOUCH, &location, size < 64 ? size : 64,
                                              stores ? ACCESS_STORE : ACCESS_LOAD, reads && writes);
            op->immediate = size;
            op->s = (uint8_t)stores;
            e->accesses += (size + 63) / 64 - 1;
            if (stores)
                e->block->store_lines += size / 64;
        }
    }
    bool x87 = touches_x87(e->instruction);
    if (restores_registers(e->instruction->mnemonic))
        written |= ~UINT64_C(0) << REGISTER_OPMASK;
    const ZydisAccessedFlags *flags = e->instruction->cpu_flags;
    bool flags_written =
        flags && (flags->modified | flags->set_0 | flags->set_1 | flags->undefined);
    if (written || flags_written || x87) {
        struct micro_op *op = emit(e, OP_POISON);
        op->immediate = (int64_t)written;
        op->scale = flags_written;
        op->width = x87;
    }
}

/* Exchanges with memory are atomic without the prefix. */
static bool is_atomic(const ZydisDecodedInstruction *instruction)
{
    return instruction->attributes & ZYDIS_ATTRIB_HAS_LOCK ||
           (instruction->mnemonic == ZYDIS_MNEMONIC_XCHG &&
            instruction->attributes & ZYDIS_ATTRIB_HAS_MODRM && instruction->raw.modrm.mod != 3);
}

static void decode_instruction(struct emitter *e)
{
    if (e->instruction->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED)
        emit_stop(e, INTERPRETER_UNKNOWN);
    else if (!x86_decode_control(e) && !x86_decode_integer(e) && !x86_decode_stack(e) &&
             !x86_decode_exchange(e) && !x86_decode_bits(e) && !x86_decode_special(e) &&
             !x86_decode_vector(e) && !x86_decode_stub(e))
        x86_decode_unmodelled(e);
    if (is_atomic(e->instruction) && !e->ended)
        emit(e, OP_LOCK);
}

void x86_decode_block(struct block *block, uint64_t ip, const uint8_t *code, size_t available,
                      unsigned generation)
{
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    block->ip = ip;
    block->code_size = 0;
    block->ops_count = 0;
    block->instructions = 0;
    block->accesses = 0;
    block->store_lines = 0;
    block->cached = 0;
    block->successor[0] = block->successor[1] = NULL;
    if (available > BLOCK_CODE_MAX)
        available = BLOCK_CODE_MAX;
    memcpy(block->code, code, available);

    struct emitter e = {.block = block, .generation = generation};
    ZydisDecodedInstruction instruction;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    while (!e.ended) {
        size_t at = block->code_size;
        e.ip = ip + at;
        e.accesses = 0;
        bool full = block->ops_count + OPS_PER_INSTRUCTION > BLOCK_OPS_MAX ||
                    block->instructions == BLOCK_INSTRUCTIONS_MAX ||
                    block->accesses + ACCESSES_PER_INSTRUCTION > BLOCK_ACCESSES_MAX ||
                    block->store_lines + 2 * ACCESSES_PER_INSTRUCTION > BLOCK_STORE_LINES_MAX;
        ZyanStatus status = full ? ZYAN_STATUS_FALSE
                                 : ZydisDecoderDecodeFull(&decoder, code + at, available - at,
                                                          &instruction, operands);
        if (full || (!ZYAN_SUCCESS(status) && at > 0)) {
            /* What cannot be decoded here is looked at again when execution gets there. */
            emit(&e, OP_END)->displacement = (int64_t)e.ip;
            return;
        }
        if (!ZYAN_SUCCESS(status)) {
            emit_stop(&e, status == ZYDIS_STATUS_NO_MORE_DATA ? INTERPRETER_UNREADABLE
                                                              : INTERPRETER_UNKNOWN);
            return;
        }
        e.instruction = &instruction;
        e.operands = operands;
        e.next_ip = e.ip + instruction.length;
        unsigned ops_before = block->ops_count;
        unsigned stores_before = block->store_lines;
        decode_instruction(&e);
        if (e.accesses > ACCESSES_PER_INSTRUCTION && block->instructions > 0) {
            /* Many accesses (xsave, gathers): it starts a block of its own. */
            block->ops_count = (uint16_t)ops_before;
            block->store_lines = (uint8_t)stores_before;
            e.accesses = 0;
            emit(&e, OP_END)->displacement = (int64_t)e.ip;
            return;
        }
        block->accesses += e.accesses;
        block->code_size += instruction.length;
        block->instructions++;
    }
}

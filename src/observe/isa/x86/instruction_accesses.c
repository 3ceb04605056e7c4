/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory operands of a single instruction. Signal-safe. */
#include "isa/interpreter.h"
#include "isa/x86/decode.h"
#include "isa/x86/processor.h"

#include "signal_safe.h"

static uint64_t register_contents(const struct interpreter_registers *registers, ZydisRegister reg,
                                  uint64_t next_ip)
{
    if (reg == ZYDIS_REGISTER_RIP || reg == ZYDIS_REGISTER_EIP)
        return next_ip;
    unsigned general = general_register(reg);
    return general < INTERPRETER_REGISTERS ? registers->general[general] : 0;
}

static uint64_t address_of(const ZydisDecodedInstruction *instruction,
                           const ZydisDecodedOperand *operand,
                           const struct interpreter_registers *registers)
{
    uint64_t next_ip = registers->ip + instruction->length;
    uint64_t address = register_contents(registers, operand->mem.base, next_ip) +
                       register_contents(registers, operand->mem.index, next_ip) *
                           (operand->mem.scale ? operand->mem.scale : 1) +
                       (operand->mem.disp.has_displacement ? (uint64_t)operand->mem.disp.value : 0);
    if (instruction->address_width == 32)
        address = (uint32_t)address;
    if (operand->mem.segment == ZYDIS_REGISTER_FS)
        address += registers->fs_base;
    else if (operand->mem.segment == ZYDIS_REGISTER_GS)
        address += registers->gs_base;
    return address;
}

/* Pushes store below the stack pointer, which Zydis names as the address; a destination relative
 * to it that pop writes is addressed after the pop. */
static uint64_t stack_adjustment(const ZydisDecodedInstruction *instruction,
                                 const ZydisDecodedOperand *operand)
{
    bool hidden = operand->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
    bool stores = operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
    if (operand->mem.base != ZYDIS_REGISTER_RSP)
        return 0;
    if (hidden && stores)
        return -(uint64_t)width_of(operand);
    if (!hidden && stores && instruction->mnemonic == ZYDIS_MNEMONIC_POP)
        return width_of(operand);
    return 0;
}

/* A repeated string instruction whose count is zero does nothing. */
static bool does_nothing(const ZydisDecodedInstruction *instruction,
                         const struct interpreter_registers *registers)
{
    if (instruction->meta.category != ZYDIS_CATEGORY_STRINGOP)
        return false;
    for (unsigned i = 0; i < instruction->raw.prefix_count; i++) {
        uint8_t prefix = instruction->raw.prefixes[i].value;
        if ((prefix == 0xf2 || prefix == 0xf3) && registers->general[REGISTER_RCX] == 0)
            return true;
    }
    return false;
}

/* Prefetches, address computations and hints name memory without touching it. */
static bool touches(const ZydisDecodedInstruction *instruction, const ZydisDecodedOperand *operand)
{
    switch (instruction->meta.category) {
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
    case ZYDIS_CATEGORY_PREFETCH:
    case ZYDIS_CATEGORY_PREFETCHWT1:
    case ZYDIS_CATEGORY_CLFLUSHOPT:
        return false;
    default:
        return is_memory(operand) && operand->size != 0 &&
               instruction->mnemonic != ZYDIS_MNEMONIC_CLFLUSH &&
               instruction->mnemonic != ZYDIS_MNEMONIC_CLWB &&
               instruction->mnemonic != ZYDIS_MNEMONIC_CLDEMOTE;
    }
}

/* Bytes that an operand spans; that of xsave and xrstor depends on registers. */
static unsigned size_of(const ZydisDecodedInstruction *instruction,
                        const ZydisDecodedOperand *operand,
                        const struct interpreter_registers *registers)
{
    bool compacted = true;
    switch (instruction->mnemonic) {
    case ZYDIS_MNEMONIC_XSAVE:
    case ZYDIS_MNEMONIC_XSAVE64:
    case ZYDIS_MNEMONIC_XSAVEOPT:
    case ZYDIS_MNEMONIC_XSAVEOPT64:
        compacted = false;
        break;
    case ZYDIS_MNEMONIC_XSAVEC:
    case ZYDIS_MNEMONIC_XSAVEC64:
    case ZYDIS_MNEMONIC_XRSTOR:
    case ZYDIS_MNEMONIC_XRSTOR64:
        break;
    default:
        return width_of(operand);
    }
    x86_processor_detect();
    return x86_processor_save_size((registers->general[REGISTER_RAX] & 0xffffffff) |
                                       registers->general[REGISTER_RDX] << 32,
                                   compacted);
}

int instruction_accesses(const void *code, size_t size,
                         const struct interpreter_registers *registers, struct access *out,
                         size_t capacity, unsigned *length)
{
    ZydisDecoder decoder;
    ZydisDecodedInstruction instruction;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, size, &instruction, operands)))
        return -1;
    *length = instruction.length;
    size_t count = 0;
    if (does_nothing(&instruction, registers))
        return 0;
    /* All loads, then all stores: the order in which an instruction makes them. */
    for (int stores = 0; stores < 2; stores++) {
        for (unsigned i = 0; i < instruction.operand_count; i++) {
            const ZydisDecodedOperand *operand = &operands[i];
            bool reads = operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
            bool writes = operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
            if (!touches(&instruction, operand) || !(stores ? writes : reads))
                continue;
            unsigned bytes = size_of(&instruction, operand, registers);
            /* xsave reads its header, of which no more is told. */
            if (bytes != width_of(operand))
                reads = reads && !writes;
            uint64_t address = address_of(&instruction, operand, registers) +
                               stack_adjustment(&instruction, operand);
            for (unsigned done = 0; done < bytes && count < capacity; done += 64) {
                unsigned left = bytes - done;
                out[count++] = (struct access){
                    .ip = registers->ip,
                    .address = address + done,
                    .width = (uint8_t)(left < 64 ? left : 64),
                    .kind = stores ? ACCESS_STORE : ACCESS_LOAD,
                    .read_modify_write = reads && writes,
                };
            }
        }
    }
    return (int)count;
}

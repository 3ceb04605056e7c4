/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stubs: one instruction of the target's, run by the processor itself on copied registers.
 *
 * For an instruction that computes only registers (SSE, AVX, AVX-512, BMI ...) a function is
 * assembled that loads the registers it names from the interpreter's state, executes it with its
 * memory operand replaced by the scratch area, and stores the registers back. Nothing of the target
 * is touched, and exceptions are masked. General registers named by the instruction are replaced by
 * ones that a function may change. Signal-safe.
 */
#include <stddef.h>
#include <string.h>

#include "isa/pipeline.h"
#include "isa/state.h"
#include "isa/x86/decode.h"
#include "isa/x86/decode_cache.h"
#include "isa/x86/lazy_flags.h"
#include "isa/x86/masked.h"
#include "isa/x86/processor.h"

#include "signal_safe.h"

enum { STUB_MAX = 512 };

/* What the assembler has produced; failed once anything could not be encoded. */
struct assembly {
    uint8_t bytes[STUB_MAX];
    size_t size;
    bool failed;
};

static void append(struct assembly *a, ZydisEncoderRequest *request)
{
    ZyanUSize length = sizeof a->bytes - a->size;
    request->machine_mode = ZYDIS_MACHINE_MODE_LONG_64;
    if (a->failed ||
        !ZYAN_SUCCESS(ZydisEncoderEncodeInstruction(request, a->bytes + a->size, &length)))
        a->failed = true;
    else
        a->size += length;
}

static void append_plain(struct assembly *a, ZydisMnemonic mnemonic)
{
    ZydisEncoderRequest request = {.mnemonic = mnemonic};
    append(a, &request);
}

static ZydisEncoderOperand state_at(size_t offset, unsigned size)
{
    return (ZydisEncoderOperand){.type = ZYDIS_OPERAND_TYPE_MEMORY,
                                 .mem = {.base = ZYDIS_REGISTER_RDI,
                                         .displacement = (ZyanI64)offset,
                                         .size = (ZyanU16)size}};
}

/* mnemonic reg, state or mnemonic state, reg. */
static void append_move(struct assembly *a, ZydisMnemonic mnemonic, ZydisRegister reg,
                        size_t offset, unsigned size, bool to_state)
{
    /* EVEX moves have a mask in the middle. */
    int vector = vector_register(reg);
    bool evex = vector >= 16 || (vector >= 0 && size == 64);
    ZydisEncoderRequest request = {.mnemonic = mnemonic, .operand_count = 2 + evex};
    request.operands[1] = (ZydisEncoderOperand){.type = ZYDIS_OPERAND_TYPE_REGISTER,
                                                .reg = {.value = ZYDIS_REGISTER_K0}};
    request.operands[to_state ? 1 + evex : 0] =
        (ZydisEncoderOperand){.type = ZYDIS_OPERAND_TYPE_REGISTER, .reg = {.value = reg}};
    request.operands[to_state ? 0 : 1 + evex] = state_at(offset, size);
    append(a, &request);
}

/* push or pop of stub_flags, or of the flags register. */
static void append_flags(struct assembly *a, bool load)
{
    ZydisEncoderRequest request = {.mnemonic = load ? ZYDIS_MNEMONIC_PUSH : ZYDIS_MNEMONIC_POP,
                                   .operand_count = 1};
    request.operands[0] = state_at(offsetof(struct interpreter, stub_flags), 8);
    if (load) {
        append(a, &request);
        append_plain(a, ZYDIS_MNEMONIC_POPFQ);
    } else {
        append_plain(a, ZYDIS_MNEMONIC_PUSHFQ);
        append(a, &request);
    }
}

static bool is_x87_instruction(const ZydisDecodedInstruction *instruction)
{
    switch (instruction->mnemonic) {
    case ZYDIS_MNEMONIC_FNSTENV:
    case ZYDIS_MNEMONIC_FLDENV:
    case ZYDIS_MNEMONIC_FNSAVE:
    case ZYDIS_MNEMONIC_FRSTOR:
    case ZYDIS_MNEMONIC_FNINIT:
        return false; /* whole environments */
    default:
        return instruction->meta.category == ZYDIS_CATEGORY_X87_ALU ||
               instruction->meta.category == ZYDIS_CATEGORY_FCMOV;
    }
}

/* The instruction's registers, and what stands for them in the stub. */
struct plan {
    uint64_t reads, writes; /* poison masks */
    uint64_t written_whole; /* vectors whose old value does not matter */
    /* general[i]: host register (hardware number) that stands for guest register i, or 0xff. */
    uint8_t general[16];
    uint32_t vectors, opmasks, vectors_written, opmasks_written, general_written;
    uint8_t vector_bytes[32]; /* how much of each is loaded */
    const ZydisDecodedOperand *memory;
    bool wide; /* VEX or EVEX */
    bool x87;
    bool merges; /* elements that a mask leaves out keep their value */
};

static size_t vector_offset(unsigned n)
{
    return offsetof(struct interpreter, vector) + (size_t)n * VECTOR_BYTES;
}

/* Assigns a register that may be changed in a function, rdi (the state) excepted. */
static bool assign_general(struct plan *plan, unsigned guest, bool fixed, unsigned *next)
{
    static const uint8_t free_registers[] = {8, 9, 10, 11};
    if (fixed) {
        if (guest != REGISTER_RAX && guest != REGISTER_RCX && guest != REGISTER_RDX)
            return false;
        if (plan->general[guest] != 0xff && plan->general[guest] != guest)
            return false; /* also named freely: would need both */
        plan->general[guest] = (uint8_t)guest;
        return true;
    }
    if (plan->general[guest] == 0xff) {
        if (*next == sizeof free_registers)
            return false;
        plan->general[guest] = free_registers[(*next)++];
    }
    return true;
}

static bool is_x87(ZydisRegister reg)
{
    return ZydisRegisterGetClass(reg) == ZYDIS_REGCLASS_X87 || reg == ZYDIS_REGISTER_X87CONTROL ||
           reg == ZYDIS_REGISTER_X87STATUS || reg == ZYDIS_REGISTER_X87TAG;
}

static bool plan_register(struct plan *plan, const ZydisDecodedOperand *operand, unsigned *next)
{
    ZydisRegister reg = operand->reg.value;
    bool writes = operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
    bool reads = operand->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
    int vector = vector_register(reg);
    unsigned general = general_register(reg);
    uint64_t bit = register_bit(reg);
    if (vector >= 0) {
        ZydisRegisterClass class = ZydisRegisterGetClass(reg);
        uint8_t bytes = class == ZYDIS_REGCLASS_ZMM ? 64 : class == ZYDIS_REGCLASS_YMM ? 32 : 16;
        /* A legacy instruction that writes part of a register keeps the rest. */
        if (writes && !plan->wide && operand->size < 128)
            reads = true;
        if (writes && plan->merges)
            reads = true;
        if (plan->vector_bytes[vector] < bytes)
            plan->vector_bytes[vector] = bytes;
        plan->vectors |= 1u << vector;
        plan->vectors_written |= (uint32_t)writes << vector;
    } else if (ZydisRegisterGetClass(reg) == ZYDIS_REGCLASS_MASK) {
        unsigned id = (unsigned)ZydisRegisterGetId(reg);
        plan->opmasks |= 1u << id;
        plan->opmasks_written |= (uint32_t)writes << id;
        if (id == 0 && operand->encoding == ZYDIS_OPERAND_ENCODING_MASK)
            bit = 0; /* k0 as a write mask means none */
    } else if (general != REGISTER_ZERO) {
        bool fixed = operand->visibility != ZYDIS_OPERAND_VISIBILITY_EXPLICIT;
        if ((reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH) ||
            !assign_general(plan, general, fixed, next))
            return false;
        plan->general_written |= (uint32_t)writes << general;
        if (writes && operand->size < 32)
            reads = true;
    } else if (plan->x87 && is_x87(reg)) {
        return true;
    } else {
        /* Flags are dealt with apart, MXCSR is the processor's own; MMX, x87 and others are not
         * ours to touch. */
        return reg == ZYDIS_REGISTER_RFLAGS || reg == ZYDIS_REGISTER_EFLAGS ||
               reg == ZYDIS_REGISTER_FLAGS || reg == ZYDIS_REGISTER_MXCSR;
    }
    if (reads)
        plan->reads |= bit;
    if (writes)
        plan->writes |= bit;
    return true;
}

static bool make_plan(const struct emitter *e, struct plan *plan)
{
    unsigned next = 0;
    memset(plan->general, 0xff, sizeof plan->general);
    plan->wide = e->instruction->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY;
    plan->merges = e->instruction->avx.mask.mode == ZYDIS_MASK_MODE_MERGING;
    plan->x87 = is_x87_instruction(e->instruction);
    /* Fixed registers first, so that free ones do not take their place. */
    for (int pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < e->instruction->operand_count; i++) {
            const ZydisDecodedOperand *operand = &e->operands[i];
            bool is_explicit = operand->visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT;
            if (is_explicit != (pass == 1))
                continue;
            switch (operand->type) {
            case ZYDIS_OPERAND_TYPE_REGISTER:
                if (!plan_register(plan, operand, &next))
                    return false;
                break;
            case ZYDIS_OPERAND_TYPE_MEMORY:
                if (!is_explicit || plan->memory || !is_memory(operand) || operand->size == 0 ||
                    width_of(operand) > VECTOR_BYTES)
                    return false;
                plan->memory = operand;
                break;
            case ZYDIS_OPERAND_TYPE_IMMEDIATE:
                break;
            default:
                return false;
            }
        }
    }
    return true;
}

static ZydisRegister host_register(ZydisRegister guest, unsigned host)
{
    ZydisRegisterClass class = ZydisRegisterGetClass(guest);
    /* Byte registers are numbered with ah..bh after bl and spl..dil after these. */
    if (class == ZYDIS_REGCLASS_GPR8 && host >= 8)
        return ZYDIS_REGISTER_R8B + (host - 8);
    return ZydisRegisterEncode(class, (ZyanU8)host);
}

/* The instruction itself, renamed. */
static void append_instruction(struct assembly *a, const struct emitter *e, const struct plan *plan)
{
    ZydisEncoderRequest request;
    if (!ZYAN_SUCCESS(ZydisEncoderDecodedInstructionToEncoderRequest(
            e->instruction, e->operands, e->instruction->operand_count_visible, &request))) {
        a->failed = true;
        return;
    }
    for (unsigned i = 0; i < request.operand_count; i++) {
        ZydisEncoderOperand *operand = &request.operands[i];
        if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY) {
            operand->mem.base = ZYDIS_REGISTER_RDI;
            operand->mem.index = ZYDIS_REGISTER_NONE;
            operand->mem.scale = 0;
            operand->mem.displacement = offsetof(struct interpreter, scratch);
        } else if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER) {
            unsigned guest = general_register(operand->reg.value);
            if (guest != REGISTER_ZERO)
                operand->reg.value = host_register(operand->reg.value, plan->general[guest]);
        }
    }
    request.address_size_hint = ZYDIS_ADDRESS_SIZE_HINT_NONE;
    request.prefixes &= ~(ZyanU64)ZYDIS_ATTRIB_HAS_SEGMENT;
    append(a, &request);
}

static void append_registers(struct assembly *a, const struct plan *plan, bool to_state)
{
    ZydisMnemonic vector_move = plan->wide ? ZYDIS_MNEMONIC_VMOVUPS : ZYDIS_MNEMONIC_MOVUPS;
    unsigned whole = x86_processor.avx512 ? 64 : 32;
    for (unsigned i = 0; i < 32; i++) {
        if (!((to_state ? plan->vectors_written : plan->vectors) >> i & 1))
            continue;
        /* Wide instructions zero the register above what they name. */
        unsigned bytes = to_state ? (plan->wide ? whole : 16) : plan->vector_bytes[i];
        ZydisRegister first = bytes == 64   ? ZYDIS_REGISTER_ZMM0
                              : bytes == 32 ? ZYDIS_REGISTER_YMM0
                                            : ZYDIS_REGISTER_XMM0;
        append_move(a, vector_move, first + i, vector_offset(i), bytes, to_state);
    }
    for (unsigned i = 0; i < 8; i++) {
        if ((to_state ? plan->opmasks_written : plan->opmasks) >> i & 1)
            append_move(a, ZYDIS_MNEMONIC_KMOVQ, ZYDIS_REGISTER_K0 + i,
                        offsetof(struct interpreter, opmask) + 8 * i, 8, to_state);
    }
    for (unsigned i = 0; i < 16; i++) {
        if (plan->general[i] != 0xff && (!to_state || plan->general_written >> i & 1))
            append_move(a, ZYDIS_MNEMONIC_MOV, ZYDIS_REGISTER_RAX + plan->general[i],
                        offsetof(struct interpreter, r) + 8 * i, 8, to_state);
    }
}

/* The memory operand, between the target's memory and the scratch area. */
static void emit_memory(struct emitter *e, const struct plan *plan, const struct location *location,
                        bool stores, bool read_modify_write)
{
    unsigned width = width_of(plan->memory);
    struct mask_layout layout;
    struct micro_op *op;
    if (mask_layout_of(e, plan->memory, &layout)) {
        op = emit_access(e, stores ? OP_MASKED_STORE : OP_MASKED_LOAD, location, width,
                         stores ? ACCESS_STORE : ACCESS_LOAD, read_modify_write);
        memcpy(&op->immediate, &layout, sizeof layout);
    } else {
        op = emit_access(e, stores ? OP_VECTOR_STORE : OP_VECTOR_LOAD, location, width,
                         stores ? ACCESS_STORE : ACCESS_LOAD, read_modify_write);
    }
    if (stores)
        op->s = REGISTER_SCRATCH;
    else
        op->d = REGISTER_SCRATCH;
}

/* Cycles until its result is known, about (Fog, Instruction tables, 2023). */
static unsigned stub_latency(const struct emitter *e)
{
    enum { LOGIC = 1, ARITHMETIC = 4 };

    switch (e->instruction->mnemonic) {
    case ZYDIS_MNEMONIC_DIVSS:
    case ZYDIS_MNEMONIC_DIVSD:
    case ZYDIS_MNEMONIC_DIVPS:
    case ZYDIS_MNEMONIC_DIVPD:
    case ZYDIS_MNEMONIC_SQRTSS:
    case ZYDIS_MNEMONIC_SQRTSD:
    case ZYDIS_MNEMONIC_SQRTPS:
    case ZYDIS_MNEMONIC_SQRTPD:
    case ZYDIS_MNEMONIC_VDIVSS:
    case ZYDIS_MNEMONIC_VDIVSD:
    case ZYDIS_MNEMONIC_VDIVPS:
    case ZYDIS_MNEMONIC_VDIVPD:
    case ZYDIS_MNEMONIC_VSQRTSS:
    case ZYDIS_MNEMONIC_VSQRTSD:
    case ZYDIS_MNEMONIC_VSQRTPS:
    case ZYDIS_MNEMONIC_VSQRTPD:
        return PIPELINE_DIVISION;
    default:
        break;
    }
    /* Those with exceptions of floating point are arithmetic (Intel manual, volume 2, 2.4). */
    switch (e->instruction->meta.exception_class) {
    case ZYDIS_EXCEPTION_CLASS_SSE2:
    case ZYDIS_EXCEPTION_CLASS_SSE3:
    case ZYDIS_EXCEPTION_CLASS_AVX2:
    case ZYDIS_EXCEPTION_CLASS_AVX3:
    case ZYDIS_EXCEPTION_CLASS_E2:
    case ZYDIS_EXCEPTION_CLASS_E3:
        return ARITHMETIC;
    default:
        return LOGIC;
    }
}

bool x86_decode_stub(struct emitter *e)
{
    struct plan plan = {0};
    struct assembly assembly = {.size = 0};
    if (e->instruction->meta.category == ZYDIS_CATEGORY_GATHER ||
        e->instruction->meta.category == ZYDIS_CATEGORY_AVX2GATHER ||
        e->instruction->meta.category == ZYDIS_CATEGORY_SCATTER)
        return x86_decode_gather(e);
    if (!(x86_processor_has(e->instruction->meta.isa_set) || is_x87_instruction(e->instruction)) ||
        !make_plan(e, &plan))
        return false;
    const ZydisAccessedFlags *flags = e->instruction->cpu_flags;
    uint32_t tested = flags ? flags->tested & FLAGS_ARITHMETIC : 0;
    uint32_t undefined = flags ? flags->undefined & FLAGS_ARITHMETIC : 0;
    uint32_t set = flags ? (flags->modified | flags->set_0 | flags->set_1) & FLAGS_ARITHMETIC : 0;
    /* Zydis leaves out that these clear the other flags. */
    if (e->instruction->mnemonic == ZYDIS_MNEMONIC_VPTEST ||
        e->instruction->mnemonic == ZYDIS_MNEMONIC_VTESTPS ||
        e->instruction->mnemonic == ZYDIS_MNEMONIC_VTESTPD)
        set = FLAGS_ARITHMETIC;
    set &= ~undefined;

    append_registers(&assembly, &plan, false);
    if (tested)
        append_flags(&assembly, true);
    append_instruction(&assembly, e, &plan);
    if (set)
        append_flags(&assembly, false);
    append_registers(&assembly, &plan, true);
    if (plan.wide && plan.vectors)
        append_plain(&assembly, ZYDIS_MNEMONIC_VZEROUPPER);
    append_plain(&assembly, ZYDIS_MNEMONIC_RET);
    if (assembly.failed)
        return false;
    uint8_t *stub = decode_cache_stub_room(e->generation, assembly.size);
    if (!stub)
        return false;
    memcpy(decode_cache_stub_writable(stub), assembly.bytes, assembly.size);

    bool loads = plan.memory && plan.memory->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
    bool stores = plan.memory && plan.memory->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
    struct location location = {.base = REGISTER_ZERO};
    if (plan.memory)
        location = locate(e, plan.memory);
    if (loads)
        emit_memory(e, &plan, &location, false, stores);
    struct micro_op *op = emit(e, plan.x87 ? OP_X87_STUB : OP_STUB);
    op->immediate = (int64_t)(uintptr_t)stub;
    op->displacement = tested;
    op->scale = plan.vectors != 0;
    op->width = (uint8_t)stub_latency(e);
    op = emit(e, OP_STUB_MASKS);
    op->displacement = (int64_t)(plan.reads | (loads ? REGISTER_BIT(REGISTER_SCRATCH) : 0));
    op->immediate = (int64_t)(plan.writes | (stores ? REGISTER_BIT(REGISTER_SCRATCH) : 0));
    op->access = set | undefined << 16;
    if (stores)
        emit_memory(e, &plan, &location, true, loads);
    return true;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of an x86-64 program: taken over, run, and shown. Signal-safe. */
#include "isa/interpreter.h"

#include "isa/state.h"
#include "isa/x86/processor.h"
#include "isa/x86/vector.h"
#include "isa/x86/x87.h"

#include "signal_safe.h"

enum { MXCSR_DEFAULT = 0x1f80 };

/*
 * The kernel's frame: the 512 bytes of FXSAVE, whose last 48 are for software and hold two magic
 * numbers, the size and the mask of saved components; then the XSAVE header and components at the
 * offsets of CPUID leaf 0xD. (Linux, arch/x86/include/uapi/asm/sigcontext.h.)
 */
static void load_extended(struct interpreter *it, const uint8_t *area)
{
    enum {
        MXCSR = 24,
        XMM = 160,
        SOFTWARE = 464, /* uint32_t magic, uint32_t size, uint64_t components */
        HEADER = 512,   /* uint64_t components not in their initial state */
        MAGIC = 0x46505853,
        COMPONENT_X87 = 1 << 0,
        COMPONENT_SSE = 1 << 1,
        COMPONENT_YMM = 1 << 2,
        COMPONENT_OPMASK = 1 << 5,
        COMPONENT_ZMM_HIGH = 1 << 6,
        COMPONENT_ZMM_16_31 = 1 << 7,
    };
    uint32_t magic;
    uint64_t saved = COMPONENT_SSE, used = COMPONENT_X87 | COMPONENT_SSE;
    memcpy(&magic, area + SOFTWARE, sizeof magic);
    memcpy(&it->mxcsr, area + MXCSR, sizeof it->mxcsr);
    it->mxcsr &= MXCSR_WRITABLE;
    if (magic == MAGIC) {
        memcpy(&saved, area + SOFTWARE + 8, sizeof saved);
        memcpy(&used, area + HEADER, sizeof used);
        saved |= COMPONENT_SSE;
    }
    x87_begin(it, area, !(used & COMPONENT_X87));
    /* A component that is saved but not used is in its initial state: zeros. */
    memset(it->vector, 0, sizeof it->vector);
    memset(it->opmask, 0, sizeof it->opmask);
    const struct x86_processor *processor = &x86_processor;
    for (unsigned i = 0; i < 16; i++) {
        if (used & COMPONENT_SSE)
            memcpy(it->vector[i], area + XMM + 16 * i, 16);
        if (saved & used & COMPONENT_YMM && processor->ymm_high)
            memcpy(it->vector[i] + 16, area + processor->ymm_high + 16 * i, 16);
        if (saved & used & COMPONENT_ZMM_HIGH && processor->zmm_high)
            memcpy(it->vector[i] + 32, area + processor->zmm_high + 32 * i, 32);
        if (saved & used & COMPONENT_ZMM_16_31 && processor->zmm_16_31)
            memcpy(it->vector[16 + i], area + processor->zmm_16_31 + 64 * i, 64);
    }
    if (saved & used & COMPONENT_OPMASK && processor->opmask)
        memcpy(it->opmask, area + processor->opmask, sizeof it->opmask);
}

void interpreter_begin(struct interpreter *it, const struct interpreter_registers *registers,
                       const void *extended)
{
    x86_processor_detect();
    store_buffer_clear(&it->store);
    memcpy(it->r, registers->general, sizeof registers->general);
    it->r[REGISTER_ZERO] = 0;
    it->r[REGISTER_FS] = registers->fs_base;
    it->r[REGISTER_GS] = registers->gs_base;
    it->ip = registers->ip;
    it->flags.value = registers->flags & FLAGS_ARITHMETIC;
    it->flags.kind = FLAGS_FROM_VALUE;
    it->flags.other = (uint32_t)registers->flags & ~(uint32_t)FLAGS_ARITHMETIC;
    it->instructions = 0;
    it->accesses = 0;
    it->saved.address = 0;
    it->mxcsr_poisoned = false;
    it->poison = 0;
    if (extended) {
        load_extended(it, extended);
    } else {
        x87_begin(it, NULL, false);
        it->mxcsr = MXCSR_DEFAULT;
        it->poison = ~UINT64_C(0) << REGISTER_OPMASK;
    }
}

size_t interpreter_run(struct interpreter *it, struct access *out, size_t capacity,
                       uint64_t instruction_budget, enum interpreter_stop *why)
{
    size_t count;
    uint32_t mxcsr = x86_enter_mxcsr(it);
    *why = x86_execute(it, out, capacity, instruction_budget, &count);
    x87_leave(it);
    x86_leave_mxcsr(it, mxcsr);
    return count;
}

void interpreter_get_registers(const struct interpreter *it,
                               struct interpreter_registers *registers)
{
    memcpy(registers->general, it->r, sizeof registers->general);
    registers->ip = it->ip;
    registers->flags = (lazy_flags_value(&it->flags) & FLAGS_ARITHMETIC) | it->flags.other;
    registers->fs_base = it->r[REGISTER_FS];
    registers->gs_base = it->r[REGISTER_GS];
}

uint32_t interpreter_poisoned_registers(const struct interpreter *it)
{
    return (uint32_t)it->poison & 0xffff;
}

uint64_t interpreter_poisoned_flags(const struct interpreter *it)
{
    return it->flags.kind & FLAGS_ARITHMETIC;
}

bool interpreter_get_vector(const struct interpreter *it, unsigned n, uint8_t bytes[64])
{
    memcpy(bytes, it->vector[n], VECTOR_BYTES);
    return !(it->poison >> (REGISTER_VECTOR + n) & 1);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* arch.h for 64-bit Arm; include that one. */
#ifndef REUSE_RUNTIME_ARCH_AARCH64_H
#define REUSE_RUNTIME_ARCH_AARCH64_H

enum {
    ARCH_TRAPS_BEFORE_ACCESS = true,
    ARCH_CONTEXT_IS_WHOLE = false,
    ARCH_INSTRUCTION_BYTES = 4,
    ARCH_CONTEXT_BYTES = sizeof(mcontext_t),
    ARCH_EXTENDED_LEAST = 0,
};

static inline uint64_t arch_ip(const ucontext_t *context)
{
    return context->uc_mcontext.pc;
}

static inline void arch_set_ip(ucontext_t *context, uint64_t ip)
{
    context->uc_mcontext.pc = ip;
}

static inline uint64_t arch_stack_pointer(const ucontext_t *context)
{
    return context->uc_mcontext.sp;
}

static inline uint64_t arch_frame_pointer(const ucontext_t *context)
{
    return context->uc_mcontext.regs[29];
}

static inline uint64_t arch_link(const ucontext_t *context)
{
    return context->uc_mcontext.regs[30];
}

static inline uint64_t arch_after_access(const ucontext_t *context)
{
    return arch_ip(context) + ARCH_INSTRUCTION_BYTES;
}

/* ldxr, stxr and their kin, of which a pair makes one access (Arm ARM, C4.1, "load/store
 * exclusive"; casp shares the pattern). */
static inline bool arch_is_exclusive(uint32_t instruction)
{
    bool casp = (instruction & 0xbfa00000u) == 0x08200000u;

    return (instruction & 0x3f800000u) == 0x08000000u && !casp;
}

/*
 * The memory system forgets an exclusive load when an exception is taken: such a pair must run from
 * its load to its store without a stop. It is done where the branch that would repeat it falls
 * through.
 */
static inline uint64_t arch_access_done(const ucontext_t *context)
{
    enum { PAIR_INSTRUCTIONS_MAX = 16 };
    const uint32_t *code = (const uint32_t *)(uintptr_t)arch_ip(context);
    uint32_t status;

    if (!arch_is_exclusive(code[0]))
        return arch_after_access(context);
    for (unsigned i = 0; i < PAIR_INSTRUCTIONS_MAX; i++) {
        bool store = arch_is_exclusive(code[i]) && (code[i] & 1u << 22) == 0;

        /* What comes after may lie on a page that cannot be read. */
        if (((uintptr_t)&code[i + 1] & 4095) == 0)
            return 0;
        if (!store)
            continue;
        status = code[i] >> 16 & 31;
        return code[i + 1] >> 24 == 0x35 && (code[i + 1] & 31) == status
                   ? (uint64_t)(uintptr_t)&code[i + 2]
                   : 0;
    }
    return 0;
}

static inline ucontext_t *arch_handler_context(const ucontext_t *context)
{
    return (ucontext_t *)context->uc_mcontext.regs[2];
}

/* bti c (perhaps), adrp x16, ldr x17, add x16, br x17 (ELF for the Arm 64-bit Architecture, 9.3).
 */
static inline bool arch_is_linkage_stub(uint64_t ip)
{
    enum { STUB_INSTRUCTIONS = 5 };
    const uint32_t *code = (const uint32_t *)(uintptr_t)ip;

    for (unsigned i = 0; i < STUB_INSTRUCTIONS; i++) {
        uint32_t word = code[i];

        if (word == 0xd61f0220)
            return true;
        if (word != 0xd503245f && (word & 0x9f00001f) != 0x90000010 &&
            (word & 0xffc003ff) != 0xf9400211 && (word & 0xffc003ff) != 0x91000210)
            return false;
    }
    return false;
}

static inline uint64_t arch_strip_signature(uint64_t return_address)
{
    /* Authentication codes sit above the 48 bits of user addresses. */
    return return_address & ((UINT64_C(1) << 48) - 1);
}

static inline void arch_registers(const ucontext_t *context, uint64_t thread_pointer,
                                  struct interpreter_registers *registers)
{
    for (int i = 0; i < INTERPRETER_STACK_POINTER; i++)
        registers->general[i] = context->uc_mcontext.regs[i];
    registers->general[INTERPRETER_STACK_POINTER] = context->uc_mcontext.sp;
    registers->ip = arch_ip(context);
    registers->flags = context->uc_mcontext.pstate;
    registers->thread_pointer = thread_pointer;
}

static inline const void *arch_extended_state(const ucontext_t *context)
{
    return context->uc_mcontext.__reserved;
}

/* It is part of the context. */
static inline uint32_t arch_extended_bytes(const ucontext_t *context)
{
    (void)context;
    return 0;
}

static inline void arch_set_extended_state(ucontext_t *context, void *state)
{
    (void)context;
    (void)state;
}

static inline void arch_call_on_stack(unsigned char *top, void (*function)(void *), void *argument)
{
    register void *first __asm__("x0") = argument;

    __asm__ volatile("mov x19, sp\n\t"
                     "mov sp, %1\n\t"
                     "blr %2\n\t"
                     "mov sp, x19"
                     : "+r"(first)
                     : "r"(top), "r"(function)
                     : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12",
                       "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x30", "memory", "cc", "v0",
                       "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19", "v20",
                       "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31");
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* arch.h for x86-64; include that one. */
#ifndef REUSE_RUNTIME_ARCH_X86_64_H
#define REUSE_RUNTIME_ARCH_X86_64_H

#include <stddef.h>
#include <string.h>

enum {
    ARCH_TRAPS_BEFORE_ACCESS = false,
    ARCH_HAS_STUBS = true,
    ARCH_SYSTEM_CALL_CHANGES = 1 << 0 | 1 << 1 | 1 << 11, /* rax, rcx, r11 */
    ARCH_SYSTEM_CALL_NUMBER = 0,                          /* rax */
    ARCH_SYSTEM_CALL_SECOND = 6,                          /* rsi */
    ARCH_SYSTEM_CALL_THIRD = 2,                           /* rdx */
    ARCH_LINKAGE_STUB_BYTES = 1,
    ARCH_SIGNAL_FRAMES_UNDESCRIBED = false,
    ARCH_SIGNAL_RETURN_BYTES = 0,
    ARCH_CONTEXT_BYTES = sizeof(gregset_t),
    ARCH_EXTENDED_LEAST = 512,
    ARCH_UNROLLED = 32,
};

static inline uint64_t arch_ip(const ucontext_t *context)
{
    return (uint64_t)context->uc_mcontext.gregs[REG_RIP];
}

static inline void arch_set_ip(ucontext_t *context, uint64_t ip)
{
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)ip;
}

static inline uint64_t arch_stack_pointer(const ucontext_t *context)
{
    return (uint64_t)context->uc_mcontext.gregs[REG_RSP];
}

static inline uint64_t arch_frame_pointer(const ucontext_t *context)
{
    return (uint64_t)context->uc_mcontext.gregs[REG_RBP];
}

static inline uint64_t arch_link(const ucontext_t *context)
{
    (void)context;
    return 0;
}

static inline uint64_t arch_after_access(const ucontext_t *context)
{
    return arch_ip(context);
}

static inline uint64_t arch_access_done(const ucontext_t *context)
{
    return arch_ip(context);
}

static inline void arch_flush_line(const void *address)
{
    __asm__ volatile("clflush (%0)" : : "r"(address) : "memory");
}

static inline void arch_flush_done(void)
{
    __asm__ volatile("mfence" : : : "memory");
}

static inline uint64_t arch_ticks(void)
{
    return __builtin_ia32_rdtsc();
}

/* Two registers: an immediate may be added before the operation gets to a unit (Golden Cove). */
static inline void arch_add(unsigned turns)
{
    uint64_t sum = 0, one = 1;

    __asm__ volatile("1: .rept 32\n\tadd %2, %1\n\t.endr\n\tdec %0\n\tjnz 1b"
                     : "+r"(turns), "+r"(sum)
                     : "r"(one)
                     : "cc");
}

static inline void arch_mix(unsigned turns)
{
    uint64_t word = 0, loaded, a = 0, b = 0, c = 0, d = 0, e = 0;

    __asm__ volatile("1: .rept 4\n\tmov %7, %1\n\tadd $1, %2\n\tadd $1, %3\n\tmov %7, %1\n\t"
                     "add $1, %4\n\tadd $1, %5\n\tmov %7, %1\n\tadd $1, %6\n\t.endr\n\t"
                     "dec %0\n\tjnz 1b"
                     : "+r"(turns), "=&r"(loaded), "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e)
                     : "m"(word)
                     : "cc");
}

static inline void arch_load(unsigned turns)
{
    uint64_t word = 0, loaded;

    __asm__ volatile("1: .rept 32\n\tmov %2, %1\n\t.endr\n\tdec %0\n\tjnz 1b"
                     : "+r"(turns), "=&r"(loaded)
                     : "m"(word)
                     : "cc");
}

static inline void arch_forward(unsigned turns)
{
    uint64_t word = 0, passed = 0;

    __asm__ volatile("1: .rept 16\n\tmov %1, %2\n\tmov %2, %1\n\t.endr\n\tdec %0\n\tjnz 1b"
                     : "+r"(turns), "+r"(passed), "+m"(word)
                     :
                     : "cc");
}

static inline void arch_jump(unsigned turns)
{
    __asm__ volatile("1: .rept 32\n\tjmp 2f\n\t.balign 16\n2:\n\t.endr\n\tdec %0\n\tjnz 1b"
                     : "+r"(turns)
                     :
                     : "cc");
}

static inline void arch_jump_far(unsigned turns)
{
    __asm__ volatile("1: .rept 512\n\tjmp 2f\n\t.balign 16\n2:\n\t.endr\n\tdec %0\n\tjnz 1b"
                     : "+r"(turns)
                     :
                     : "cc");
}

static inline void arch_store(unsigned turns)
{
    uint64_t word = 0, stored = 0;

    __asm__ volatile("1: .rept 32\n\tmov %1, %2\n\t.endr\n\tdec %0\n\tjnz 1b"
                     : "+r"(turns), "+r"(stored), "=m"(word)
                     :
                     : "cc");
}

static inline void arch_branches(unsigned turns, struct arch_draw draw, uint64_t mask)
{
    __asm__ volatile("1: imul %2, %1\n\tadd %3, %1\n\ttest %1, %4\n\tjs 2f\n\tnop\n2:\n\t"
                     "dec %0\n\tjnz 1b"
                     : "+r"(turns), "+r"(draw.state)
                     : "r"(draw.factor), "r"(draw.step), "r"(mask)
                     : "cc");
}

static inline ucontext_t *arch_handler_context(const ucontext_t *context)
{
    return (ucontext_t *)context->uc_mcontext.gregs[REG_RDX];
}

static inline bool arch_is_linkage_stub(uint64_t ip)
{
    (void)ip;
    return false;
}

static inline bool arch_signal_frame(uint64_t ip, uint64_t stack_pointer, struct arch_saved *saved)
{
    (void)ip;
    (void)stack_pointer;
    (void)saved;
    return false;
}

static inline uint64_t arch_strip_signature(uint64_t return_address)
{
    return return_address;
}

static inline void arch_registers(const ucontext_t *context, uint64_t thread_pointer,
                                  struct interpreter_registers *registers)
{
    /* The kernel's order in the signal frame to the instruction set's. */
    static const unsigned char order[INTERPRETER_REGISTERS] = {
        REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
        REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

    for (int i = 0; i < INTERPRETER_REGISTERS; i++)
        registers->general[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
    registers->ip = arch_ip(context);
    registers->flags = (uint64_t)context->uc_mcontext.gregs[REG_EFL];
    registers->fs_base = thread_pointer;
    registers->gs_base = 0;
}

static inline const void *arch_extended_state(const ucontext_t *context)
{
    return context->uc_mcontext.fpregs;
}

/* None of it is within gregs. */
static inline const void *arch_extended_elsewhere(const ucontext_t *context)
{
    return arch_extended_state(context);
}

/* What _fpx_sw_bytes of the kernel's asm/sigcontext.h says of the area's size. */
static inline uint32_t arch_extended_bytes(const ucontext_t *context)
{
    enum { NOTE = 464, MAGIC = 0x46505853, LEGACY = 512 };
    uint32_t note[2];

    if (!context->uc_mcontext.fpregs)
        return 0;
    memcpy(note, (const char *)context->uc_mcontext.fpregs + NOTE, sizeof note);
    return note[0] != MAGIC || note[1] < LEGACY ? LEGACY : note[1];
}

static inline void arch_set_extended_state(ucontext_t *context, void *state, uint32_t bytes)
{
    (void)bytes; /* the area says how much of it is there */
    context->uc_mcontext.fpregs = state;
}

static inline void arch_call_on_stack(unsigned char *top, void (*function)(void *), void *argument)
{
    __asm__ volatile("movq %%rsp, %%rbx\n\t"
                     "movq %0, %%rsp\n\t"
                     "callq *%1\n\t"
                     "movq %%rbx, %%rsp"
                     :
                     : "r"(top), "r"(function), "D"(argument)
                     : "rbx", "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc",
                       "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
                       "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* arch.h for 64-bit Arm; include that one. */
#ifndef REUSE_RUNTIME_ARCH_AARCH64_H
#define REUSE_RUNTIME_ARCH_AARCH64_H

#include <signal.h>
#include <stddef.h>
#include <string.h>

enum {
    ARCH_TRAPS_BEFORE_ACCESS = true,
    ARCH_HAS_STUBS = false,
    ARCH_INSTRUCTION_BYTES = 4,
    ARCH_SYSTEM_CALL_CHANGES = 1 << 0,
    ARCH_SYSTEM_CALL_NUMBER = 8,
    ARCH_SYSTEM_CALL_SECOND = 1,
    ARCH_SYSTEM_CALL_THIRD = 2,
    ARCH_LINKAGE_STUB_BYTES = 5 * ARCH_INSTRUCTION_BYTES,
    ARCH_SIGNAL_FRAMES_UNDESCRIBED = true,
    ARCH_SIGNAL_RETURN_BYTES = 2 * ARCH_INSTRUCTION_BYTES,
    ARCH_CONTEXT_BYTES = sizeof(mcontext_t),
    ARCH_EXTENDED_LEAST = 0,
    ARCH_UNROLLED = 32,
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

static inline void arch_flush_line(const void *address)
{
    __asm__ volatile("dc civac, %0" : : "r"(address) : "memory");
}

static inline void arch_flush_done(void)
{
    __asm__ volatile("dsb sy" : : : "memory");
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
 * through; if another way of repeating it follows the store, right behind that, and a pair that has
 * failed is seen once more.
 */
static inline uint64_t arch_access_done(const ucontext_t *context)
{
    enum { PAIR_INSTRUCTIONS_MAX = 16, CBNZ_W = 0x35 };
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
        return (uint64_t)(uintptr_t)&code[i + 1] +
               (code[i + 1] >> 24 == CBNZ_W && (code[i + 1] & 31) == status ? ARCH_INSTRUCTION_BYTES
                                                                            : 0);
    }
    return 0;
}

static inline uint64_t arch_ticks(void)
{
    uint64_t ticks;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}

static inline void arch_jump(unsigned turns)
{
    __asm__ volatile(
        "1: .rept 32\n\tb 2f\n\t.balign 16\n2:\n\t.endr\n\tsubs %w0, %w0, #1\n\tb.ne 1b"
        : "+r"(turns)
        :
        : "cc");
}

static inline void arch_jump_far(unsigned turns)
{
    __asm__ volatile(
        "1: .rept 512\n\tb 2f\n\t.balign 16\n2:\n\t.endr\n\tsubs %w0, %w0, #1\n\tb.ne 1b"
        : "+r"(turns)
        :
        : "cc");
}

static inline void arch_store(unsigned turns)
{
    uint64_t word = 0, stored = 0;

    __asm__ volatile("1: .rept 32\n\tstr %1, %2\n\t.endr\n\tsubs %w0, %w0, #1\n\tb.ne 1b"
                     : "+r"(turns), "+r"(stored), "=m"(word)
                     :
                     : "cc");
}

static inline void arch_branches(unsigned turns, struct arch_draw draw, uint64_t mask)
{
    __asm__ volatile("1: madd %1, %1, %2, %3\n\ttst %1, %4\n\tb.mi 2f\n\tnop\n2:\n\t"
                     "subs %w0, %w0, #1\n\tb.ne 1b"
                     : "+r"(turns), "+r"(draw.state)
                     : "r"(draw.factor), "r"(draw.step), "r"(mask)
                     : "cc");
}

static inline void arch_add(unsigned turns)
{
    uint64_t sum = 0, one = 1;

    __asm__ volatile("1: .rept 32\n\tadd %1, %1, %2\n\t.endr\n\tsubs %w0, %w0, #1\n\tb.ne 1b"
                     : "+r"(turns), "+r"(sum)
                     : "r"(one)
                     : "cc");
}

static inline void arch_mix(unsigned turns)
{
    uint64_t word = 0, loaded, a = 0, b = 0, c = 0, d = 0, e = 0;

    __asm__ volatile("1: .rept 4\n\tldr %1, %7\n\tadd %2, %2, #1\n\tadd %3, %3, #1\n\t"
                     "ldr %1, %7\n\tadd %4, %4, #1\n\tadd %5, %5, #1\n\tldr %1, %7\n\t"
                     "add %6, %6, #1\n\t.endr\n\tsubs %w0, %w0, #1\n\tb.ne 1b"
                     : "+r"(turns), "=&r"(loaded), "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e)
                     : "Q"(word)
                     : "cc");
}

static inline void arch_load(unsigned turns)
{
    uint64_t word = 0, loaded;

    __asm__ volatile("1: .rept 32\n\tldr %1, %2\n\t.endr\n\tsubs %w0, %w0, #1\n\tb.ne 1b"
                     : "+r"(turns), "=&r"(loaded)
                     : "Q"(word)
                     : "cc");
}

static inline void arch_forward(unsigned turns)
{
    uint64_t word = 0, passed = 0;

    __asm__ volatile(
        "1: .rept 16\n\tstr %1, %2\n\tldr %1, %2\n\t.endr\n\tsubs %w0, %w0, #1\n\tb.ne 1b"
        : "+r"(turns), "+r"(passed), "+Q"(word)
        :
        : "cc");
}

static inline ucontext_t *arch_handler_context(const ucontext_t *context)
{
    return (ucontext_t *)context->uc_mcontext.regs[2];
}

/* bti c (perhaps), adrp x16, ldr x17, add x16, br x17 (ELF for the Arm 64-bit Architecture, 9.3).
 */
static inline bool arch_is_linkage_stub(uint64_t ip)
{
    const uint32_t *code = (const uint32_t *)(uintptr_t)ip;

    for (unsigned i = 0; i < ARCH_LINKAGE_STUB_BYTES / ARCH_INSTRUCTION_BYTES; i++) {
        uint32_t word = code[i];

        if (word == 0xd61f0220)
            return true;
        if (word != 0xd503245f && (word & 0x9f00001f) != 0x90000010 &&
            (word & 0xffc003ff) != 0xf9400211 && (word & 0xffc003ff) != 0x91000210)
            return false;
    }
    return false;
}

/*
 * Since Linux 5.8 the code in the vdso has no call frame information; unwinders know it by its two
 * instructions, mov x8, #139 (rt_sigreturn) and svc #0 (arch/arm64/kernel/vdso/sigreturn.S). The
 * stack pointer is at struct rt_sigframe (arch/arm64/kernel/signal.c): siginfo, then ucontext. Not
 * followed is the chain of frame pointers, which passes over the place that was interrupted.
 */
static inline bool arch_signal_frame(uint64_t ip, uint64_t stack_pointer, struct arch_saved *saved)
{
    enum { MOV_X8_RT_SIGRETURN = 0xd2801168u, SVC_0 = 0xd4000001u };
    const uint32_t *code = (const uint32_t *)(uintptr_t)ip;
    uint64_t registers = stack_pointer + sizeof(siginfo_t) + offsetof(ucontext_t, uc_mcontext);

    if (code[0] == SVC_0)
        code--;
    if (code[0] != MOV_X8_RT_SIGRETURN || code[1] != SVC_0)
        return false;
    *saved = (struct arch_saved){
        .ip = registers + offsetof(mcontext_t, pc),
        .stack_pointer = registers + offsetof(mcontext_t, sp),
        .frame_pointer = registers + offsetof(mcontext_t, regs[29]),
        .link = registers + offsetof(mcontext_t, regs[30]),
    };
    return true;
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

/*
 * The records of vectors are in the context, but for those that do not fit there (long vectors,
 * SME's array): a record of their place and size stands in for them (struct extra_context of the
 * kernel's asm/sigcontext.h). Its bytes in the context; NULL if there is none. The context may be
 * any bytes.
 */
static inline unsigned char *arch_extra_record(const ucontext_t *context)
{
    const unsigned char *record = context->uc_mcontext.__reserved;
    const unsigned char *end = record + sizeof context->uc_mcontext.__reserved;
    struct _aarch64_ctx head;

    while ((size_t)(end - record) >= sizeof head) {
        memcpy(&head, record, sizeof head);
        if (head.magic == 0 || head.size < sizeof head || head.size > (size_t)(end - record))
            break;
        if (head.magic == EXTRA_MAGIC && head.size >= sizeof(struct extra_context))
            return (unsigned char *)(uintptr_t)record;
        record += head.size;
    }
    return NULL;
}

static inline const void *arch_extended_elsewhere(const ucontext_t *context)
{
    const unsigned char *record = arch_extra_record(context);
    struct extra_context extra;

    if (!record)
        return NULL;
    memcpy(&extra, record, sizeof extra);
    return (const void *)(uintptr_t)extra.datap;
}

static inline uint32_t arch_extended_bytes(const ucontext_t *context)
{
    const unsigned char *record = arch_extra_record(context);
    struct extra_context extra = {.size = 0};

    if (record)
        memcpy(&extra, record, sizeof extra);
    return extra.size;
}

static inline void arch_set_extended_state(ucontext_t *context, void *state, uint32_t bytes)
{
    unsigned char *record = arch_extra_record(context);
    struct extra_context extra;

    if (!record)
        return;
    memcpy(&extra, record, sizeof extra);
    extra.datap = (uintptr_t)state;
    extra.size = bytes;
    memcpy(record, &extra, sizeof extra);
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

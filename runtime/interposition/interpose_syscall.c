/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * System calls that the target makes by number, through the C library: those of the wrapped
 * functions. The wrapper notes the call and jumps on with all registers as they were, so that calls
 * that return twice, or on another stack, are left as they are. (hint #34: bti c; through x16 it
 * may be left by a jump.) What a target does by instructions of its own goes unnoticed.
 */
#include "interposition/interpose_syscall.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interposition/descriptors.h"
#include "interposition/interpose.h"
#include "interposition/interpose_signal.h"
#include "output/snapshot.h"
#include "process/process.h"
#include "unwinding/unwind.h"

#if defined(__x86_64__)
__asm__(".text\n"
        ".globl syscall\n"
        ".type syscall, @function\n"
        "syscall:\n"
        "  .cfi_startproc\n"
        "  endbr64\n"
        "  pushq %rdi\n"
        "  .cfi_adjust_cfa_offset 8\n"
        "  pushq %rsi\n"
        "  .cfi_adjust_cfa_offset 8\n"
        "  pushq %rdx\n"
        "  .cfi_adjust_cfa_offset 8\n"
        "  pushq %rcx\n"
        "  .cfi_adjust_cfa_offset 8\n"
        "  pushq %r8\n"
        "  .cfi_adjust_cfa_offset 8\n"
        "  pushq %r9\n"
        "  .cfi_adjust_cfa_offset 8\n"
        "  subq $8, %rsp\n"
        "  .cfi_adjust_cfa_offset 8\n"
        "  call syscall_note\n"
        "  addq $8, %rsp\n"
        "  .cfi_adjust_cfa_offset -8\n"
        "  popq %r9\n"
        "  .cfi_adjust_cfa_offset -8\n"
        "  popq %r8\n"
        "  .cfi_adjust_cfa_offset -8\n"
        "  popq %rcx\n"
        "  .cfi_adjust_cfa_offset -8\n"
        "  popq %rdx\n"
        "  .cfi_adjust_cfa_offset -8\n"
        "  popq %rsi\n"
        "  .cfi_adjust_cfa_offset -8\n"
        "  popq %rdi\n"
        "  .cfi_adjust_cfa_offset -8\n"
        "  jmp *%rax\n"
        "  .cfi_endproc\n"
        ".size syscall, . - syscall\n");
#else
__asm__(".text\n"
        ".globl syscall\n"
        ".type syscall, %function\n"
        "syscall:\n"
        "  .cfi_startproc\n"
        "  hint #34\n"
        "  stp x29, x30, [sp, #-80]!\n"
        "  .cfi_def_cfa_offset 80\n"
        "  .cfi_offset 29, -80\n"
        "  .cfi_offset 30, -72\n"
        "  mov x29, sp\n"
        "  stp x0, x1, [sp, #16]\n"
        "  stp x2, x3, [sp, #32]\n"
        "  stp x4, x5, [sp, #48]\n"
        "  stp x6, x7, [sp, #64]\n"
        "  bl syscall_note\n"
        "  mov x16, x0\n"
        "  ldp x0, x1, [sp, #16]\n"
        "  ldp x2, x3, [sp, #32]\n"
        "  ldp x4, x5, [sp, #48]\n"
        "  ldp x6, x7, [sp, #64]\n"
        "  ldp x29, x30, [sp], #80\n"
        "  .cfi_restore 29\n"
        "  .cfi_restore 30\n"
        "  .cfi_def_cfa_offset 0\n"
        "  br x16\n"
        "  .cfi_endproc\n"
        ".size syscall, . - syscall\n");
#endif

/* The next definition of syscall(). */
static void *next;

void interpose_syscall_begin(void)
{
    if (!next)
        next = interpose_real("syscall");
}

/* As the kernel has it (linux/signal.h of the kernel). */
struct kernel_sigaction {
    void (*handler)(int);
    unsigned long flags;
#if defined(__x86_64__)
    void (*restorer)(void);
#endif
    unsigned long mask;
};

static bool is_readable(const struct kernel_sigaction *action)
{
    uintptr_t address = (uintptr_t)action;

    return unwind_is_readable(address & -8ul) &&
           unwind_is_readable((address + sizeof *action - 1) & -8ul);
}

/* rt_sigaction(2) for a signal whose disposition is kept virtually. */
static long sigaction_by_number(long number, int signal, const struct kernel_sigaction *action,
                                struct kernel_sigaction *old, size_t set_size)
{
    struct sigaction wanted, previous;

    (void)number;
    memset(&wanted, 0, sizeof wanted);
    if (set_size != sizeof action->mask || (action && !is_readable(action))) {
        errno = set_size != sizeof action->mask ? EINVAL : EFAULT;
        return -1;
    }
    if (action) {
        wanted.sa_handler = action->handler;
        wanted.sa_flags = (int)action->flags;
        memcpy(&wanted.sa_mask, &action->mask, sizeof action->mask);
    }
    if (sigaction(signal, action ? &wanted : NULL, &previous) != 0)
        return -1;
    if (old) {
        memset(old, 0, sizeof *old);
        old->handler = previous.sa_handler;
        old->flags = (unsigned)previous.sa_flags;
        memcpy(&old->mask, &previous.sa_mask, sizeof old->mask);
    }
    return 0;
}

/* close(2) and the like: ours stay open, as with the functions of that name. */
static long close_by_number(long number, int descriptor)
{
    (void)number;
    return close(descriptor);
}

static long close_range_by_number(long number, unsigned first, unsigned last, int flags)
{
    (void)number;
    return close_range(first, last, flags);
}

static long dup2_by_number(long number, int from, int to)
{
    (void)number;
    return dup2(from, to);
}

static long dup3_by_number(long number, int from, int to, int flags)
{
    (void)number;
    return dup3(from, to, flags);
}

static void *descriptor_call(long number, long descriptor, long to)
{
    if (!process_is_ours())
        return next;
    switch (number) {
    case SYS_close:
        return descriptor_is_ours((int)descriptor) ? (void *)close_by_number : next;
    case SYS_close_range:
        return (void *)close_range_by_number;
    case SYS_dup3:
        return descriptor_may_be_ours((int)to) ? (void *)dup3_by_number : next;
    default:
        return descriptor_may_be_ours((int)to) ? (void *)dup2_by_number : next;
    }
}

/* Before it is known whether the call succeeds: nothing is lost as long as no SIGTRAP comes. */
static void note_signalfd(const unsigned long *set)
{
    if (unwind_is_readable((uintptr_t)set & -8ul) && *set >> (SIGTRAP - 1) & 1)
        signal_read_from_descriptor();
}

/* Before the call; where it goes on. */
void *syscall_note(long number, long a, long b, long c) __attribute__((visibility("hidden"), used));
void *syscall_note(long number, long a, long b, long c)
{
    interpose_syscall_begin();
    switch (number) {
    case SYS_seccomp:
        sandbox_by_number(a, c);
        break;
    case SYS_prctl:
        sandbox_by_control(a, b, c);
        break;
    case SYS_exit_group:
        process_finish();
        break;
    case SYS_execve:
    case SYS_execveat:
        process_before_exec();
        break;
    case SYS_rt_sigaction:
        if (a == SIGTRAP || a == SIGSEGV || a == SIGBUS || snapshot_is_signal((int)a))
            return (void *)sigaction_by_number;
        break;
    case SYS_signalfd4:
        note_signalfd((const unsigned long *)b);
        break;
    case SYS_close:
    case SYS_close_range:
#if defined(SYS_dup2)
    case SYS_dup2:
#endif
    case SYS_dup3:
        return descriptor_call(number, a, b);
    default:
        break;
    }
    return next;
}

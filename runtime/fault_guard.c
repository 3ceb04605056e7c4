/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signal-safe.
 *
 * The guard's handler deliberately has no SA_ONSTACK: it runs on the private stack on which our
 * SIGTRAP handler already is, whereas the target's alternate stack may hold the SIGTRAP frame itself.
 * The price: a stack overflow that another thread suffers during the few microseconds of a guarded
 * section kills the process even if the target meant to survive it on its alternate stack.
 */
#include "fault_guard.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "interpose_signal.h"
#include "signal_safe.h"

#if !defined(__x86_64__)
#error "guarded_copy is written for x86-64 only"
#endif

/* bool guarded_copy(void *to, const void *from, size_t size): keeps nothing on the stack, so that a
 * fault anywhere between guarded_copy and guarded_copy_fail can go on at guarded_copy_fail. */
bool guarded_copy(void *to, const void *from, size_t size) __attribute__((visibility("hidden")));
extern const char guarded_copy_fail[] __attribute__((visibility("hidden")));

__asm__(".text\n"
        ".p2align 4\n"
        ".hidden guarded_copy\n"
        ".globl guarded_copy\n"
        ".type guarded_copy, @function\n"
        "guarded_copy:\n"
        "  cmpq $8, %rdx\n"
        "  je 4f\n"
        "  cmpq $4, %rdx\n"
        "  je 5f\n"
        "  cmpq $8, %rdx\n"
        "  jb 2f\n"
        "1: movq (%rsi), %rax\n"
        "  movq %rax, (%rdi)\n"
        "  addq $8, %rsi\n"
        "  addq $8, %rdi\n"
        "  subq $8, %rdx\n"
        "  cmpq $8, %rdx\n"
        "  jae 1b\n"
        "2: testq %rdx, %rdx\n"
        "  jz 6f\n"
        "3: movzbl (%rsi), %eax\n"
        "  movb %al, (%rdi)\n"
        "  incq %rsi\n"
        "  incq %rdi\n"
        "  decq %rdx\n"
        "  jnz 3b\n"
        "  jmp 6f\n"
        "4: movq (%rsi), %rax\n"
        "  movq %rax, (%rdi)\n"
        "  jmp 6f\n"
        "5: movl (%rsi), %eax\n"
        "  movl %eax, (%rdi)\n"
        "6: movl $1, %eax\n"
        "  ret\n"
        ".hidden guarded_copy_fail\n"
        ".globl guarded_copy_fail\n"
        "guarded_copy_fail:\n"
        "  xorl %eax, %eax\n"
        "  ret\n"
        ".size guarded_copy, . - guarded_copy\n");

static const int guarded_signals[] = {SIGSEGV, SIGBUS};
enum { GUARDED = sizeof guarded_signals / sizeof *guarded_signals };

/* Protects everything below. Held for a few system calls; never while the target's code runs. */
static atomic_flag lock = ATOMIC_FLAG_INIT;
static unsigned users;                    /* threads between enter and leave */
static struct sigaction targets[GUARDED]; /* the target's dispositions while ours are in force */
static bool in_force[GUARDED];

static void acquire(void)
{
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
        __builtin_ia32_pause();
}

static void release(void)
{
    atomic_flag_clear_explicit(&lock, memory_order_release);
}

static void hand_back(int which)
{
    in_force[which] = false;
    real_sigaction(guarded_signals[which], &targets[which], NULL);
}

static void on_fault(int signal, siginfo_t *information, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    uint64_t ip = (uint64_t)registers[REG_RIP];
    int saved = errno, which = signal == SIGSEGV ? 0 : 1;

    if (ip >= (uintptr_t)guarded_copy && ip < (uintptr_t)guarded_copy_fail) {
        registers[REG_RIP] = (greg_t)(uintptr_t)guarded_copy_fail;
        return;
    }
    /* Not ours: the target's disposition comes back and the fault happens again under it. A signal
     * that somebody sent does not happen again by itself. */
    acquire();
    if (in_force[which])
        hand_back(which);
    release();
    if (information->si_code <= 0)
        syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), signal, information);
    errno = saved;
}

void fault_guard_enter(void)
{
    int saved = errno;

    acquire();
    if (users++ == 0) {
        struct sigaction ours;

        memset(&ours, 0, sizeof ours);
        ours.sa_sigaction = on_fault;
        ours.sa_flags = SA_SIGINFO | SA_NODEFER;
        /* Nothing of the target may run on top of a guarded section. */
        memset(&ours.sa_mask, 0xff, sizeof ours.sa_mask);
        for (int i = 0; i < GUARDED; i++)
            in_force[i] = real_sigaction(guarded_signals[i], &ours, &targets[i]) == 0;
    }
    release();
    errno = saved;
}

void fault_guard_leave(void)
{
    int saved = errno;

    acquire();
    if (--users == 0) {
        for (int i = 0; i < GUARDED; i++) {
            struct sigaction current;

            if (!in_force[i])
                continue;
            in_force[i] = false;
            real_sigaction(guarded_signals[i], &targets[i], &current);
            /* A target that goes round the C library may have set its own meanwhile. */
            if (current.sa_sigaction != on_fault)
                real_sigaction(guarded_signals[i], &current, NULL);
        }
    }
    release();
    errno = saved;
}

bool guarded_read(void *context, uint64_t address, void *buffer, size_t size)
{
    (void)context;
    return guarded_copy(buffer, (const void *)(uintptr_t)address, size);
}

int fault_guard_sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
    int which = signal == SIGSEGV ? 0 : 1, result = 0;
    sigset_t all, before;

    /* A SIGTRAP handler of ours on this thread must not wait for a lock that this thread holds. */
    memset(&all, 0xff, sizeof all);
    real_pthread_sigmask(SIG_BLOCK, &all, &before);
    acquire();
    if (in_force[which]) {
        struct sigaction previous = targets[which];

        if (action)
            targets[which] = *action;
        if (old)
            *old = previous;
    } else {
        result = real_sigaction(signal, action, old);
    }
    release();
    real_pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}

void fault_guard_reset(void)
{
    for (int i = 0; i < GUARDED; i++)
        if (in_force[i])
            hand_back(i);
    users = 0;
    release();
}

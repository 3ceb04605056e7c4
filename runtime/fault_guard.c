/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signal-safe.
 *
 * The guard's handler deliberately has no SA_ONSTACK: it runs on the private stack on which our
 * SIGTRAP handler already is, whereas the target's alternate stack may hold the SIGTRAP frame
 * itself. The price: a stack overflow that another thread suffers during the few microseconds of a
 * guarded section kills the process even if the target meant to survive it on its alternate stack.
 */
#include "fault_guard.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "arch/arch.h"
#include "interpose_signal.h"
#include "isa/guarded_memory.h"
#include "spin_hint.h"

#include "signal_safe.h"

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
        spin_hint();
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
    ucontext_t *interrupted = context;
    int saved = errno, which = signal == SIGSEGV ? 0 : 1;
    uint64_t landing;

    /* Linux delivers the first synchronous signal of the queue, blocked or not, once any of them is
     * unblocked: a SIGTRAP that waits for our handler to end comes in before the fault, and what
     * the fault interrupts is its handler's first instruction. The faulting load is one frame
     * further. */
    if (signal_is_at_trap_entry(arch_ip(interrupted)))
        interrupted = arch_handler_context(interrupted);
    landing = guarded_memory_recover(arch_ip(interrupted));
    if (landing) {
        arch_set_ip(interrupted, landing);
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

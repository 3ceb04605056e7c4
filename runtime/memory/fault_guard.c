/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signal-safe.
 *
 * On which stack the guard's handler runs: the target's wish, for its own faults must be handled
 * there (a stack overflow on the alternate stack). For ours that would be wrong: the handler of
 * SIGTRAP is on a private stack, so that the kernel would take the alternate one to be free and
 * overwrite the frame of SIGTRAP on it. So the alternate stack is put out of use for the rest of a
 * handler in which that could happen; returning from the handler brings it back.
 */
#include "memory/fault_guard.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/alignment_check.h"
#include "arch/arch.h"
#include "interposition/interpose_signal.h"
#include "isa/guarded_memory.h"
#include "process/process.h"
#include "spin_hint.h"

#include "signal_safe.h"

static const int guarded_signals[] = {SIGSEGV, SIGBUS};
enum {
    GUARDED = sizeof guarded_signals / sizeof *guarded_signals,
    LOOK_EVERY = 64, /* entries between looks at whether the target went round the C library */
};

/* Protects the rest. Held for a system call at most, with signals blocked. */
static atomic_flag lock = ATOMIC_FLAG_INIT;
static struct sigaction targets[GUARDED]; /* the target's dispositions */
static bool in_force[GUARDED];
/* The target wants faults to be handled on an alternate stack; read without the lock. */
static _Atomic bool alternate_stack;

static _Atomic unsigned entries;

/* A signal that this thread blocks was let in, for guarded loads. Written by its own thread. */
static __thread bool let_in __attribute__((tls_model("initial-exec")));

static void acquire(void)
{
    while (atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
        spin_hint();
}

static void release(void)
{
    atomic_flag_clear_explicit(&lock, memory_order_release);
}

static bool is_handler(const struct sigaction *action)
{
    return action->sa_flags & SA_SIGINFO ||
           (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
}

static bool is_ignored(const struct sigaction *action)
{
    return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_IGN;
}

/* The target's disposition as of now, and what it becomes by being used. */
static struct sigaction take_disposition(int which)
{
    struct sigaction action;

    acquire();
    action = targets[which];
    if (is_handler(&action) && action.sa_flags & (int)SA_RESETHAND) {
        targets[which].sa_handler = SIG_DFL;
        targets[which].sa_flags &= ~SA_SIGINFO;
    }
    release();
    return action;
}

/* The fault, or the signal, is the target's. */
static void forward(int signal, siginfo_t *information, ucontext_t *context)
{
    bool sent = information->si_code <= 0;
    struct sigaction action = take_disposition(signal == SIGSEGV ? 0 : 1);

    if (is_handler(&action)) {
        signal_call_handler(&action, signal, information, context);
        return;
    }
    if (sent && is_ignored(&action))
        return;
    /* By the default action: a fault happens again, a signal that was sent must be sent again. */
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_DFL;
    real_sigaction(signal, &action, NULL);
    if (sent)
        syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), signal, information);
}

static void on_fault(int signal, siginfo_t *information, void *argument)
{
    ucontext_t *context = argument, *interrupted = context;
    int saved = errno;
    bool at_trap_entry = signal_is_at_trap_entry(arch_ip(context));
    uint64_t landing;

    alignment_check_end();
    /* Linux delivers the first synchronous signal of the queue, blocked or not, once any of them is
     * unblocked: a SIGTRAP that waits for our handler to end comes in before the fault, and what
     * the fault interrupts is its handler's first instruction. The faulting load is one frame
     * further. */
    if (at_trap_entry)
        interrupted = arch_handler_context(context);
    landing = guarded_memory_recover(arch_ip(interrupted));
    if (landing) {
        arch_set_ip(interrupted, landing);
    } else if (information->si_code <= 0 && let_in) {
        /* The thread blocks it: it waits until our handler is done. */
        sigaddset(&context->uc_sigmask, signal);
        syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), signal, information);
    } else if (information->si_code <= 0 || !at_trap_entry) {
        forward(signal, information, context);
    }
    /* Else it happens again once the handler of SIGTRAP has returned to it. */
    errno = saved;
}

static int install(int which)
{
    struct sigaction ours;

    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = on_fault;
    ours.sa_flags = SA_SIGINFO | SA_NODEFER;
    if (is_handler(&targets[which]))
        ours.sa_flags |= targets[which].sa_flags & (SA_ONSTACK | SA_RESTART);
    else
        ours.sa_flags |= SA_RESTART; /* one that is ignored interrupts no system call */
    /* Nothing of the target may run on top of a guarded load. */
    memset(&ours.sa_mask, 0xff, sizeof ours.sa_mask);
    return real_sigaction(guarded_signals[which], &ours, NULL);
}

static bool wants_alternate_stack(void)
{
    for (int i = 0; i < GUARDED; i++)
        if (is_handler(&targets[i]) && targets[i].sa_flags & SA_ONSTACK)
            return true;
    return false;
}

bool fault_guard_begin(void)
{
    for (int i = 0; i < GUARDED; i++) {
        in_force[i] = real_sigaction(guarded_signals[i], NULL, &targets[i]) == 0 && install(i) == 0;
        if (!in_force[i]) {
            fault_guard_end();
            return false;
        }
    }
    atomic_store(&alternate_stack, wants_alternate_stack());
    return true;
}

void fault_guard_end(void)
{
    for (int i = 0; i < GUARDED; i++) {
        if (in_force[i])
            real_sigaction(guarded_signals[i], &targets[i], NULL);
        in_force[i] = false;
    }
}

/* A target that set a disposition by a system call of its own has taken it away from us. */
static void take_back(void)
{
    acquire();
    for (int i = 0; i < GUARDED; i++) {
        struct sigaction current;

        if (in_force[i] && real_sigaction(guarded_signals[i], NULL, &current) == 0 &&
            current.sa_sigaction != on_fault) {
            targets[i] = current;
            atomic_store(&alternate_stack, wants_alternate_stack());
            install(i);
        }
    }
    release();
}

/* The handler of SIGTRAP was called on the thread's alternate stack. */
static bool is_on_alternate_stack(const ucontext_t *context)
{
    return (uintptr_t)context - (uintptr_t)context->uc_stack.ss_sp < context->uc_stack.ss_size;
}

void fault_guard_enter(const ucontext_t *context)
{
    int saved = errno;

    if (atomic_fetch_add_explicit(&entries, 1, memory_order_relaxed) % LOOK_EVERY == 0)
        take_back();
    /* Erlang's BEAM sets SA_ONSTACK in all handlers that it finds, ours as well. */
    if (is_on_alternate_stack(context) ||
        (atomic_load_explicit(&alternate_stack, memory_order_relaxed) &&
         context->uc_stack.ss_size > 0)) {
        const stack_t none = {.ss_flags = SS_DISABLE};

        syscall(SYS_sigaltstack, &none, NULL);
    }
    if (sigismember(&context->uc_sigmask, SIGSEGV) == 1 ||
        sigismember(&context->uc_sigmask, SIGBUS) == 1) {
        sigset_t guarded;

        sigemptyset(&guarded);
        for (int i = 0; i < GUARDED; i++)
            sigaddset(&guarded, guarded_signals[i]);
        let_in = true;
        signals_change(SIG_UNBLOCK, &guarded, NULL);
    }
    errno = saved;
}

void fault_guard_leave(void)
{
    let_in = false;
}

/* A child of vfork has dispositions of its own, and our memory: what it changes is the kernel's. */
static int foreign_sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
    int result = next_sigaction(signal, action, old);

    if (result == 0 && old && old->sa_sigaction == on_fault)
        *old = targets[signal == SIGSEGV ? 0 : 1];
    return result;
}

int fault_guard_sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
    int which = signal == SIGSEGV ? 0 : 1, result = 0;
    struct sigaction wanted, previous;
    sigset_t before;

    if (!process_is_ours())
        return foreign_sigaction(signal, action, old);

    /* Outside the lock: the pointer may be bad. */
    if (action)
        wanted = *action;
    /* A handler of ours on this thread must not wait for a lock that this thread holds. */
    signals_block(&before);
    acquire();
    if (in_force[which]) {
        previous = targets[which];
        if (action) {
            targets[which] = wanted;
            atomic_store(&alternate_stack, wants_alternate_stack());
            install(which);
        }
    } else {
        result = next_sigaction(signal, action ? &wanted : NULL, &previous);
    }
    release();
    signals_restore(&before);
    if (old && result == 0)
        *old = previous;
    return result;
}

void fault_guard_reset(void)
{
    release();
}

void fault_guard_before_exec(void)
{
    for (int i = 0; i < GUARDED; i++)
        if (in_force[i] && is_ignored(&targets[i]))
            real_sigaction(guarded_signals[i], &targets[i], NULL);
}

void fault_guard_after_exec(void)
{
    for (int i = 0; i < GUARDED; i++)
        if (in_force[i] && is_ignored(&targets[i]))
            install(i);
}

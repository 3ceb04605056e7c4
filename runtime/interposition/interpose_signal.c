/* SPDX-License-Identifier: BSD-3-Clause */
/* The wrappers run in the target's normal code or in its handlers; on_trap() is signal-safe. */
#include "interposition/interpose_signal.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/alignment_check.h"
#include "bursts/thread_pointer.h"
#include "interposition/interpose.h"
#include "memory/fault_guard.h"
#include "output/snapshot.h"
#include "own/bound.h"
#include "own/raw_call.h"
#include "perf_events/perf_event.h"
#include "process/process.h"
#include "spin_hint.h"

#include "signal_safe.h"

enum {
    TRAP_CODE_PERF = 6, /* TRAP_PERF; not in the C library's headers of Debian 12 */
    KERNEL_SET_BYTES = 8,
};

/* Who gets our signals; set once by signal_begin() before the first event is opened. */
static trap_handler our_handler;
static _Atomic bool taken;            /* SIGTRAP is ours */
static _Atomic bool alternate_stacks; /* it is handled on them; never again not */

/* The target's disposition of SIGTRAP. Guarded by disposition_lock with all signals blocked. */
static struct sigaction target_disposition;
static atomic_flag disposition_lock = ATOMIC_FLAG_INIT;

/* A handler of the target's may run with SIGTRAP blocked in the kernel: never again not. */
static _Atomic bool handlers_block;

/* One was called from here, and has neither returned nor jumped. */
static __thread bool in_called_handler __attribute__((tls_model("initial-exec")));

/* The C library's own, once signal_begin() has found it; what handlers are installed with. */
static int (*library_sigaction)(int, const struct sigaction *, struct sigaction *);

int real_sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
    return library_sigaction(signal, action, old);
}

void signals_change(int how, const sigset_t *set, sigset_t *old)
{
    /* The kernel knows the first word of a set. */
    if (old)
        memset(old, 0, sizeof *old);
    raw_call(SYS_rt_sigprocmask, how, (long)set, (long)old, KERNEL_SET_BYTES, 0, 0);
}

/* Faults come in even so: a guarded load needs them, and one that is blocked kills. */
static void all_but_faults(sigset_t *set)
{
    memset(set, 0xff, sizeof *set);
    sigdelset(set, SIGSEGV);
    sigdelset(set, SIGBUS);
    sigdelset(set, SIGILL);
    sigdelset(set, SIGFPE);
}

void signals_block(sigset_t *before)
{
    sigset_t all;

    all_but_faults(&all);
    signals_change(SIG_BLOCK, &all, before);
}

void signals_restore(const sigset_t *before)
{
    signals_change(SIG_SETMASK, before, NULL);
}

static void lock_disposition(sigset_t *before)
{
    signals_block(before);
    while (atomic_flag_test_and_set_explicit(&disposition_lock, memory_order_acquire))
        spin_hint();
}

static void unlock_disposition(const sigset_t *before)
{
    atomic_flag_clear_explicit(&disposition_lock, memory_order_release);
    signals_restore(before);
}

void signal_call_handler(const struct sigaction *action, int signal, siginfo_t *information,
                         ucontext_t *context)
{
    sigset_t mask = context->uc_sigmask;
    bool outer = in_called_handler, believed = signal_is_believed_blocked();

    for (size_t i = 0; i < sizeof mask / sizeof(unsigned long); i++)
        mask.__val[i] |= action->sa_mask.__val[i];
    if (!(action->sa_flags & SA_NODEFER))
        sigaddset(&mask, signal);
    signals_change(SIG_SETMASK, &mask, NULL);
    in_called_handler = true;
    if (action->sa_flags & SA_SIGINFO)
        action->sa_sigaction(signal, information, context);
    else
        action->sa_handler(signal);
    in_called_handler = outer;
    signal_believe_blocked(believed);
}

/* As without us: by SIGTRAP, once this handler has returned. */
static void die(int signal, siginfo_t *information)
{
    struct sigaction fatal;

    memset(&fatal, 0, sizeof fatal);
    fatal.sa_handler = SIG_DFL;
    real_sigaction(signal, &fatal, NULL);
    syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), signal, information);
}

/* The thread's own doing, which cannot wait: the kernel kills where it is blocked. Traps of perf
 * events wait. */
static bool cannot_be_blocked(const siginfo_t *information)
{
    return information->si_code > 0 && information->si_code != TRAP_CODE_PERF;
}

/* A SIGTRAP that is not ours, delivered as the target asked for. */
static void forward(int signal, siginfo_t *information, void *context)
{
    struct sigaction action;
    sigset_t before;

    lock_disposition(&before);
    action = target_disposition;
    if (action.sa_flags & SA_RESETHAND)
        target_disposition.sa_handler = SIG_DFL;
    unlock_disposition(&before);

    if (!(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_IGN &&
        information->si_code <= 0)
        return;
    if (!(action.sa_flags & SA_SIGINFO) &&
        (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)) {
        die(signal, information);
        return;
    }
    signal_call_handler(&action, signal, information, context);
}

static bool event_of(const siginfo_t *information, struct event_cookie *cookie)
{
    uint64_t data;

    if (information->si_code != TRAP_CODE_PERF)
        return false;
    /* Layout of siginfo for TRAP_PERF (Linux ABI): address, data, type, flags. */
    memcpy(&data, (const char *)information + 24, sizeof data);
    return event_cookie_unpack(data, cookie);
}

bool signal_is_of_event(const siginfo_t *information)
{
    struct event_cookie cookie;

    return event_of(information, &cookie);
}

static bool is_asynchronous(const siginfo_t *information)
{
    uint32_t flags;

    memcpy(&flags, (const char *)information + 36, sizeof flags);
    return flags & 1;
}

static __attribute__((noinline)) void handle_trap(int signal, siginfo_t *information, void *context)
{
    int saved = errno;
    struct event_cookie cookie;
    siginfo_t held;

    if (event_of(information, &cookie))
        our_handler(cookie, is_asynchronous(information), context);
    else if (signal_is_believed_blocked() && cannot_be_blocked(information))
        die(signal, information);
    else if (!signal_hold_back(information, context))
        forward(signal, information, context);
    while (signal_take_held(&held))
        forward(signal, &held, context);
    errno = saved;
}

/* Before anything that is the thread's own, errno even: see thread_pointer.h. */
static void on_trap(int signal, siginfo_t *information, void *context)
{
    alignment_check_end();
    if (signal_is_of_event(information) && !thread_pointer_is_known())
        thread_pointer_event_lost();
    else
        handle_trap(signal, information, context);
}

static int install(int flags, struct sigaction *previous)
{
    struct sigaction ours;

    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = on_trap;
    ours.sa_flags = SA_SIGINFO | SA_RESTART | flags;
    /* The C library's internal signals, too. */
    all_but_faults(&ours.sa_mask);
    return real_sigaction(SIGTRAP, &ours, previous);
}

void signal_use_alternate_stacks(void)
{
    int saved = errno;

    if (signal_is_taken() && !atomic_exchange(&alternate_stacks, true))
        install(SA_ONSTACK, NULL);
    errno = saved;
}

int signal_begin(trap_handler handler)
{
    sigset_t trap, before;

    our_handler = handler;
    thread_pointer_begin();
    *(void **)&library_sigaction = bound_of_c_library("sigaction");
    if (!library_sigaction)
        return -ENOSYS;
    if (install(0, &target_disposition) != 0)
        return -errno;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    signals_change(SIG_UNBLOCK, &trap, &before);
    signal_believe_blocked(sigismember(&before, SIGTRAP) == 1);
    atomic_store(&taken, true);
    return 0;
}

bool signal_is_at_trap_entry(uint64_t ip)
{
    return ip == (uintptr_t)on_trap;
}

void signal_end(void)
{
    signal_give_back();
    atomic_store(&taken, false);
    real_sigaction(SIGTRAP, &target_disposition, NULL);
}

void signal_after_fork(void)
{
    atomic_flag_clear(&disposition_lock);
    signal_mask_after_fork();
}

static bool is_ignored(const struct sigaction *action)
{
    return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_IGN;
}

static void change_trap(int how)
{
    sigset_t trap;

    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    signals_change(how, &trap, NULL);
}

void signal_before_exec(void)
{
    if (!signal_is_taken())
        return;
    if (is_ignored(&target_disposition))
        real_sigaction(SIGTRAP, &target_disposition, NULL);
    if (signal_kernel_should_block())
        change_trap(SIG_BLOCK);
}

void signal_after_exec(void)
{
    if (!signal_is_taken())
        return;
    if (is_ignored(&target_disposition))
        install(atomic_load(&alternate_stacks) ? SA_ONSTACK : 0, NULL);
    if (signal_kernel_should_block())
        change_trap(SIG_UNBLOCK);
}

void signal_before_jump(bool mask_was_saved)
{
    bool called = in_called_handler;
    sigset_t now;

    in_called_handler = false;
    if (mask_was_saved || !atomic_load_explicit(&handlers_block, memory_order_relaxed) ||
        !signal_is_taken() || !process_is_ours())
        return;
    signals_change(SIG_BLOCK, NULL, &now);
    if (sigismember(&now, SIGTRAP) != 1)
        return;
    /* A handler that the kernel has called may have jumped within itself, and its return, which
     * brings the old mask back, would not be seen here. */
    if (called)
        signal_believe_blocked(true);
    change_trap(SIG_UNBLOCK);
}

bool signal_is_taken(void)
{
    return atomic_load_explicit(&taken, memory_order_relaxed);
}

/* ---- what the target calls ---- */

int next_sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
    static int (*next)(int, const struct sigaction *, struct sigaction *);

    if (!next)
        next = interpose_real("sigaction");
    return next(signal, action, old);
}

/* A child of vfork has dispositions of its own, and our memory: what it changes is the kernel's. */
static int foreign_sigaction(const struct sigaction *action, struct sigaction *old)
{
    int result = next_sigaction(SIGTRAP, action, old);

    if (result == 0 && old && old->sa_sigaction == on_trap)
        *old = target_disposition;
    return result;
}

INTERPOSED int sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
    if (action && (signal == SIGTRAP || sigismember(&action->sa_mask, SIGTRAP) == 1))
        atomic_store_explicit(&handlers_block, true, memory_order_relaxed);
    if (signal == SIGSEGV || signal == SIGBUS)
        return fault_guard_sigaction(signal, action, old);
    if (snapshot_is_signal(signal))
        return snapshot_sigaction(signal, action, old);
    if (signal == SIGTRAP && atomic_load_explicit(&taken, memory_order_relaxed)) {
        struct sigaction previous;

        if (!process_is_ours())
            return foreign_sigaction(action, old);
        sigset_t before;

        lock_disposition(&before);
        previous = target_disposition;
        if (action)
            target_disposition = *action;
        unlock_disposition(&before);
        if (old)
            *old = previous;
        return 0;
    }
    return next_sigaction(signal, action, old);
}

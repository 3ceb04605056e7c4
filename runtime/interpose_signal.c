/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wrappers run in the target's normal code or in its handlers; on_trap() is signal-safe.
 *
 * Why masks are interposed: a thread that blocks SIGTRAP (worker threads commonly block every
 * signal) would never be sampled. The kernel's mask therefore never contains SIGTRAP; what the
 * target believes is remembered per thread, and a SIGTRAP that is not ours waits for it.
 */
#include "interpose_signal.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fault_guard.h"
#include "interpose.h"
#include "perf_event.h"
#include "spin_hint.h"

#include "signal_safe.h"

enum { TRAP_CODE_PERF = 6 }; /* TRAP_PERF; not in the C library's headers of Debian 12 */

/* Who gets our signals; set once by signal_begin() before the first event is opened. */
static trap_handler our_handler;
static _Atomic bool taken; /* SIGTRAP is ours */

/* The target's disposition of SIGTRAP. Guarded by disposition_lock with all signals blocked. */
static struct sigaction target_disposition;
static atomic_flag disposition_lock = ATOMIC_FLAG_INIT;

/* What this thread believes about SIGTRAP. Written by its own thread only. */
static __thread bool believes_blocked __attribute__((tls_model("initial-exec")));
/* A foreign SIGTRAP that arrived while believed blocked; delivered when unblocked. */
static __thread bool pending_foreign __attribute__((tls_model("initial-exec")));
static __thread siginfo_t pending_information __attribute__((tls_model("initial-exec")));

int real_sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
    static int (*next)(int, const struct sigaction *, struct sigaction *);

    if (!next)
        next = interpose_real("sigaction");
    return next(signal, action, old);
}

int real_pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    static int (*next)(int, const sigset_t *, sigset_t *);

    if (!next)
        next = interpose_real("pthread_sigmask");
    return next(how, set, old);
}

void signals_block(sigset_t *before)
{
    sigset_t all;

    memset(&all, 0xff, sizeof all);
    real_pthread_sigmask(SIG_BLOCK, &all, before);
}

void signals_restore(const sigset_t *before)
{
    real_pthread_sigmask(SIG_SETMASK, before, NULL);
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

    for (size_t i = 0; i < sizeof mask / sizeof(unsigned long); i++)
        mask.__val[i] |= action->sa_mask.__val[i];
    if (!(action->sa_flags & SA_NODEFER))
        sigaddset(&mask, signal);
    real_pthread_sigmask(SIG_SETMASK, &mask, NULL);
    if (action->sa_flags & SA_SIGINFO)
        action->sa_sigaction(signal, information, context);
    else
        action->sa_handler(signal);
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
        /* Die as without us: by SIGTRAP, once this handler has returned. */
        struct sigaction fatal;

        memset(&fatal, 0, sizeof fatal);
        fatal.sa_handler = SIG_DFL;
        real_sigaction(signal, &fatal, NULL);
        syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), signal, information);
        return;
    }
    signal_call_handler(&action, signal, information, context);
}

static void on_trap(int signal, siginfo_t *information, void *context)
{
    int saved = errno;
    struct event_cookie cookie;

    if (information->si_code == TRAP_CODE_PERF) {
        /* Layout of siginfo for TRAP_PERF (Linux ABI): address, data, type, flags. */
        uint64_t data;
        uint32_t flags;

        memcpy(&data, (const char *)information + 24, sizeof data);
        memcpy(&flags, (const char *)information + 36, sizeof flags);
        if (event_cookie_unpack(data, &cookie)) {
            our_handler(cookie, flags & 1, context);
            errno = saved;
            return;
        }
    }
    if (believes_blocked && information->si_code <= 0) {
        pending_foreign = true;
        pending_information = *information;
    } else {
        forward(signal, information, context);
    }
    errno = saved;
}

int signal_begin(trap_handler handler)
{
    struct sigaction ours;
    sigset_t trap, before;

    our_handler = handler;
    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = on_trap;
    ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    /* Everything, the C library's internal signals too, except what the fault guard needs and what
     * cannot be blocked with any sense. */
    memset(&ours.sa_mask, 0xff, sizeof ours.sa_mask);
    sigdelset(&ours.sa_mask, SIGSEGV);
    sigdelset(&ours.sa_mask, SIGBUS);
    sigdelset(&ours.sa_mask, SIGILL);
    sigdelset(&ours.sa_mask, SIGFPE);
    if (real_sigaction(SIGTRAP, &ours, &target_disposition) != 0)
        return -errno;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    real_pthread_sigmask(SIG_UNBLOCK, &trap, &before);
    believes_blocked = sigismember(&before, SIGTRAP) == 1;
    atomic_store(&taken, true);
    return 0;
}

bool signal_is_at_trap_entry(uint64_t ip)
{
    return ip == (uintptr_t)on_trap;
}

void signal_end(void)
{
    atomic_store(&taken, false);
    real_sigaction(SIGTRAP, &target_disposition, NULL);
}

bool signal_is_believed_blocked(void)
{
    return believes_blocked;
}

void signal_believe_blocked(bool blocked)
{
    believes_blocked = blocked;
}

/* ---- what the target calls ---- */

INTERPOSED int sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
    if (signal == SIGSEGV || signal == SIGBUS)
        return fault_guard_sigaction(signal, action, old);
    if (signal == SIGTRAP && atomic_load_explicit(&taken, memory_order_relaxed)) {
        struct sigaction previous;
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
    return real_sigaction(signal, action, old);
}

/* BSD semantics, as glibc's signal(). */
static sighandler_t set_handler(int signal, sighandler_t handler, int flags)
{
    struct sigaction action, old;

    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    if (!(flags & SA_NODEFER))
        sigaddset(&action.sa_mask, signal);
    if (sigaction(signal, &action, &old) != 0)
        return SIG_ERR;
    return old.sa_handler;
}

static bool is_virtual(int signal)
{
    return signal == SIGTRAP || signal == SIGSEGV || signal == SIGBUS;
}

INTERPOSED sighandler_t signal(int number, sighandler_t handler)
{
    static sighandler_t (*next)(int, sighandler_t);

    if (is_virtual(number) && handler != SIG_ERR)
        return set_handler(number, handler, SA_RESTART);
    if (!next)
        next = interpose_real("signal");
    return next(number, handler);
}

INTERPOSED sighandler_t bsd_signal(int number, sighandler_t handler);
INTERPOSED sighandler_t bsd_signal(int number, sighandler_t handler)
{
    return signal(number, handler);
}

INTERPOSED sighandler_t sysv_signal(int number, sighandler_t handler)
{
    static sighandler_t (*next)(int, sighandler_t);

    if (is_virtual(number) && handler != SIG_ERR)
        return set_handler(number, handler, (int)(SA_RESETHAND | SA_NODEFER));
    if (!next)
        next = interpose_real("sysv_signal");
    return next(number, handler);
}

INTERPOSED sighandler_t __sysv_signal(int number, sighandler_t handler);
INTERPOSED sighandler_t __sysv_signal(int number, sighandler_t handler)
{
    return sysv_signal(number, handler);
}

/* Applies a change of mask with SIGTRAP taken out of it, and keeps what the thread believes. */
static int change_mask(int how, const sigset_t *set, sigset_t *old,
                       int (*next)(int, const sigset_t *, sigset_t *))
{
    bool believed = believes_blocked;
    sigset_t adjusted;
    int result;

    if (!atomic_load_explicit(&taken, memory_order_relaxed))
        return next(how, set, old);
    if (set) {
        adjusted = *set;
        if (sigismember(set, SIGTRAP) == 1) {
            if (how == SIG_BLOCK || how == SIG_SETMASK) {
                believes_blocked = true;
                sigdelset(&adjusted, SIGTRAP);
            } else if (how == SIG_UNBLOCK) {
                believes_blocked = false;
            }
        } else if (how == SIG_SETMASK) {
            believes_blocked = false;
        }
    }
    result = next(how, set ? &adjusted : NULL, old);
    if (result != 0) {
        believes_blocked = believed;
        return result;
    }
    if (old && believed)
        sigaddset(old, SIGTRAP);
    if (pending_foreign && !believes_blocked) {
        pending_foreign = false;
        syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), SIGTRAP,
                &pending_information);
    }
    return result;
}

INTERPOSED int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    return change_mask(how, set, old, real_pthread_sigmask);
}

INTERPOSED int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    static int (*next)(int, const sigset_t *, sigset_t *);

    if (!next)
        next = interpose_real("sigprocmask");
    return change_mask(how, set, old, next);
}

INTERPOSED int sigpending(sigset_t *set)
{
    static int (*next)(sigset_t *);
    int result;

    if (!next)
        next = interpose_real("sigpending");
    result = next(set);
    if (result == 0 && pending_foreign)
        sigaddset(set, SIGTRAP);
    return result;
}

/* A SIGTRAP that was held back is what a thread that waits for SIGTRAP gets first. */
static bool take_pending(const sigset_t *set, siginfo_t *information)
{
    if (!pending_foreign || sigismember(set, SIGTRAP) != 1)
        return false;
    pending_foreign = false;
    if (information)
        *information = pending_information;
    return true;
}

INTERPOSED int sigtimedwait(const sigset_t *set, siginfo_t *information,
                            const struct timespec *timeout)
{
    static int (*next)(const sigset_t *, siginfo_t *, const struct timespec *);

    if (take_pending(set, information))
        return SIGTRAP;
    if (!next)
        next = interpose_real("sigtimedwait");
    return next(set, information, timeout);
}

INTERPOSED int sigwaitinfo(const sigset_t *set, siginfo_t *information)
{
    static int (*next)(const sigset_t *, siginfo_t *);

    if (take_pending(set, information))
        return SIGTRAP;
    if (!next)
        next = interpose_real("sigwaitinfo");
    return next(set, information);
}

INTERPOSED int sigwait(const sigset_t *set, int *number)
{
    static int (*next)(const sigset_t *, int *);

    if (take_pending(set, NULL)) {
        *number = SIGTRAP;
        return 0;
    }
    if (!next)
        next = interpose_real("sigwait");
    return next(set, number);
}

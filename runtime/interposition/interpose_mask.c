/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wrappers run in the target's normal code or in its handlers. Signal-safe.
 *
 * Why masks are interposed: a thread that blocks SIGTRAP (worker threads commonly block every
 * signal) would never be sampled. The kernel's mask therefore never contains SIGTRAP; what the
 * target believes is remembered per thread, and a SIGTRAP that is not ours waits for it.
 */
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interposition/interpose.h"
#include "interposition/interpose_signal.h"
#include "process/process.h"

#include "signal_safe.h"

/* What this thread believes about SIGTRAP. Written by its own thread only. */
static __thread bool believes_blocked __attribute__((tls_model("initial-exec")));
/* A foreign SIGTRAP that arrived while believed blocked; delivered when unblocked. */
static __thread bool pending_foreign __attribute__((tls_model("initial-exec")));
static __thread siginfo_t pending_information __attribute__((tls_model("initial-exec")));

bool signal_is_believed_blocked(void)
{
    return believes_blocked;
}

void signal_believe_blocked(bool blocked)
{
    believes_blocked = blocked;
}

bool signal_hold_back(const siginfo_t *information)
{
    if (!believes_blocked)
        return false;
    pending_foreign = true;
    pending_information = *information;
    return true;
}

/* Applies a change of mask with SIGTRAP taken out of it, and keeps what the thread believes. */
static int change_mask(int how, const sigset_t *set, sigset_t *old,
                       int (*next)(int, const sigset_t *, sigset_t *))
{
    bool believed = believes_blocked;
    sigset_t adjusted;
    int result;

    if (!signal_is_taken())
        return next(how, set, old);
    if (!process_is_ours()) {
        /* A child of vfork: its mask is its own, what the thread believes is the parent's. */
        result = next(how, set, old);
        if (result == 0 && old && believed)
            sigaddset(old, SIGTRAP);
        return result;
    }
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
    static int (*next)(int, const sigset_t *, sigset_t *);

    if (!next)
        next = interpose_real("pthread_sigmask");
    return change_mask(how, set, old, next);
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

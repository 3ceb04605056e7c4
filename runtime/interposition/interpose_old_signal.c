/* SPDX-License-Identifier: BSD-3-Clause */
/* The older ways to install a handler, by sigaction() for the signals that are kept virtually. The
 * wrappers run in the target's normal code or in its handlers. Signal-safe. */
#include <signal.h>
#include <stdbool.h>
#include <string.h>

#include "interposition/interpose.h"
#include "output/snapshot.h"

#include "signal_safe.h"

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
    return signal == SIGTRAP || signal == SIGSEGV || signal == SIGBUS || snapshot_is_signal(signal);
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

INTERPOSED sighandler_t ssignal(int number, sighandler_t handler)
{
    return signal(number, handler);
}

/* System V's: the handler stays, the signal is unblocked, or only blocked by SIG_HOLD. */
INTERPOSED sighandler_t sigset(int number, sighandler_t handler)
{
    static sighandler_t (*next)(int, sighandler_t);
    sigset_t set, before;
    sighandler_t old;

    if (!is_virtual(number) || handler == SIG_ERR) {
        if (!next)
            next = interpose_real("sigset");
        return next(number, handler);
    }
    sigemptyset(&set);
    sigaddset(&set, number);
    if (handler == SIG_HOLD) {
        struct sigaction now;

        if (sigprocmask(SIG_BLOCK, &set, &before) != 0 || sigaction(number, NULL, &now) != 0)
            return SIG_ERR;
        old = now.sa_handler;
    } else {
        struct sigaction action = {.sa_handler = handler}, previous;

        if (sigaction(number, &action, &previous) != 0 ||
            sigprocmask(SIG_UNBLOCK, &set, &before) != 0)
            return SIG_ERR;
        old = previous.sa_handler;
    }
    return sigismember(&before, number) == 1 ? SIG_HOLD : old;
}

INTERPOSED int sigignore(int number)
{
    static int (*next)(int);

    if (is_virtual(number))
        return set_handler(number, SIG_IGN, 0) == SIG_ERR ? -1 : 0;
    if (!next)
        next = interpose_real("sigignore");
    return next(number);
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

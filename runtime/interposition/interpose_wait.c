/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wrappers run in the target's normal code or in its handlers. Signal-safe.
 *
 * Signals that are waited for, asked for or read instead of handled: a SIGTRAP that is held back
 * (interpose_mask.c) counts as pending.
 */
#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <time.h>

#include "interposition/interpose.h"
#include "interposition/interpose_signal.h"

#include "signal_safe.h"

INTERPOSED int sigpending(sigset_t *set)
{
    static int (*next)(sigset_t *);
    int result;

    if (!next)
        next = interpose_real("sigpending");
    result = next(set);
    if (result == 0 && signal_is_held())
        sigaddset(set, SIGTRAP);
    return result;
}

typedef int timed_wait(const sigset_t *, siginfo_t *, const struct timespec *);

/* timeout NULL: none. */
static int wait_for(const sigset_t *set, siginfo_t *information, const struct timespec *timeout,
                    timed_wait *next)
{
    siginfo_t found;
    int result = SIGTRAP, saved;

    if (!signal_wait_begin(set))
        return next(set, information, timeout);
    if (!signal_wait_take(&found))
        do
            result = next(set, &found, timeout);
        while (!signal_wait_is_over(result, &found));
    saved = errno;
    signal_wait_end();
    errno = saved;
    if (result > 0 && information)
        *information = found;
    return result;
}

static timed_wait *next_wait(void)
{
    static timed_wait *next;

    if (!next)
        next = (timed_wait *)interpose_real("sigtimedwait");
    return next;
}

INTERPOSED int sigtimedwait(const sigset_t *set, siginfo_t *information,
                            const struct timespec *timeout)
{
    return wait_for(set, information, timeout, next_wait());
}

INTERPOSED int sigwaitinfo(const sigset_t *set, siginfo_t *information)
{
    return wait_for(set, information, NULL, next_wait());
}

/* Goes on after handlers of other signals, and says errors by its result. */
INTERPOSED int sigwait(const sigset_t *set, int *number)
{
    int saved = errno, result, error;

    do
        result = wait_for(set, NULL, NULL, next_wait());
    while (result == -1 && errno == EINTR);
    error = errno;
    errno = saved;
    if (result < 0)
        return error;
    *number = result;
    return 0;
}

INTERPOSED int signalfd(int descriptor, const sigset_t *set, int flags)
{
    static int (*next)(int, const sigset_t *, int);
    int result;

    if (!next)
        next = interpose_real("signalfd");
    result = next(descriptor, set, flags);
    if (result >= 0 && sigismember(set, SIGTRAP) == 1)
        signal_read_from_descriptor();
    return result;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The older ways to change a mask, which the C library serves past sigprocmask(): dash leaves by
 * sigsetmask() what it entered by sigprocmask(). Signal-safe.
 */
#include <signal.h>

#include "interposition/interpose.h"

#include "signal_safe.h"

/* A mask of BSD's has the first 32 signals. */
static int change_words(int how, int mask)
{
    sigset_t set, old;
    unsigned before = 0;

    sigemptyset(&set);
    for (int signal = 1; signal <= 32; signal++)
        if ((unsigned)mask >> (signal - 1) & 1)
            sigaddset(&set, signal);
    if (sigprocmask(how, &set, &old) != 0)
        return -1;
    for (int signal = 1; signal <= 32; signal++)
        if (sigismember(&old, signal) == 1)
            before |= 1U << (signal - 1);
    return (int)before;
}

INTERPOSED int sigblock(int mask)
{
    return change_words(SIG_BLOCK, mask);
}

INTERPOSED int sigsetmask(int mask)
{
    return change_words(SIG_SETMASK, mask);
}

INTERPOSED int siggetmask(void)
{
    return change_words(SIG_BLOCK, 0);
}

static int change_one(int how, int signal)
{
    sigset_t set;

    sigemptyset(&set);
    return sigaddset(&set, signal) != 0 ? -1 : sigprocmask(how, &set, NULL);
}

INTERPOSED int sighold(int signal)
{
    return change_one(SIG_BLOCK, signal);
}

INTERPOSED int sigrelse(int signal)
{
    return change_one(SIG_UNBLOCK, signal);
}

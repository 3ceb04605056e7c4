/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. See held_trap.h. */
#include "interposition/held_trap.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "own/raw_call.h"

#include "signal_safe.h"

/* Moves by compare-and-swap; the signal belongs to who has moved it to BUSY. */
enum { EMPTY, BUSY, FULL };
static _Atomic int state;
static siginfo_t held;

bool held_trap_is_for_process(const siginfo_t *information)
{
    return information->si_code <= 0 && information->si_code != SI_TKILL;
}

void held_trap_put(const siginfo_t *information)
{
    int expected = EMPTY;

    if (!atomic_compare_exchange_strong(&state, &expected, BUSY))
        return;
    held = *information;
    atomic_store(&state, FULL);
}

bool held_trap_take(siginfo_t *information)
{
    int expected = FULL;

    /* Asked at every change of a mask, and hardly ever true. */
    if (atomic_load(&state) != FULL || !atomic_compare_exchange_strong(&state, &expected, BUSY))
        return false;
    if (information)
        *information = held;
    atomic_store(&state, EMPTY);
    return true;
}

bool held_trap_waits(void)
{
    return atomic_load(&state) == FULL;
}

bool held_trap_tell(pid_t thread)
{
    siginfo_t telling;

    memset(&telling, 0, sizeof telling);
    telling.si_signo = SIGTRAP;
    telling.si_code = SI_QUEUE;
    telling.si_pid = getpid();
    telling.si_value.sival_ptr = &held;
    return raw_call(SYS_rt_tgsigqueueinfo, getpid(), thread, SIGTRAP, (long)&telling, 0, 0) == 0;
}

bool held_trap_is_telling(const siginfo_t *information)
{
    return information->si_code == SI_QUEUE && information->si_pid == getpid() &&
           information->si_value.sival_ptr == &held;
}

void held_trap_after_fork(void)
{
    atomic_store(&state, EMPTY);
}

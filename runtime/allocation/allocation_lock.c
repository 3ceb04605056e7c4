/* SPDX-License-Identifier: BSD-3-Clause */
/* Locks of the maps, held with signals blocked. Signal-safe. */
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>

#include "allocation/allocation_internal.h"
#include "own/raw_call.h"

#include "signal_safe.h"

/* Faults stay: blocked, they would kill. */
static const unsigned long signals_but_faults =
    ~(1UL << (SIGSEGV - 1) | 1UL << (SIGBUS - 1) | 1UL << (SIGILL - 1) | 1UL << (SIGFPE - 1));

void allocation_lock(struct allocation_lock *lock)
{
    unsigned long before = 0;

    raw_call(SYS_rt_sigprocmask, SIG_BLOCK, (long)&signals_but_faults, (long)&before, sizeof before,
             0, 0);
    while (atomic_exchange_explicit(&lock->held, true, memory_order_acquire))
        sched_yield();
    lock->mask = before;
}

void allocation_unlock(struct allocation_lock *lock)
{
    const unsigned long before = lock->mask;

    atomic_store_explicit(&lock->held, false, memory_order_release);
    raw_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&before, 0, sizeof before, 0, 0);
}

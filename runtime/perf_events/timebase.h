/* SPDX-License-Identifier: BSD-3-Clause */
/* Clocks, in nanoseconds. Signal-safe; no errno. */
#ifndef REUSE_RUNTIME_TIMEBASE_H
#define REUSE_RUNTIME_TIMEBASE_H

#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>

#include "bursts/cost_account.h"
#include "own/raw_call.h"
#include "recording/tape.h"

static inline uint64_t clock_ns(clockid_t clock)
{
    struct timespec now = {0};

    if (!tape_supplies() && clock == CLOCK_MONOTONIC)
        clock_gettime(clock, &now);
    else if (!tape_supplies()) {
        enum cost_part before = cost_enter(COST_CPU_CLOCK);

        raw_call(SYS_clock_gettime, clock, (long)&now, 0, 0, 0, 0);
        cost_leave(before);
    }
    return tape_value(TAPE_CLOCK,
                      (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec);
}

static inline uint64_t monotonic_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

/* CPU time of the calling thread, kernel mode included. About 0.3 us. */
static inline uint64_t thread_cpu_ns(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* CPU clock of another thread of this process (Linux ABI: complemented tid, per-thread scheduler
 * clock). */
static inline clockid_t thread_cpu_clock(pid_t tid)
{
    return (clockid_t)((~(unsigned)tid << 3) | 6u);
}

#endif

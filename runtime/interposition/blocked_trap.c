/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. See blocked_trap.h. The child runs on a copy of the memory and makes system calls
 * only. */
#include "interposition/blocked_trap.h"

#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "own/child_trial.h"
#include "own/raw_call.h"

#include "signal_safe.h"

enum { PERIOD_NS = 100 * 1000, CPU_NS = 1000 * 1000, READINGS_MAX = 100 * 1000 };

/* Uses CPU time under a clock that brings SIGTRAP, which is blocked. */
static void use_time(void)
{
    uint64_t set = UINT64_C(1) << (SIGTRAP - 1), used = 0;
    struct perf_event_attr attributes;
    long event;

    memset(&attributes, 0, sizeof attributes);
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_TASK_CLOCK;
    attributes.sample_period = PERIOD_NS;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    attributes.sigtrap = 1;
    attributes.remove_on_exec = 1;
    raw_call(SYS_rt_sigprocmask, SIG_BLOCK, (long)&set, 0, sizeof set, 0, 0);
    event = raw_call(SYS_perf_event_open, (long)&attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC, 0);
    for (unsigned i = 0; event >= 0 && i < READINGS_MAX && used < CPU_NS; i++) {
        for (unsigned spin = 0; spin < 10000; spin++)
            __asm__ volatile("");
        if (raw_call(SYS_read, event, (long)&used, sizeof used, 0, 0, 0) != sizeof used)
            break;
    }
}

enum trap_outcome blocked_trap_of(void (*child)(void))
{
    long status = child_trial(child);

    if (status < 0)
        return TRAP_NOT_TRIED;
    if (WIFSIGNALED(status))
        return WTERMSIG(status) == SIGTRAP ? TRAP_KILLS : TRAP_NOT_TRIED;
    return TRAP_WAITS;
}

enum trap_outcome blocked_trap_try(void)
{
    return blocked_trap_of(use_time);
}

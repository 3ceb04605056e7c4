/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal-safe. See child_trial.h. */
#include "own/child_trial.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "own/raw_call.h"

#include "signal_safe.h"

/* Who is killed by a seccomp filter dumps core. A limit of 1 keeps the dump from a file, and from
 * the program that core_pattern may name, which ignores a limit of 0. */
static void leave_no_core(void)
{
    struct rlimit limit;

    raw_call(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0, 0);
    if (raw_call(SYS_prlimit64, 0, RLIMIT_CORE, 0, (long)&limit, 0, 0) != 0 || limit.rlim_cur <= 1)
        return;
    limit.rlim_cur = 1;
    raw_call(SYS_prlimit64, 0, RLIMIT_CORE, (long)&limit, 0, 0, 0);
}

long child_trial(void (*function)(void))
{
    int status = 0;
    long waited, pid = raw_call(SYS_clone, 0, 0, 0, 0, 0, 0);

    if (pid == 0) {
        leave_no_core();
        function();
        raw_call(SYS_exit_group, 0, 0, 0, 0, 0, 0);
    }
    if (pid < 0)
        return pid;
    do
        waited = raw_call(SYS_wait4, pid, (long)&status, __WALL, 0, 0, 0);
    while (waited == -EINTR);
    return waited == pid ? status : waited;
}

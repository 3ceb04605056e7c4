/* SPDX-License-Identifier: BSD-3-Clause */
/* See sandbox.h. */
#include "launcher/sandbox.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/process_status.h"

bool sandbox_kills_events(void)
{
    int status;
    if (process_seccomp_mode() != 2)
        return false;
    pid_t child = fork();
    if (child < 0)
        return false;
    if (child == 0) {
        prctl(PR_SET_DUMPABLE, 0); /* no core file of an experiment */
        syscall(SYS_perf_event_open, NULL, 0, -1, -1, ~0UL);
        _exit(0);
    }
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR)
            return false;
    }
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* See probe.h. */
#include "doctor/probe.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void describe_death(struct finding *finding, int signal)
{
    if (signal == SIGSYS) {
        finding_result(finding, FINDING_MISSING, "the attempt was killed by SIGSYS");
        finding_meaning(finding, "a seccomp filter kills a process that makes this system call: "
                                 "a profiled program would die of it");
        finding_remedy(finding, "run outside the sandbox, or let its filter (systemd: "
                                "SystemCallFilter=) allow perf_event_open");
    } else if (signal == SIGALRM) {
        finding_result(finding, FINDING_MISSING, "the attempt took more than %d s and was ended",
                       PROBE_SECONDS_MAX);
        finding_meaning(finding, "this cannot be used here");
    } else {
        finding_result(finding, FINDING_MISSING, "the attempt was killed by signal %d (%s)", signal,
                       strsignal(signal));
        finding_meaning(finding, "this cannot be used here");
    }
}

void probe_run(void (*probe)(struct finding *), struct finding *finding)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) {
        finding_result(finding, FINDING_MISSING, "no child process could be started: %s",
                       strerror(errno));
        finding_meaning(finding, "not tried");
        return;
    }
    if (child == 0) {
        alarm(PROBE_SECONDS_MAX);
        probe(finding);
        _exit(0);
    }
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR)
            return;
    }
    if (WIFSIGNALED(status))
        describe_death(finding, WTERMSIG(status));
}

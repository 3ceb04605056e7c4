/* SPDX-License-Identifier: BSD-3-Clause */
/* Does a task-clock event deliver SIGTRAP to the thread that uses CPU time? */
#include <errno.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "doctor/perf.h"
#include "doctor/probe.h"

static volatile sig_atomic_t expirations; /* written by the handler of this thread only */

static void count_expiry(int signal, siginfo_t *information, void *context)
{
    (void)signal;
    (void)context;
    if (information->si_code == TRAP_CODE_PERF)
        expirations++;
}

/* Spins in user space: expiries inside a system call, such as reading the clock, are not delivered
 * to an event that excludes the kernel. */
static void spin(uint64_t cpu_ns)
{
    enum { TURNS_BETWEEN_READINGS = 100000 };
    uint64_t end = perf_cpu_ns() + cpu_ns;
    while (perf_cpu_ns() < end) {
        for (volatile int turn = 0; turn < TURNS_BETWEEN_READINGS; turn++)
            ;
    }
}

/* Before Linux 5.18 a blocked SIGTRAP did not wait for the end of that: tried in a child. */
static bool blocked_signal_kills(struct perf_event_attr *attributes)
{
    enum { SPIN_NS = 5000000 };
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        sigset_t set;

        prctl(PR_SET_DUMPABLE, 0);
        sigemptyset(&set);
        sigaddset(&set, SIGTRAP);
        sigprocmask(SIG_BLOCK, &set, NULL);
        attributes->disabled = 0;
        perf_open(attributes);
        spin(SPIN_NS);
        _exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
           WTERMSIG(status) == SIGTRAP;
}

void probe_clock(struct finding *finding)
{
    enum { SPIN_MS = 50, PERIOD_NS = 1000000 };
    struct perf_event_attr attributes;

    finding_tried(finding,
                  "a task-clock event with sigtrap every 1 ms while spinning %d ms of CPU time",
                  SPIN_MS);
    perf_attributes(&attributes, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
    attributes.sample_period = PERIOD_NS;
    attributes.sigtrap = 1;
    attributes.remove_on_exec = 1;
    perf_handle_traps(count_expiry);
    int event = perf_open(&attributes);
    if (event < 0) {
        int error = errno;
        perf_explain(finding, error);
        if (error == EINVAL || error == E2BIG) {
            finding_meaning(finding,
                            "events cannot deliver SIGTRAP: the kernel is older than 5.13");
            finding_remedy(finding,
                           "use a kernel from 5.13 on (Debian 12, RHEL 9); without: reuse-run -e "
                           "exact, which needs no events");
        }
        return;
    }
    ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
    spin((uint64_t)SPIN_MS * 1000000u);
    ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
    close(event);

    if (blocked_signal_kills(&attributes)) {
        finding_result(finding, FINDING_MISSING, "an event whose SIGTRAP is blocked kills");
        finding_meaning(finding,
                        "the runtime blocks SIGTRAP now and then: programs run unprofiled");
        finding_remedy(finding,
                       "use a kernel from 5.18 on, or a distribution's with that mend (later "
                       "ones of RHEL 9)");
        return;
    }

    int seen = expirations;
    enum finding_state state = seen >= SPIN_MS / 2 ? FINDING_WORKS
                               : seen > 0          ? FINDING_LIMITED
                                                   : FINDING_MISSING;
    finding_result(finding, state, "%d signals, %d expected", seen, SPIN_MS);
    finding_meaning(finding, state == FINDING_WORKS ? "the clock engine can sample here"
                             : seen > 0
                                 ? "the kernel's timers are coarse: bursts are fewer than asked for"
                                 : "the event opens, but never expires: no bursts");
    if (state != FINDING_WORKS)
        finding_remedy(finding, "use a kernel with CONFIG_HIGH_RES_TIMERS=y");
}

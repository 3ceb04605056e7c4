/* SPDX-License-Identifier: BSD-3-Clause */
/* Does a task-clock event deliver SIGTRAP to the thread that uses CPU time? */
#include <errno.h>
#include <sys/ioctl.h>
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
            finding_remedy(finding, "use a kernel from 5.13 on (Debian: 12 or newer)");
        }
        return;
    }
    ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
    spin((uint64_t)SPIN_MS * 1000000u);
    ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
    close(event);

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

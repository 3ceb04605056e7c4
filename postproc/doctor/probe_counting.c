/* SPDX-License-Identifier: BSD-3-Clause */
/* Does the processor's counter of retired instructions count a loop of known length right? */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "doctor/perf.h"
#include "doctor/probe.h"

/* Exactly two instructions per turn. */
static void run_loop(uint64_t turns)
{
#if defined(__x86_64__)
    __asm__ volatile("1: decq %0\n\tjnz 1b" : "+r"(turns) : : "cc");
#else
    __asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(turns) : : "cc");
#endif
}

static void explain_absent(struct finding *finding)
{
    finding_result(finding, FINDING_MISSING, "ENOENT: no hardware counter is visible");
    finding_meaning(finding, "the engine pmu cannot work here; usual in virtual machines, and the "
                             "engine clock needs no counter");
    finding_remedy(finding, "in the virtual machine's host: pass the PMU through (QEMU: -cpu "
                            "host,pmu=on; clouds: a .metal instance)");
}

void probe_counting(struct finding *finding)
{
    static const uint64_t turns = 1000000;
    struct perf_event_attr attributes;
    struct {
        uint64_t count, enabled_ns, running_ns;
    } reading;

    finding_tried(finding, "counting the instructions of a loop of %lu",
                  (unsigned long)(2 * turns));
    perf_attributes(&attributes, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    int event = perf_open(&attributes);
    if (event < 0) {
        int error = errno;
        if (error == ENOENT || error == EOPNOTSUPP || error == ENODEV)
            explain_absent(finding);
        else
            perf_explain(finding, error);
        return;
    }
    ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
    run_loop(turns);
    ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
    ssize_t length = read(event, &reading, sizeof reading);
    close(event);
    if (length != sizeof reading) {
        finding_result(finding, FINDING_MISSING, "the counter cannot be read: %s",
                       length < 0 ? strerror(errno) : "short reading");
        return;
    }
    double ratio = (double)reading.count / (double)(2 * turns);
    if (reading.count == 0) {
        finding_result(finding, FINDING_MISSING, "the counter opens, and stays at 0 (%s)",
                       reading.running_ns ? "it ran" : "it never got a register");
        finding_meaning(finding, "%s",
                        reading.running_ns ? "the hypervisor offers a counter that counts nothing"
                                           : "all counters are in use");
        finding_remedy(finding, "%s",
                       reading.running_ns
                           ? "in the virtual machine's host: QEMU: -cpu host,pmu=on"
                           : "end other profilers; sudo sysctl kernel.nmi_watchdog=0");
    } else if (ratio > 0.99 && ratio < 1.05) {
        finding_result(finding, FINDING_WORKS, "%llu counted, ratio %.4f",
                       (unsigned long long)reading.count, ratio);
        finding_meaning(finding, "accesses can be counted by the hardware");
    } else {
        finding_result(finding, FINDING_LIMITED, "%llu counted, ratio %.4f%s",
                       (unsigned long long)reading.count, ratio,
                       reading.running_ns < reading.enabled_ns ? " (it ran part of the time)" : "");
        finding_meaning(finding, "the counter is not to be trusted");
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* See perf.h. Who answers what: kernel/events/core.c (EACCES for kernel.perf_event_paranoid),
 * container run-times' filters (EPERM or ENOSYS), perf_event_open(2). */
#define _GNU_SOURCE
#include "doctor/perf.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "launcher/process_status.h"

#define CONTAINER_REMEDY                                                                           \
    "docker or podman run --cap-add=PERFMON (or --security-opt seccomp=unconfined); in "           \
    "Kubernetes securityContext.seccompProfile.type: Unconfined"

void perf_attributes(struct perf_event_attr *attributes, uint32_t type, uint64_t config)
{
    memset(attributes, 0, sizeof *attributes);
    attributes->size = sizeof *attributes;
    attributes->type = type;
    attributes->config = config;
    attributes->disabled = 1;
    attributes->exclude_kernel = 1;
    attributes->exclude_hv = 1;
}

void perf_watchpoint(struct perf_event_attr *attributes, uint32_t type, const void *address)
{
    perf_attributes(attributes, PERF_TYPE_BREAKPOINT, 0);
    attributes->bp_type = type;
    attributes->bp_addr = (uintptr_t)address;
    attributes->bp_len = HW_BREAKPOINT_LEN_8;
    attributes->sample_period = 1;
    attributes->sigtrap = 1;
    attributes->remove_on_exec = 1;
}

int perf_open_in_group(struct perf_event_attr *attributes, int leader)
{
    return (int)syscall(SYS_perf_event_open, attributes, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
}

int perf_open(struct perf_event_attr *attributes)
{
    return perf_open_in_group(attributes, -1);
}

void perf_handle_traps(void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGTRAP, &action, NULL);
}

bool perf_read_number(const char *path, long *number)
{
    char line[64], *end = line;
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    if (fgets(line, sizeof line, file))
        *number = strtol(line, &end, 10);
    fclose(file);
    return end > line;
}

int perf_paranoid(void)
{
    long value;
    return perf_read_number("/proc/sys/kernel/perf_event_paranoid", &value) ? (int)value
                                                                            : PERF_PARANOID_ABSENT;
}

int perf_is_privileged(void)
{
    enum { CAPABILITY_SYS_ADMIN = 21, CAPABILITY_PERFMON = 38 };
    uint64_t effective;
    return process_status_read("CapEff", 16, &effective) &&
           (effective & (UINT64_C(1) << CAPABILITY_PERFMON | UINT64_C(1) << CAPABILITY_SYS_ADMIN));
}

static void explain_access(struct finding *finding)
{
    int paranoid = perf_paranoid();
    if (paranoid > 2 && !perf_is_privileged()) {
        finding_result(finding, FINDING_MISSING,
                       "refused with EACCES: kernel.perf_event_paranoid is %d, needed is 2",
                       paranoid);
        finding_meaning(finding, "this kernel lets only privileged users open events");
        finding_remedy(finding, "sudo sysctl kernel.perf_event_paranoid=2 (to stay: a file in "
                                "/etc/sysctl.d); in a container: on its host");
    } else {
        finding_result(finding, FINDING_MISSING,
                       "refused with EACCES, although kernel.perf_event_paranoid is %d", paranoid);
        finding_meaning(finding,
                        "a security module (SELinux, AppArmor) or a seccomp filter forbids "
                        "it");
        finding_remedy(finding, "%s", CONTAINER_REMEDY);
    }
}

void perf_explain(struct finding *finding, int error)
{
    switch (error) {
    case EACCES:
        explain_access(finding);
        return;
    case EPERM:
        finding_result(finding, FINDING_MISSING, "refused with EPERM (%s)",
                       process_seccomp_mode() == 2 ? "a seccomp filter is in force"
                                                   : "no seccomp filter is in force");
        finding_meaning(finding, process_seccomp_mode() == 2
                                     ? "the filter of the container or service forbids "
                                       "perf_event_open; the kernel itself was not asked"
                                     : "a security module or the kernel's lockdown forbids it");
        finding_remedy(finding, "%s", CONTAINER_REMEDY);
        return;
    case ENOSYS:
        if (perf_paranoid() == PERF_PARANOID_ABSENT) {
            finding_result(finding, FINDING_MISSING,
                           "ENOSYS, and there is no kernel.perf_event_paranoid");
            finding_meaning(finding, "this kernel was built without performance events, or a "
                                     "sandbox such as gVisor takes its place");
            finding_remedy(finding, "use a kernel with CONFIG_PERF_EVENTS=y, or reuse-run --engine "
                                    "exact, which needs no events");
        } else {
            finding_result(finding, FINDING_MISSING,
                           "ENOSYS, although the kernel has performance events");
            finding_meaning(finding,
                            "a seccomp filter answers in the kernel's place (some container "
                            "run-times do so for calls they forbid)");
            finding_remedy(finding, "%s", CONTAINER_REMEDY);
        }
        return;
    case EMFILE:
        finding_result(finding, FINDING_MISSING, "EMFILE: no file descriptor is free");
        finding_meaning(finding, "every event needs a descriptor");
        finding_remedy(finding, "ulimit -n 4096");
        return;
    default:
        finding_result(finding, FINDING_MISSING, "refused with error %d (%s)", error,
                       strerror(error));
    }
}

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t perf_cpu_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t perf_wall_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What surrounds the process: kernel, virtual machine, container, rights, limits. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "doctor/perf.h"
#include "doctor/probe.h"
#include "launcher/process_status.h"

#if defined(__x86_64__)
/* CPUID leaf 0x40000000 holds the hypervisor's signature if bit 31 of leaf 1's ECX is set. */
static void name_hypervisor(char *name, size_t size)
{
    unsigned a, b, c, d;
    char signature[13];
    static const struct {
        const char *signature, *name;
    } known[] = {
        {"KVMKVMKVM", "KVM"},           {"Microsoft Hv", "Hyper-V"},    {"VMwareVMware", "VMware"},
        {"XenVMMXenVMM", "Xen"},        {"TCGTCGTCGTCG", "QEMU (TCG)"}, {"bhyve bhyve ", "bhyve"},
        {"VBoxVBoxVBox", "VirtualBox"},
    };
    name[0] = '\0';
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & (1u << 31)))
        return;
    __cpuid(0x40000000, a, b, c, d);
    memcpy(signature, &b, 4);
    memcpy(signature + 4, &c, 4);
    memcpy(signature + 8, &d, 4);
    signature[12] = '\0';
    snprintf(name, size, "%s", signature);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(signature, known[i].signature) == 0)
            snprintf(name, size, "%s", known[i].name);
    }
}
#else
/* Other processors do not tell; firmware tables name the usual virtual machines. */
static void name_hypervisor(char *name, size_t size)
{
    char vendor[64] = "";
    static const char *const virtual_vendors[] = {
        "QEMU", "Amazon EC2", "Xen", "VMware", "Microsoft Corporation", "Google"};
    FILE *file = fopen("/sys/class/dmi/id/sys_vendor", "re");
    name[0] = '\0';
    if (!file)
        return;
    if (fgets(vendor, sizeof vendor, file)) {
        for (size_t i = 0; i < sizeof virtual_vendors / sizeof virtual_vendors[0]; i++) {
            if (strncmp(vendor, virtual_vendors[i], strlen(virtual_vendors[i])) == 0)
                snprintf(name, size, "%s", virtual_vendors[i]);
        }
    }
    fclose(file);
}
#endif

static const char *name_container(void)
{
    if (access("/.dockerenv", F_OK) == 0)
        return "docker";
    if (access("/run/.containerenv", F_OK) == 0)
        return "podman";
    if (access("/run/systemd/container", F_OK) == 0)
        return "systemd-nspawn or similar";
    return NULL;
}

void probe_system(struct finding *finding)
{
    struct utsname name;
    char hypervisor[32];
    const char *container = name_container();

    finding_tried(finding, "uname, CPUID or firmware tables, container marks");
    if (uname(&name) != 0)
        memset(&name, 0, sizeof name);
    name_hypervisor(hypervisor, sizeof hypervisor);
    finding_result(finding, FINDING_INFORMATION, "%s %s %s on %ld CPUs%s%s%s%s", name.sysname,
                   name.release, name.machine, sysconf(_SC_NPROCESSORS_ONLN),
                   hypervisor[0] ? ", virtual machine: " : ", no hypervisor seen", hypervisor,
                   container ? ", container: " : "", container ? container : "");
    if (hypervisor[0])
        finding_meaning(finding, "virtual machines often hide the hardware's counters; the clock "
                                 "engine needs none");
}

void probe_permission(struct finding *finding)
{
    struct perf_event_attr attributes;
    finding_tried(finding, "perf_event_open with impossible flags (who answers?), then a software "
                           "event of this thread in user space");
    /* The kernel looks at the flags before anything else and says EINVAL. */
    if (syscall(SYS_perf_event_open, NULL, 0, -1, -1, ~0UL) < 0 && errno != EINVAL) {
        perf_explain(finding, errno);
        return;
    }
    perf_attributes(&attributes, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
    int event = perf_open(&attributes);
    if (event < 0) {
        perf_explain(finding, errno);
        return;
    }
    close(event);
    finding_result(finding, FINDING_WORKS, "allowed");
    finding_meaning(finding, "programs can be profiled by this user");
}

void probe_paranoid(struct finding *finding)
{
    int value = perf_paranoid();
    finding_tried(finding, "reading /proc/sys/kernel/perf_event_paranoid");
    if (value == PERF_PARANOID_ABSENT) {
        finding_result(finding, FINDING_MISSING, "there is no such file");
        finding_meaning(finding, "the kernel has no performance events, or /proc is hidden");
        return;
    }
    if (value <= 2) {
        finding_result(finding, FINDING_WORKS, "%d (needed: at most 2)", value);
        finding_meaning(finding, "each user may profile user-space code of own processes");
    } else if (perf_is_privileged()) {
        finding_result(finding, FINDING_WORKS, "%d, passed over by this user's privileges", value);
        finding_meaning(finding, "you may profile, unprivileged users may not");
        finding_remedy(finding, "for them: sudo sysctl kernel.perf_event_paranoid=2");
    } else {
        finding_result(finding, FINDING_MISSING, "%d (needed: at most 2)", value);
        finding_meaning(finding, "unprivileged users may open no event on kernels that know this "
                                 "value (Debian's, Ubuntu's, Android's)");
        finding_remedy(finding, "sudo sysctl kernel.perf_event_paranoid=2");
    }
}

void probe_capability(struct finding *finding)
{
    finding_tried(finding, "the effective capabilities in /proc/self/status");
    if (perf_is_privileged()) {
        finding_result(finding, FINDING_INFORMATION, "CAP_PERFMON or CAP_SYS_ADMIN is held");
        finding_meaning(finding, "kernel.perf_event_paranoid does not restrict you");
    } else {
        finding_result(finding, FINDING_INFORMATION, "not held");
        finding_meaning(finding, "not needed while kernel.perf_event_paranoid is at most 2, except "
                                 "for AMD's precise samples on kernels before 6.14");
    }
}

void probe_seccomp(struct finding *finding)
{
    int mode = process_seccomp_mode();
    finding_tried(finding, "the mode in /proc/self/status");
    if (mode < 0) {
        finding_result(finding, FINDING_INFORMATION, "unknown: /proc/self/status does not tell");
        return;
    }
    finding_result(finding, FINDING_INFORMATION, "%s",
                   mode == 0   ? "none"
                   : mode == 2 ? "a filter is in force"
                               : "strict mode");
    finding_meaning(finding, mode == 0 ? "no system call is filtered"
                                       : "system calls may be refused on behalf of a container or "
                                         "service; whether ours are is said above");
}

void probe_descriptors(struct finding *finding)
{
    /* The runtime keeps to the upper half of what it may use of the first 4096 descriptors
     * (runtime/interposition/descriptors.h), and takes a clock and four watchpoints for each
     * thread. */
    enum { DESCRIPTORS_USED_MAX = 4096, DESCRIPTORS_PER_THREAD = 5, THREADS_COMFORTABLE = 64 };
    struct rlimit limit;
    finding_tried(finding, "getrlimit(RLIMIT_NOFILE)");
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        finding_result(finding, FINDING_INFORMATION, "unknown: %s", strerror(errno));
        return;
    }
    unsigned long soft = limit.rlim_cur, hard = limit.rlim_max;
    unsigned long usable = soft < DESCRIPTORS_USED_MAX ? soft : DESCRIPTORS_USED_MAX;
    unsigned long threads = usable / 2 / DESCRIPTORS_PER_THREAD;
    finding_result(finding, threads >= THREADS_COMFORTABLE ? FINDING_WORKS : FINDING_LIMITED,
                   "at most %lu (can be raised to %lu without privileges)", soft, hard);
    finding_meaning(finding,
                    "enough to profile about %lu threads at a time; more would run unprofiled",
                    threads);
    if (soft < DESCRIPTORS_USED_MAX && hard > soft)
        finding_remedy(finding, "ulimit -n %lu",
                       hard < DESCRIPTORS_USED_MAX ? hard : (unsigned long)DESCRIPTORS_USED_MAX);
}

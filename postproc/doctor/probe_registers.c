/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The debug registers: how many can be armed, whether one traps, at what cost, and whether one
 * event arms it in all threads. The watchpoints are used as the runtime uses them: the handler
 * disarms, because on Arm the trap comes before the access and would repeat for ever.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "doctor/perf.h"
#include "doctor/probe.h"
#include "launcher/process_status.h"

enum { REGISTERS_MAX = 32 };
#if defined(__x86_64__)
enum { REGISTERS_USUAL = 4 }; /* DR0-DR3, on every x86 processor */
#else
enum { REGISTERS_USUAL = 2 }; /* the least that Armv8 permits; 4 are common */
#endif

static uint64_t words[REGISTERS_MAX] __attribute__((aligned(64)));

static void explain_taken(struct finding *finding)
{
    uint64_t tracer;
    if (process_status_read("TracerPid", 10, &tracer) && tracer > 0)
        finding_remedy(finding,
                       "detach the debugger, process %llu, or delete its hardware "
                       "breakpoints and watchpoints",
                       (unsigned long long)tracer);
    else
        finding_remedy(finding, "end the debugger or profiler that holds them; find it with: sudo "
                                "ls -l /proc/*/fd | grep perf_event");
}

void probe_registers(struct finding *finding)
{
    struct perf_event_attr attributes;
    int count = 0, error = 0;

    finding_tried(finding, "arming watchpoints of 8 bytes in this thread until the kernel has no "
                           "register left");
    for (; count < REGISTERS_MAX; count++) {
        perf_watchpoint(&attributes, HW_BREAKPOINT_RW, &words[count]);
        attributes.disabled = 0;
        if (perf_open(&attributes) < 0) {
            error = errno;
            break;
        }
    }
    if (count == 0 && error != ENOSPC) {
        perf_explain(finding, error);
        if (error == EINVAL || error == E2BIG) {
            finding_meaning(finding,
                            "events cannot deliver SIGTRAP: the kernel is older than 5.13");
            finding_remedy(finding, "use a kernel from 5.13 on (Debian: 12 or newer)");
        } else if (error == ENOENT || error == EOPNOTSUPP || error == ENODEV) {
            finding_meaning(finding, "this machine or kernel has no hardware breakpoints: reuse "
                                     "after the end of a burst stays unknown");
        }
        return;
    }
    if (count >= REGISTERS_USUAL) {
        finding_result(finding, FINDING_WORKS, "%d", count);
        finding_meaning(finding,
                        "%d long reuses can be waited for at a time in each thread, if watchpoints "
                        "trap (see below)",
                        count);
        return;
    }
    finding_result(finding, count > 0 ? FINDING_LIMITED : FINDING_MISSING,
                   "%d; the processor has at least %d, the others are taken", count,
                   REGISTERS_USUAL);
    finding_meaning(finding, count > 0 ? "fewer long reuses are observed: wider intervals"
                                       : "reuse after the end of a burst stays unknown");
    explain_taken(finding);
}

/* Shared between the handler and its thread or threads; the handler only adds. */
static volatile sig_atomic_t traps, traps_elsewhere;
static volatile sig_atomic_t trap_event;
static pid_t main_thread;

static void count_trap(int signal, siginfo_t *information, void *context)
{
    (void)signal;
    (void)context;
    if (information->si_code != TRAP_CODE_PERF)
        return;
    ioctl(trap_event, PERF_EVENT_IOC_DISABLE, 0);
    if (gettid() == main_thread)
        traps = traps + 1;
    else
        traps_elsewhere = traps_elsewhere + 1;
}

static void store(uint64_t *word, uint64_t value)
{
    *(volatile uint64_t *)word = value;
}

void judge_traps(struct finding *finding, unsigned seen, unsigned stores, double cost_us)
{
    if (seen == stores) {
        finding_result(finding, FINDING_WORKS, "%u traps, %.1f us each", seen, cost_us);
        finding_meaning(finding, cost_us > 5 ? "slow, as in nested virtual machines; the budget "
                                               "keeps the overhead the same with fewer bursts"
                                             : "reuse after the end of a burst is observed");
        return;
    }
    finding_result(finding, seen > 0 ? FINDING_LIMITED : FINDING_MISSING, "%u traps", seen);
    if (seen > 0) {
        finding_meaning(finding, "some traps are lost: long reuses are underestimated");
        return;
    }
    finding_meaning(finding, "registers can be armed but never trap, as in virtual machines whose "
                             "hypervisor keeps the traps: reuses after a burst are not observed, "
                             "and sharing between threads is modelled");
    finding_remedy(finding, "count every access, with reuse-run -e exact; or profile on another "
                            "machine");
}

void probe_trap(struct finding *finding)
{
    enum { STORES = 1000 };
    struct perf_event_attr attributes;
    uint64_t start, without, with;

    finding_tried(finding, "%d stores to a watched word, re-armed before each", STORES);
    main_thread = gettid();
    perf_handle_traps(count_trap);
    perf_watchpoint(&attributes, HW_BREAKPOINT_W, &words[0]);
    int event = perf_open(&attributes);
    if (event < 0) {
        int error = errno;
        perf_explain(finding, error);
        if (error == ENOSPC) {
            finding_result(finding, FINDING_MISSING, "no debug register is free");
            explain_taken(finding);
        }
        return;
    }
    trap_event = event;
    start = perf_wall_ns();
    for (int i = 0; i < STORES; i++) {
        ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
        ioctl(event, PERF_EVENT_IOC_DISABLE, 0);
        store(&words[0], 0);
    }
    without = perf_wall_ns() - start;
    start = perf_wall_ns();
    for (int i = 0; i < STORES; i++) {
        ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
        store(&words[0], (uint64_t)i);
    }
    with = perf_wall_ns() - start;
    close(event);

    /* The handler's own disarming stands where the first loop's did. */
    judge_traps(finding, (unsigned)traps, STORES,
                with > without ? (double)(with - without) / STORES / 1000 : 0);
}

/* One step of the conversation between the main thread and the one it starts. */
static pthread_barrier_t step;

static void *store_twice(void *argument)
{
    (void)argument;
    pthread_barrier_wait(&step);
    store(&words[0], 1);
    pthread_barrier_wait(&step);
    pthread_barrier_wait(&step);
    store(&words[8], 1);
    return NULL;
}

void probe_inherited(struct finding *finding)
{
    struct perf_event_attr attributes;
    pthread_t thread;

    finding_tried(finding, "one inherited watchpoint, a store by a thread started later, then the "
                           "same event moved to another word by one ioctl and a second store");
    main_thread = gettid();
    perf_handle_traps(count_trap);
    perf_watchpoint(&attributes, HW_BREAKPOINT_W, &words[0]);
    attributes.inherit = 1;
    attributes.inherit_thread = 1;
    int event = perf_open(&attributes);
    if (event < 0) {
        int error = errno;
        perf_explain(finding, error);
        if (error == ENOSPC) {
            finding_result(finding, FINDING_MISSING, "no debug register is free");
            explain_taken(finding);
        }
        return;
    }
    trap_event = event;
    pthread_barrier_init(&step, NULL, 2);
    int error = pthread_create(&thread, NULL, store_twice, NULL);
    if (error) {
        finding_result(finding, FINDING_MISSING, "no thread could be started: %s", strerror(error));
        return;
    }
    ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
    pthread_barrier_wait(&step);
    pthread_barrier_wait(&step);
    int first = traps_elsewhere;
    attributes.bp_addr = (uintptr_t)&words[8];
    attributes.disabled = 0;
    bool moved = ioctl(event, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attributes) == 0;
    ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
    pthread_barrier_wait(&step);
    pthread_join(thread, NULL);
    int second = traps_elsewhere - first;
    close(event);

    bool both = first == 1 && second == 1 && moved;
    finding_result(finding,
                   both    ? FINDING_WORKS
                   : first ? FINDING_LIMITED
                           : FINDING_MISSING,
                   "the thread's store %s; after the move it %s",
                   first ? "trapped" : "did not trap", second ? "trapped" : "did not trap");
    finding_meaning(finding, both ? "stores of other threads that invalidate a line are observed"
                                  : "sharing between threads is modelled, not observed");
}

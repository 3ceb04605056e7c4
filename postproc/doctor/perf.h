/* SPDX-License-Identifier: BSD-3-Clause */
/* perf_event_open for probes, and what its refusals mean. */
#ifndef REUSE_DOCTOR_PERF_H
#define REUSE_DOCTOR_PERF_H

#include <linux/perf_event.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "doctor/finding.h"

enum {
    PERF_PARANOID_ABSENT = -100, /* the kernel has no performance events */
    TRAP_CODE_PERF = 6,          /* siginfo_t.si_code of an event's SIGTRAP (TRAP_PERF) */
};

/* An event of this thread in user space, disabled, that would not outlive exec. */
void perf_attributes(struct perf_event_attr *, uint32_t type, uint64_t config);

/* As perf_attributes, a watchpoint of 8 bytes that delivers SIGTRAP. type: HW_BREAKPOINT_W or _RW
 */
void perf_watchpoint(struct perf_event_attr *, uint32_t type, const void *address);

/* Opens for the calling thread on any CPU. Returns a descriptor, or -1 with errno. */
int perf_open(struct perf_event_attr *);
/* The same in the group of a leader; -1: in none. */
int perf_open_in_group(struct perf_event_attr *, int leader);

/* Installs a handler for SIGTRAP. */
void perf_handle_traps(void (*handler)(int, siginfo_t *, void *));

/* Value of kernel.perf_event_paranoid, or PERF_PARANOID_ABSENT. */
int perf_paranoid(void);

/* Whether this process may pass over kernel.perf_event_paranoid (CAP_PERFMON or CAP_SYS_ADMIN). */
int perf_is_privileged(void);

/*
 * Fills in result, meaning and remedy of a finding whose perf_event_open was refused with `error`
 * for a reason that concerns all events: ENOSYS, EPERM, EACCES, EMFILE. For other errors it names
 * the error and leaves meaning and remedy to the caller.
 */
void perf_explain(struct finding *, int error);

/* The number that a file of one line begins with; false if there is none. */
bool perf_read_number(const char *path, long *number);

/* CPU time of the calling thread, and monotonic time, in ns. */
uint64_t perf_cpu_ns(void);
uint64_t perf_wall_ns(void);

#endif

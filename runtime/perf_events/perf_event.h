/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * perf_event_open as a mechanism: per-thread CPU clocks that expire with a signal, and debug
 * registers and breakpoints that trap with one. Knows nothing of samples. All functions are
 * signal-safe and keep errno.
 *
 * All of them deliver SIGTRAP synchronously (attr.sigtrap), si_code TRAP_PERF, with a cookie.
 */
#ifndef REUSE_RUNTIME_PERF_EVENT_H
#define REUSE_RUNTIME_PERF_EVENT_H

#include <stdbool.h>
#include <stdint.h>

enum event_kind {
    EVENT_CLOCK = 1,
    EVENT_WATCH = 2,
    EVENT_SHARED_WATCH = 3,
    EVENT_CALIBRATION = 4,
    EVENT_STEP = 5,
    EVENT_TRIAL = 6
};

/*
 * What a signal brings back: which of our events, which slot, and which use of the slot (a trap may
 * arrive after its slot was given to another watch).
 */
struct event_cookie {
    enum event_kind kind;
    unsigned slot;       /* 0..15 */
    uint32_t generation; /* 24 bits */
};

uint64_t event_cookie_pack(struct event_cookie);
bool event_cookie_unpack(uint64_t data, struct event_cookie *);

/*
 * CPU clock of the calling thread; expires every period_ns of its CPU time, counted in user and
 * kernel mode, but signals only in user mode. Returns a descriptor or -errno. Starts disabled.
 */
int perf_clock_open(uint64_t period_ns, uint64_t cookie);

/* New period, counted from now. 0 or -errno. */
int perf_clock_set_period(const int *descriptor, uint64_t period_ns);

enum watch_access { WATCH_LOADS_AND_STORES, WATCH_STORES };

/*
 * Reserves a debug register of the calling thread, disarmed; inherited: one in it and in every
 * thread that will be created from it, controlled together. Returns a descriptor or -errno (ENOSPC:
 * none left).
 */
int perf_watch_open(bool inherited);

/* Arms (again): length 1, 2, 4 or 8, address aligned to it. 0 or -errno. */
int perf_watch_arm(const int *descriptor, uint64_t address, unsigned length, enum watch_access,
                   uint64_t cookie, bool inherited);

/* Reserves an execute breakpoint of the calling thread, disarmed. A descriptor or -errno. */
int perf_breakpoint_open(void);

/* Arms: traps before the instruction at address is executed. 0 or -errno. */
int perf_breakpoint_arm(const int *descriptor, uint64_t address, uint64_t cookie);

/* Of the clocks, watches and breakpoints above. Descriptors are given by the place that holds them
 * (descriptors.h). */
int perf_event_enable(const int *descriptor);
int perf_event_disable(const int *descriptor);

/* Enables it until it has expired once: then it is disabled. From KERNEL_SIGTRAP_ONCE on. */
int perf_event_enable_once(const int *descriptor);

/* For other events: perf_event_open(2) in the calling thread, with that leader or -1, and ioctl(2)
 * on what it gave; -errno if refused. On the tape (tape.h), as is all above. */
struct perf_event_attr;
int perf_event_open(const struct perf_event_attr *, int group);
int perf_event_control(const int *descriptor, unsigned long request, void *argument);

#endif

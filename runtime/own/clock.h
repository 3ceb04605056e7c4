/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REUSE_RUNTIME_OWN_CLOCK_H
#define REUSE_RUNTIME_OWN_CLOCK_H

#include <stdbool.h>

/* Once at start-up: finds the kernel's own code for reading clocks (vdso(7)). Until then, and where
 * there is none, clock_gettime() and sched_getcpu() are system calls. Not signal-safe. */
void clock_begin(void);

/* From now on clocks are read by system calls: the processor's time stamp counter, which the
 * kernel's code reads, is to raise SIGSEGV (PR_SET_TSC). */
void clock_avoid_counter(void);

/* Whether that counter may be read. Signal-safe. */
bool clock_has_counter(void);

#endif

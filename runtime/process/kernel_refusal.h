/* SPDX-License-Identifier: BSD-3-Clause */
/* What a kernel refuses or does at start-up that leaves the program unprofiled: one line each, with
 * what would change it. */
#ifndef REUSE_RUNTIME_KERNEL_REFUSAL_H
#define REUSE_RUNTIME_KERNEL_REFUSAL_H

#include <stdbool.h>

/* Why perf refused the CPU clock (errno), and what would change it. */
void kernel_tell_refusal(int error);

/* Whether a seccomp filter that the program was started with kills for calls that are ours alone;
 * then the line is said. To be asked before the first of them. */
bool kernel_filter_kills(void);

/* Whether the kernel kills a program that has an event's signal blocked; then the line is said. */
bool kernel_kills_blocked(void);

/* Whether an event can be made to end with its first signal. */
bool kernel_ends_events(void);

#endif

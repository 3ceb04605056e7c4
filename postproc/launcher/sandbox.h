/* SPDX-License-Identifier: BSD-3-Clause */
/* Recognises sandboxes in which profiling would kill the program. */
#ifndef REUSE_LAUNCHER_SANDBOX_H
#define REUSE_LAUNCHER_SANDBOX_H

#include <stdbool.h>

/*
 * Whether a seccomp filter kills a process that calls perf_event_open; found out by a child that
 * tries. The runtime itself cannot find out and live. A filter that merely refuses is no obstacle:
 * the runtime says so and lets the program run on.
 */
bool sandbox_kills_events(void);

#endif

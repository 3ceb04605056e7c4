/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REUSE_RUNTIME_PRELOAD_H
#define REUSE_RUNTIME_PRELOAD_H

/*
 * Takes this library out of LD_PRELOAD in the process's environment, so that programs that are
 * started from here run without it, whoever starts them; other libraries stay. Once at start-up.
 */
void preload_leave(void);

/* The same for a sanitizer's library that reuse-run has put before this one, for this program. */
void preload_leave_sanitizer(void);

#endif

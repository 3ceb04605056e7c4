/* SPDX-License-Identifier: BSD-3-Clause */
/* Start, end, fork and exec of the profiled process. */
#ifndef REUSE_RUNTIME_PROCESS_H
#define REUSE_RUNTIME_PROCESS_H

#include <stdbool.h>

/*
 * True in the process that the runtime's state describes. False before the runtime has started,
 * when it could not, and in children that share or copy our memory without having forked through
 * the C library (vfork, clone): they must not touch the parent's profile. Signal-safe.
 */
bool process_is_ours(void);

/*
 * Begins the profile; only the first call counts. By the loader, or before the first thread if a
 * constructor of another library's creates one earlier.
 */
void process_start(void) __attribute__((constructor));

/*
 * The profile of this process has ended, or it has none: what was kept for the target is the
 * kernel's from now on. Signal-safe.
 */
bool process_has_ended(void);

/* Finds out what triggers samples and counts. Its settings and what it asks of the machine are
 * taped (tape.h), so that a replay begins by it as well. */
void process_begin_engine(void);

/* Writes to a new file what is to be said of the engine. Signal-safe. */
void process_announce(void);

/* The target takes the number of the profile, which gets another, or not yet: to be tried until it
 * is not ours. Thread-safe. */
void process_move_profile(int from);

/* What must reach the file before the program may be replaced; it goes on if exec fails. */
void process_before_exec(void);

/* The target puts itself into a sandbox, or (what) makes system calls impossible for us otherwise:
 * the profile ends here, while we may still write it. With one thread, signals are the target's. */
void process_before_sandbox(const char *what);

/* The target lets itself be traced: the profile ends, signals and environment are the target's. */
void process_before_tracing(void);

/* A SIGTRAP of the target's waits for a signalfd, which the kernel fills: the profile ends here.
 * Signal-safe. */
void process_before_signalfd(void);

/* The target closes the stream of its standard error, and goes on: the closing line cannot be said,
 * where the profile is can. Once. */
void process_before_stderr_closes(void);

/* Ends the profile: last records, closing line. Only the first call counts. */
void process_finish(void);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known so far, written without ending the run: on a signal, or as time passes.
 *
 * A profile can be read at any time; it lacks what is buffered (0.1 s of activity, longer while the
 * process sleeps) and what is otherwise written seldom or at the end. A snapshot writes these:
 * times of the threads, totals of allocation sites, mappings, hardware counts; and empties the
 * buffer.
 *
 * A signal is served at once, in the thread that it reaches. By time, a snapshot is taken in the
 * next handler that is due, so that no system call of the target is interrupted: a process that
 * sleeps has nothing new to tell. Those by time are held back so that all snapshots together stay
 * below a quarter of the profile; the buffer is emptied even so.
 *
 * A target that handles the signal itself keeps it; a line says so. Signal-safe, but for
 * snapshot_begin().
 */
#ifndef REUSE_RUNTIME_SNAPSHOT_H
#define REUSE_RUNTIME_SNAPSHOT_H

#include <signal.h>
#include <stdbool.h>

/* Once at start-up, after the profile has been opened or put off: takes the signal, if one was
 * asked for and nobody handles it. */
void snapshot_begin(void);

/* In a handler, on its stack: takes one if it is time. */
void snapshot_if_due(void);

/* Whether the target's disposition of this signal is kept here. */
bool snapshot_is_signal(int signal);

/* sigaction(2) for that signal, as the target calls it: its default is our handler. */
int snapshot_sigaction(int signal, const struct sigaction *action, struct sigaction *old);

/* In a forked child that is followed: it has a profile of its own. */
void snapshot_after_fork(void);

#endif

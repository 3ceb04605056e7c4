/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes what the consumers have counted into the profile file (output_profile.h). Everything is
 * written again, with higher counts, from time to time: a guest that is killed leaves a readable
 * profile.
 */
#ifndef REUSE_EXACT_OUTPUT_H
#define REUSE_EXACT_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "settings.h"
#include "stream.h"

/* Once, before the guest starts; the settings must outlive the run. */
void output_start(const struct settings *);

/* From stream_after_batch: writes when it is time to. */
void output_when_due(struct guest_thread *);

/* Writes everything now. All buffers must have been drained by those who may. */
void output_snapshot(void);

/* The guest becomes another program: what it was is over. A forked child that has not written yet,
 * as between fork and exec, writes nothing. */
void output_before_exec(void);

/* The run is over: the last snapshot, the end record and the closing line. */
void output_finish(int exit_status);

/*
 * QEMU is about to die of a signal with which the guest ends; the caller is one of its threads, the
 * others may run. What is in their buffers is lost.
 */
void output_killed(int number);

/* One line for the user, in the profile and on stderr (unless quiet). */
void output_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* In a forked child: a profile of its own if `go_on`, else none. */
void output_after_fork(bool go_on);

#endif

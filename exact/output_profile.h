/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The profile file that a process writes to, and who may write: one writing at a time, between
 * output_begin() and output_end(). The guest shares our descriptors and may close or reuse any
 * number, so the file is opened for each writing and closed after it. Internal to output.c.
 *
 * Any thread may write; one that holds a guest thread's lock as well has taken that before. What
 * goes wrong is said once, and then nothing is written any more.
 */
#ifndef REUSE_EXACT_OUTPUT_PROFILE_H
#define REUSE_EXACT_OUTPUT_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/writer.h"
#include "settings.h"

/* Once, before the guest starts; the settings must outlive the run. Creates no file yet. */
void output_profile_start(const struct settings *);

/*
 * Begins a writing: creates the file, with what is known from the start, or opens it again. Blocks
 * while another thread writes. The writer is valid until output_end(); NULL, and nothing to end,
 * when there is no file to write to.
 */
struct profile_writer *output_begin(void);
void output_end(void);

/* Within a writing. text: what follows the fixed part, or NULL. */
void output_append(enum record_type, const void *fixed, size_t size, const char *text);

/* In a forked child, with no other thread: the next writing begins a file of the child's own, or
 * none at all if silent. */
void output_profile_after_fork(bool silent);

/* CLOCK_MONOTONIC, ns: now, and when the run, or the forked child, began. */
uint64_t output_now_ns(void);
uint64_t output_start_ns(void);

/* Path of the file; NULL when writing it failed. */
const char *output_profile_path(void);
bool output_profile_is_created(void);  /* something was written */
bool output_profile_is_of_child(void); /* this process is a forked child */

#endif

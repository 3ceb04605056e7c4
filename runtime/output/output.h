/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The profile of this process: opens the file, writes what describes the run, and closes it.
 * Functions named output_record_* and output_append are signal-safe.
 */
#ifndef REUSE_RUNTIME_OUTPUT_H
#define REUSE_RUNTIME_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"
#include "profile/format.h"

/*
 * Decides the file's absolute path now (the target may change directory) and, if `eager`, opens it;
 * else it is opened with the first sample. False with a message to the user already given.
 */
bool output_begin(const struct options *, bool eager);

/* Expands %p, %h ... of a file's name. False after one line to the user that begins so. */
bool output_expand(const char *pattern, const char *complaint, char expanded[OPTIONS_OUTPUT_MAX]);

/* Opens the file though no sample was taken: the first process of a tree leaves one. */
void output_insist(void);

/* Appends one record; all signals must be blocked or the caller be a handler. */
bool output_append(enum record_type, const void *fixed, size_t size, const void *tail,
                   size_t tail_size);

/* One line for the user in the profile. */
void output_note(enum note_severity, const char *text);

/* The samples written so far. */
uint64_t output_samples(void);
void output_count_sample(void);

/* Bytes written so far. Signal-safe. */
uint64_t output_bytes(void);

/* Writes what is buffered: before exec, abort, a quick death. Signal-safe. */
void output_flush(void);

/* At the end of a handler: what is buffered is written, so that a process that goes idle now and is
 * killed then has lost nothing. Never waits for another thread. Signal-safe. */
void output_settle(void);

struct maps_entry;

/* Writes the process's mappings, those that `wanted` says (NULL: all). */
void output_mappings(bool (*wanted)(const struct maps_entry *));

/* Final records, closes the file. */
void output_finish(void);

/* After fork, in the child: forgets the parent's file; a new one is opened with the first sample.
 */
void output_reset_after_fork(void);

/* In a child that is not to be profiled. */
void output_forget(void);

/* The program is about to be replaced: the profile must be complete as it stands. */
void output_before_exec(void);

/* The profile's descriptor has a new number. False: the old one is being written to, or opened by
 * another thread; try again. */
bool output_move_descriptor(int from, int to);

/* Path of the file, or "" while none is open. */
const char *output_path(void);

/* The same for the files of all processes of the run, as a shell would find them. */
const char *output_all(void);

/* False when records no longer reach the file; the user has been told. */
bool output_usable(void);

#endif

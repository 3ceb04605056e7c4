/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The runtime's words to the user: single lines on the stderr that the target was started with.
 * Signal-safe: formats into a local buffer and writes once; never to a descriptor that the target
 * has since given to another file.
 */
#ifndef REUSE_RUNTIME_SAY_H
#define REUSE_RUNTIME_SAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A line under construction; silently cut at its end, and always ended by a null byte. */
struct line {
    char text[1024];
    size_t length;
};

void line_begin(struct line *);
void line_text(struct line *, const char *);
void line_number(struct line *, uint64_t);
/* value / 10^decimals with that many decimals: (1234, 2) is 12.34 */
void line_fixed(struct line *, uint64_t value, unsigned decimals);
/* Symbolic name of an errno value (EPERM), or its number. */
void line_error(struct line *, int error);

/* Remembers what stderr is; once at start-up. speaks: what holds for all processes of a parallel
 * job is said by this one (job.h). */
void say_begin(bool quiet, bool verbose, bool speaks);

/* Lines may come, and stderr is still what it was at start-up. */
bool say_needs_stderr(void);

/* Where the program has closed stderr, lines go to *descriptor, a copy of it; -1: there is none.
 * The holder is the caller's, and lives on. */
void say_to_copy(const int *descriptor);

/* The user has named this program to reuse-run, which has become it. */
bool say_is_named(void);

/* Prints "libreuse: TEXT". say() is dropped when quiet; say_error() only in programs that the
 * profiled one has started; say_verbose() needs -v. say() without -v, and say_for_job() are for
 * one process of a job: the latter is an error that all of them are likely to have. */
void say(const struct line *);
void say_error(const struct line *);
void say_for_job(const struct line *);
void say_verbose(const struct line *);

#endif

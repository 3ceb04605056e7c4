/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines for the user on the stderr that the program was started with. */
#ifndef REUSE_EXACT_SAY_H
#define REUSE_EXACT_SAY_H

/* Keeps a descriptor of stderr: many programs close theirs before they end. */
void say_start(void);

/* Whose name the lines have: "exact" unless another is given, which must last. */
void say_engine(const char *name);

/* "libreuse: ENGINE: " and the text, in one write. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* In a forked child: gives the descriptor up, for whoever waits for the end of a pipe. */
void say_after_fork(void);

#endif

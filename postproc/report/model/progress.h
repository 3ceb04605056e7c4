/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a long command is at: one line on the terminal that stderr is, from the first second on,
 * rewritten every half second and gone at the end. Nothing where stderr is no terminal.
 *
 * For the main thread only. Whatever else goes to stderr waits for progress_end().
 */
#ifndef REUSE_PROGRESS_H
#define REUSE_PROGRESS_H

/* The work begins. Without a thread to show it, it is done unseen. */
void progress_begin(void);

/* What is done from now on, as a participle ("reading profiles"); the text must live until the end.
 */
void progress_stage(const char *what);

/* Erases the line. Harmless if nothing was begun, or twice. */
void progress_end(void);

#endif

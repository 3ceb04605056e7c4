/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The file that a tape is written to (tape.h). A file that takes no more (disk full, limit of the
 * file size, input/output error) is told of once, and what comes then is dropped. One thread at a
 * time, with its signals blocked. Signal-safe but for creating.
 */
#ifndef REUSE_RUNTIME_TAPE_FILE_H
#define REUSE_RUNTIME_TAPE_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Creates the file, or empties it. 0 or errno. */
int tape_file_create(const char *path);

/* Adds to what is to be written; it is written when the buffer is full. */
void tape_file_put(const void *bytes, size_t size);

/* Writes what is buffered, if it is much. */
void tape_file_flush_much(void);
void tape_file_flush(void);

/* Whether it takes no more. */
bool tape_file_failed(void);

/* In a forked child: the file is the parent's. */
void tape_file_forget(void);

#endif

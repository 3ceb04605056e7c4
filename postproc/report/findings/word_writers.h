/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which threads write the words of an object that threads share, and so which cure there is: a
 * copy for each thread is one where several write a word, and none where each word has one writer.
 */
#ifndef REUSE_POSTPROC_WORD_WRITERS_H
#define REUSE_POSTPROC_WORD_WRITERS_H

#include "analysis/communication/communication.h"

enum word_use {
    WORDS_WRITTEN_BY_SEVERAL, /* counters, sums, locks */
    WORDS_POLLED,             /* on a few lines, by one thread each: indexes of queues, flags */
    WORDS_HANDED_OVER         /* by one thread each, over many lines; or a few times in the run */
};

struct word_writers;

struct word_writers *word_writers_create(void);
void word_writers_free(struct word_writers *);

/* A flow of true sharing; all of one object. */
void word_writers_add(struct word_writers *, const struct flow *);

/* object_lines: that the object has, seen or not. */
enum word_use word_writers_use(const struct word_writers *, double object_lines);

#endif

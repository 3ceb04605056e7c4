/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that use one line at the same time and in no order, each for itself: what they do to the
 * line between two stores of one of them, if their accesses come at random (docs/communication.md,
 * "Lines that threads fight over"). Pure.
 */
#ifndef REUSE_ANALYSIS_CONTENTION_H
#define REUSE_ANALYSIS_CONTENTION_H

#include <stddef.h>

#include "estimate.h"

/* How often another thread uses the line, per ns. Loads of read-modify-write instructions are part
 * of their stores. */
struct line_user {
    double loads, stores;
};

/*
 * Per store of the owner, followed by its next store to the line a gap later: so long on average,
 * with an exponential distribution, as others keep it waiting. Two threads that store at rates a
 * and b so alternate 2 a b / (a + b) times per ns.
 */
struct gap_outcome {
    double ends;      /* another thread stores first, 0..1 */
    double transfers; /* the line moves at all, 0..1: others load or store */
};

struct gap_outcome contention_gap(const struct line_user *others, size_t n, double gap_ns);
/* One of the others, by index: that it reads what the owner stored. A thread that loads and stores
 * is taken to load before it stores, as in x++. */
double contention_reads(const struct line_user *others, size_t n, size_t reader, double gap_ns);
/* ... and that the owner's next store takes the copy that it has read; */
double contention_taken(const struct line_user *others, size_t n, size_t reader, double gap_ns);
/* or that the store of another one of them takes it. 0 for a reader that stores itself. */
double contention_taken_by(const struct line_user *others, size_t n, size_t reader, size_t writer,
                           double gap_ns);
/* That the line moves, if threads take turns as strictly as their rates allow: most of all. */
double contention_most(const struct line_user *others, size_t n, double gap_ns);

/*
 * The part of the time in which the others use the line while the owner does, from watches that
 * would have shown each other thread with some probability, had it been there (sum of these:
 * `expected`), and `met` of which did. value 1 where nothing is expected; the interval is Wilson's,
 * 95 %.
 */
struct estimate contention_overlap(double met, double expected);

/*
 * How long a line takes from cache to cache, ns, one way: no line moves more often. Taken from one
 * virtual machine, where ping-pong took 25 to 45 ns or 220 ns, as its processors shared a cache or
 * not, and threads that counted in one word alternated every 32 or every 500 ns
 * (docs/communication.md): lo and hi are the ends of that, with some room below; value lies
 * between.
 */
extern const struct estimate line_transfer_ns;

#endif

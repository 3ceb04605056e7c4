/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loop heads seen while looking ahead. The one that was visited most names the loop that a burst
 * belongs to.
 *
 * Fed by the interpreter's backward-branch hook. Pure; no allocation; signal-safe.
 */
#ifndef REUSE_SAMPLING_LOOPS_H
#define REUSE_SAMPLING_LOOPS_H

#include <stdint.h>

enum { LOOPS_MAX = 32 };

struct loop_head {
    uint64_t ip;
    uint32_t visits;
};

struct loops {
    unsigned count;
    unsigned recent; /* most recently visited, tried first */
    struct loop_head heads[LOOPS_MAX];
};

void loops_begin(struct loops *);

/* A visit of the head at ip. A full table keeps the heads it has. */
void loops_visit(struct loops *, uint64_t ip);

/* The head that was visited most; 0: no backward branch was taken. */
uint64_t loops_hottest(const struct loops *);

#endif

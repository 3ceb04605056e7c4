/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mechanism of meetings (sampling/meetings.h): where no debug register can show what threads do
 * to each other's lines, bursts tell which lines they have in common. Signal-safe.
 */
#ifndef REUSE_RUNTIME_MEET_H
#define REUSE_RUNTIME_MEET_H

#include "memory/scratch.h"

/* The burst is written: writes which of its lines other threads use. Not while a tape is recorded
 * or replayed. */
void meet(const struct scratch *);

/* In the child of a fork, whose threads and profile are others. */
void meet_after_fork(void);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hardware events that count, over the whole process, what moves between the levels of the caches
 * (src/observe/pmu/level_counters.h): to be compared with what the samples predict. A few events,
 * opened once and inherited by every thread, read at the end; nothing happens on the signal path.
 * Where the machine has none, or the kernel refuses them, the profile says nothing of them.
 *
 * Not signal-safe but for level_counts_write(), level_counts_pause() and level_counts_forget().
 */
#ifndef REUSE_RUNTIME_LEVEL_COUNTS_H
#define REUSE_RUNTIME_LEVEL_COUNTS_H

#include <stdbool.h>

/* Tries the machine's events and starts those that open. Once at start-up, before other threads,
 * and in a forked child. */
void level_counts_begin(void);

/* Whether one of them could be opened. */
bool level_counts_are_made(void);

/* Appends what they counted so far to the profile: cumulative, the last record counts. */
void level_counts_write(void);

/* The target pauses counting, or goes on. */
void level_counts_pause(bool paused);

/* After fork, in the child: the descriptors are closed already. */
void level_counts_forget(void);

#endif

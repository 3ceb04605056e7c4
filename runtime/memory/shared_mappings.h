/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that the process shares with others (MAP_SHARED): what bursts touch of it goes into the
 * profile with the file that it is in, so that the report can tell the same line in several
 * processes. Mappings are looked for in /proc/self/maps, now and then: what comes is known within
 * half a second; the first one at once if it was made by mmap(), else within some seconds.
 * Signal-safe.
 */
#ifndef REUSE_RUNTIME_SHARED_MAPPINGS_H
#define REUSE_RUNTIME_SHARED_MAPPINGS_H

#include "memory/scratch.h"

/* Writes which lines of such memory the burst touches, after the burst itself. Not while a tape is
 * recorded or replayed. */
void shared_mappings_note(const struct scratch *);

/* In the child of a fork, whose profile is a file of its own. */
void shared_mappings_after_fork(void);

#endif

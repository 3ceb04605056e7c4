/* SPDX-License-Identifier: BSD-3-Clause */
/* What start, end and fork of the profiled process share. Signal-safe but for the two beginnings.
 */
#ifndef REUSE_RUNTIME_PROCESS_INTERNAL_H
#define REUSE_RUNTIME_PROCESS_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "process/tree.h"

/* The process that is profiled; 0 while none is. Written at start-up, at the end, and by a forked
 * child. */
extern _Atomic pid_t process_pid;

/* Not the first process of its tree (tree.h): writes nothing without a sample, has no closing line.
 * Written at start-up and by a forked child. */
extern bool process_is_follower;

/* Hardware events were tried in vain, by this process or one that started it. Written at start-up.
 */
extern bool process_is_without_hardware;

/*
 * What this run is not told, or not by hardware events: what the first process of a tree says
 * beside its closing line. Not at its start, where the line would take the room in a pipe that the
 * program's own lines need.
 */
void process_tell_limits(void);

/* What the kernel had counted before this program began. Written at start-up and by a forked child,
 * whose counts begin with it. */
extern struct tree_former process_former;

/* Once at start-up. */
void process_end_begin(void);
void process_fork_begin(void);

/*
 * Calls the function on memory of our own, as handlers have it: exit, _exit and fork may be called
 * where little of the target's is left, on a coroutine's stack or in a handler on an alternate one.
 * For the one thread that ends the process, or the only one of a child; with signals blocked.
 */
void process_on_own_stack(void (*function)(void *unused));

#endif

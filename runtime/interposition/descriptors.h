/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The runtime's own file descriptors: kept out of the target's way, at high numbers, and protected
 * from a target that closes everything. Signal-safe and thread-safe; errno is kept.
 */
#ifndef REUSE_RUNTIME_DESCRIPTORS_H
#define REUSE_RUNTIME_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Descriptors that can be ours lie below this number: a larger table would cost every fork. */
enum { DESCRIPTOR_TABLE = 4096 };

/* Once at start-up: decides from RLIMIT_NOFILE where ours live. */
void descriptors_begin(void);

/*
 * Moves a fresh descriptor to our range and takes it over. Its new number is in *holder, or -errno
 * after closing the original (-EMFILE: the range is full), and is returned. A negative argument is
 * returned as it is.
 *
 * From then on *holder is the only place that knows the number: when the target wants the number
 * for itself, the descriptor gets another one and *holder is changed in the same moment, by
 * whichever thread that happens in. A copy of the number may name something else a moment later;
 * so it is passed on as a pointer. *holder lives until it is released or the process forks.
 */
int descriptor_adopt(int descriptor, int *holder);

/* Closes it; *holder is -1. Nothing is done where *holder is not a number of ours that was adopted
 * for it. */
void descriptor_release(int *holder);

/* read(2) of an event's count, or -1; again if its number changed before the call reached it. */
long descriptor_read(const int *holder, void *bytes, size_t size);

/* The same by pread(2), from byte `at` on: what a file of /proc says now. */
long descriptor_read_at(const int *holder, void *bytes, size_t size, uint64_t at);

/* As descriptor_adopt() for the profile's, whose number may only change while nothing is written;
 * see output_move_descriptor(). */
int descriptor_adopt_profile(int descriptor);
void descriptor_release_profile(int descriptor);

/* One of ours gets another number; false: it is the profile's. The limit (below) is held. */
bool descriptor_give_way(int descriptor);

/*
 * While it is held, RLIMIT_NOFILE is what the target has set it to, and no number becomes ours:
 * taking over a descriptor changes both for a moment. Held for a system call or a fork, with all
 * signals blocked.
 */
void descriptors_hold_limit(void);
void descriptors_let_limit_go(void);

/* Changes whenever RLIMIT_NOFILE becomes another one than the target's, and back; odd meanwhile. */
unsigned descriptors_limit_changes(void);

/* Whether the number lies where ours do: it may become one. */
bool descriptor_may_be_ours(int descriptor);

/* True while the number is one of ours. */
bool descriptor_is_ours(int descriptor);

/* The first of our numbers at or after `from`, or -1. */
int descriptor_next(int from);

/* After fork, in the child, with all signals blocked: closes the copies; the parent keeps its own.
 */
void descriptor_after_fork(void);

#endif

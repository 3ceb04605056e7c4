/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The runtime's own file descriptors: kept out of the target's way, at high numbers, and protected
 * from a target that closes everything. Signal-safe and thread-safe; errno is kept.
 */
#ifndef REUSE_RUNTIME_DESCRIPTORS_H
#define REUSE_RUNTIME_DESCRIPTORS_H

#include <stdbool.h>

/* Descriptors that can be ours lie below this number: a larger table would cost every fork. */
enum { DESCRIPTOR_TABLE = 4096 };

/* Once at start-up: decides from RLIMIT_NOFILE where ours live. */
void descriptors_begin(void);

/*
 * Moves a fresh descriptor to our range and takes it over. Returns its new number, or -errno after
 * closing the original (-EMFILE: the range is full). A negative argument is returned as it is.
 */
int descriptor_adopt(int descriptor);

/* Closes one of ours that is not the profile's. */
void descriptor_release(int descriptor);

/*
 * The same for the profile's, which nothing else closes: when the target wants one of our numbers,
 * its holder learns of the new number only after another thread may have been given the old one.
 * Who then closes the old one would end the profile.
 */
int descriptor_adopt_profile(int descriptor);
void descriptor_release_profile(int descriptor);

/* True while the number is the profile's. */
bool descriptor_is_profile(int descriptor);

/*
 * While it is held, RLIMIT_NOFILE is what the target has set it to, and no number becomes ours:
 * taking over a descriptor changes both for a moment. Held for a system call or a fork, with all
 * signals blocked.
 */
void descriptors_hold_limit(void);
void descriptors_let_limit_go(void);

/* Whether the number lies where ours do: it may become one. */
bool descriptor_may_be_ours(int descriptor);

/* True while the number is one of ours. */
bool descriptor_is_ours(int descriptor);

/* The first of our numbers at or after `from`, or -1. */
int descriptor_next(int from);

/* After fork, in the child: closes the copies; the parent keeps its own. */
void descriptor_after_fork(void);

#endif

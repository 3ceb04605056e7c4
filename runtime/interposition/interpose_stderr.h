/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs that close stderr when they end, as those of GNU do to learn whether all was written:
 * the closing line comes after that, and needs a copy. Where one closes the stream earlier, the
 * name of the profile is said before.
 */
#ifndef REUSE_RUNTIME_INTERPOSE_STDERR_H
#define REUSE_RUNTIME_INTERPOSE_STDERR_H

struct unwind_start;

/*
 * The program is about to close stderr, in a call from there. If exit() is under way, a copy is
 * kept for say.h. At any other time a copy would keep open what somebody may wait to be closed: the
 * reader of a pipe, behind a daemon that has let it go.
 */
void stderr_before_close(const struct unwind_start *caller);

/* In the child, which has no copy. */
void stderr_after_fork(void);

#endif

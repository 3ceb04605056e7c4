/* SPDX-License-Identifier: BSD-3-Clause */
/* Repeating a recorded run (tape.h) through the same code, into a new profile. */
#ifndef REUSE_RUNTIME_REPLAY_H
#define REUSE_RUNTIME_REPLAY_H

/* Ends the process: status 0, or 1 where the tape cannot be read or the code has come to ask for
 * something else than is on it; one line tells. Not signal-safe; before any thread is started. */
__attribute__((noreturn)) void replay_run(const char *path);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* A recorded run as a whole (tape.h): its beginning, and repeating it through the same code, into a
 * new profile. Not signal-safe. */
#ifndef REUSE_RUNTIME_REPLAY_H
#define REUSE_RUNTIME_REPLAY_H

#include <stdbool.h>

/*
 * Starts the recording that the user asks for, with its first section: tape_end() must follow when
 * the engine has begun. False: none is asked for, or it cannot be made; the user knows.
 */
bool replay_begin_recording(void);

/* Ends the process: status 0, or 1 where the tape cannot be read or the code has come to ask for
 * something else than is on it; one line tells. Before any thread is started. */
__attribute__((noreturn)) void replay_run(const char *path);

#endif

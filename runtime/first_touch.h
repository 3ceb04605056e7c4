/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which words are touched for the first time in a stretch of accesses? A bit per hashed word: may
 * take a new word for an old one, never an old word for a new one. One for the process, borrowed by
 * one thread at a time. Signal-safe.
 */
#ifndef REUSE_RUNTIME_FIRST_TOUCH_H
#define REUSE_RUNTIME_FIRST_TOUCH_H

#include <stdbool.h>
#include <stdint.h>

#include "access.h"

/* False when another thread has it. The filter is empty. */
bool first_touch_begin(void);
void first_touch_end(void);

/* Notes all 8-byte words of the access; true if the first of them was certainly not noted before.
 */
bool first_touch(const struct access *);

void first_touch_reset_after_fork(void);

#endif

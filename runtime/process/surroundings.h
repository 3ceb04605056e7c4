/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REUSE_RUNTIME_SURROUNDINGS_H
#define REUSE_RUNTIME_SURROUNDINGS_H

#include <stdbool.h>

/*
 * Why nothing can be sampled in what this process runs in: a debugger or a tool that takes SIGTRAP,
 * or the processor's debug registers, for its own. One line for the user, or NULL. Signal-safe.
 */
const char *surroundings_refusal(void);

/*
 * Why the program had better not share its address space, as far as limits (ulimit -v, -d) leave it
 * any: it shall have nine tenths of it. One line for the user, or NULL. Signal-safe.
 */
const char *surroundings_want_of_room(void);

/* QEMU translates the program's instructions. Told by its processors, on x86_64 only. */
bool surroundings_are_emulated(void);

/* Address space that profiling takes. */
enum { SURROUNDINGS_OURS_BYTES = 96 * 1000 * 1000 };

#endif

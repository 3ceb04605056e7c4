/* SPDX-License-Identifier: BSD-3-Clause */
/* How often this library itself has read and written, each thread for itself: the kernel counts it
 * among the program's. Signal-safe. */
#ifndef REUSE_RUNTIME_OWN_CALLS_H
#define REUSE_RUNTIME_OWN_CALLS_H

#include <stdint.h>

struct own_calls {
    uint64_t reads, writes;
};

/* The calling thread makes a system call of that number. */
void own_calls_note(long number);

/* Of the calling thread, so far. */
struct own_calls own_calls_now(void);

#endif

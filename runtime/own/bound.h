/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REUSE_RUNTIME_OWN_BOUND_H
#define REUSE_RUNTIME_OWN_BOUND_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Once at start-up, before any function of bound.c's list is called: binds them, but for the
 * decoder's. Returns NULL, or the name of the library or function that is missing. Not signal-safe.
 */
const char *bound_begin(void);

/* Maps the decoder, for a process whose files may not be to be found when it is bound. False when
 * it is not where it was. Not in two threads. Signal-safe. */
bool bound_map_decoder(void);

/* Before any function of the decoder is called: binds those, once. Not in two threads. False when
 * it is not where it was at start-up, or is another. Signal-safe. */
bool bound_decoder(void);

/* The C library's own function of that name, whoever else defines one; NULL when there is none. */
void *bound_of_c_library(const char *name);

/* The address lies in the code of the C library's function of that name. False where its tables
 * were not found. Signal-safe. */
bool bound_covers(const char *name, uint64_t address);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef REUSE_RUNTIME_OWN_BOUND_H
#define REUSE_RUNTIME_OWN_BOUND_H

/*
 * Once at start-up, before any function of bound.c's list is called: binds them all. Returns NULL,
 * or the name of the library or function that is missing. Not signal-safe.
 */
const char *bound_begin(void);

/* The C library's own function of that name, whoever else defines one; NULL when there is none. */
void *bound_of_c_library(const char *name);

#endif

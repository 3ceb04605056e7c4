/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The environment that a target gets: the caller's, some variables replaced or added. The caller's
 * own environment is never changed.
 */
#ifndef REUSE_LAUNCHER_ENVIRONMENT_H
#define REUSE_LAUNCHER_ENVIRONMENT_H

#include <stddef.h>

struct environment {
    char **entries; /* NULL-terminated; the array and the strings are the environment's own */
    size_t count;
};

/* Starts as a copy of `original` (as environ). Returns 0, or -1 without memory. */
int environment_begin(struct environment *, char *const *original);
void environment_end(struct environment *);

/* Sets a variable, replacing every earlier setting of it. Returns 0, or -1 without memory. */
int environment_set(struct environment *, const char *name, const char *value);

/* The value of a variable, or NULL. Valid until the variable is set again. */
const char *environment_get(const struct environment *, const char *name);

/*
 * Puts a library at the head of LD_PRELOAD, unless it is in it already. Returns 0, or -1 without
 * memory.
 */
int environment_preload(struct environment *, const char *library);

#endif

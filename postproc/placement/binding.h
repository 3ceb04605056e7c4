/* SPDX-License-Identifier: BSD-3-Clause */
/* A mapping as text to paste: environment variables and commands that bind threads. */
#ifndef REUSE_PLACEMENT_BINDING_H
#define REUSE_PLACEMENT_BINDING_H

#include <stdbool.h>
#include <stddef.h>

/* Which OpenMP runtime the program has: its threads can be bound one by one without help. */
enum openmp_runtime { OPENMP_NONE, OPENMP_GNU, OPENMP_OTHER };

struct binding {
    const char *tool;  /* "OMP_PLACES", "taskset" ... */
    char *text;        /* to paste, without a line end; the caller frees it */
    const char *binds; /* what it does: "each thread", "the process" ... */
};

enum { BINDINGS_MAX = 8 };

/*
 * cpus: one for each thread that has a place, in order of creation. Fills in at most BINDINGS_MAX
 * and returns their number. The variables of OpenMP are given only for programs that use it, and
 * only if every thread from the first on has a place (all_placed): they bind by position.
 */
size_t binding_list(const unsigned *cpus, size_t count, enum openmp_runtime, bool all_placed,
                    struct binding list[BINDINGS_MAX]);
void binding_list_free(struct binding *list, size_t count);

#endif

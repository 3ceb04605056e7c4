/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calling paths of a burst: at each access the number of the path on which it is made. Zero
 * before the first use; used by one thread at a time. Signal-safe.
 */
#ifndef REUSE_RUNTIME_PATHS_H
#define REUSE_RUNTIME_PATHS_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "sampling/call_path.h"

enum { PATHS_REMEMBERED = 512 };

struct paths {
    struct call_path calls;
    uint64_t above[CALL_PATH_FRAMES]; /* the interruption's frames */
    size_t above_count;
    bool sought; /* `current` is that of where calls are */
    uint32_t current;
    /* Of this burst and earlier ones: a hash has one path in the whole process. */
    struct remembered_path {
        uint64_t hash;
        uint32_t number; /* 0: none */
    } remembered[PATHS_REMEMBERED];
};

/* Unwinds. */
void paths_begin(struct paths *, ucontext_t *);

/* Back to the interruption. */
void paths_rewind(struct paths *);

/* Number of the path (attribution_path()) at the access; by ascending indexes. */
uint32_t paths_at(struct paths *, uint32_t index);

#endif

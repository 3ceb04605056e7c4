/* SPDX-License-Identifier: BSD-3-Clause */
/* The description of this run, as the pairs of RECORD_RUN. Signal-safe. */
#ifndef REUSE_RUNTIME_RUN_RECORD_H
#define REUSE_RUNTIME_RUN_RECORD_H

#include <stddef.h>
#include <stdint.h>

enum { RUN_TEXT_MAX = 24 * 1024 };

struct run_text {
    size_t length;
    char bytes[RUN_TEXT_MAX]; /* key NUL value NUL ... */
};

/* started_ns: CLOCK_MONOTONIC at the start of the run. */
void run_record_make(struct run_text *, uint64_t started_ns);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* /proc/self/maps, without stdio and without allocation. Signal-safe. */
#ifndef REUSE_RUNTIME_MAPS_H
#define REUSE_RUNTIME_MAPS_H

#include <stdbool.h>
#include <stdint.h>

struct maps_entry {
    uint64_t start, end, offset;
    bool readable, writable, executable, shared;
    uint64_t device; /* major << 32 | minor */
    uint64_t inode;
    const char *path; /* "" anonymous; "[heap]", "[stack]" ...; valid during the call only */
};

/* Calls visit for each mapping until it returns false. 0 or -errno. */
int maps_each(bool (*visit)(void *context, const struct maps_entry *), void *context);

#endif

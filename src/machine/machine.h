/* SPDX-License-Identifier: BSD-3-Clause */
/* Caches of a machine: the run's, this host's (hwloc), a described or a built-in one. */
#ifndef REUSE_MACHINE_MACHINE_H
#define REUSE_MACHINE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/reader.h"

enum { MACHINE_LEVELS_MAX = 8 };

struct machine_cache {
    unsigned level;        /* 1 = nearest the core */
    uint64_t bytes;
    uint32_t line_size;    /* bytes */
    uint32_t ways;         /* 0 unknown */
    uint32_t sharing_cpus; /* CPUs that share one such cache; 1 = private */
};

struct machine {
    char name[64];
    size_t levels;
    struct machine_cache caches[MACHINE_LEVELS_MAX]; /* data and unified, inner to outer */
};

/* The machine of the run, from the profile's RECORD_CACHE; false if the profile has none. */
bool machine_of_profile(const struct profile *, struct machine *);

/* This host, through hwloc. False, with one line in message, on failure. */
bool machine_of_host(struct machine *, char *message, size_t message_size);

/*
 * By name (built-in: a64fx, host) or from a description file (`name = ...`, `cache = level bytes
 * line ways sharing` lines; docs/machines.md). Geometry is checked: positive sizes, powers of two for
 * lines, sizes increasing outwards, ways dividing the lines. False with one line in message.
 */
bool machine_find(const char *name_or_file, struct machine *, char *message, size_t message_size);

#endif

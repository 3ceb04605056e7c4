/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Caches of a machine: the run's, this host's (hwloc), a described or a built-in one.
 *
 * machine_of_profile(), machine_check() and machine_read() are in the core library. The functions
 * that ask hwloc are in libreuse-host.la, which only tools link: a preloaded library must not bring
 * hwloc into the target.
 */
#ifndef REUSE_MACHINE_MACHINE_H
#define REUSE_MACHINE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/reader.h"

enum { MACHINE_LEVELS_MAX = 8 };

struct machine_cache {
    unsigned level; /* 1 = nearest the core */
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

/* The machine of the run, from the profile's RECORD_CACHE; false if the profile has none that make
 * sense. Of a merged profile: the machine of its first origin. */
bool machine_of_profile(const struct profile *, struct machine *);

/* This host, through hwloc. False, with one line in message, on failure. */
bool machine_of_host(struct machine *, char *message, size_t message_size);

/*
 * Reads a description file (docs/machines.md): `name = TEXT` and `cache = LEVEL BYTES LINE WAYS
 * SHARING` lines. The geometry is checked. False with one line in message that names file, line and
 * cause.
 */
bool machine_read(const char *path, struct machine *, char *message, size_t message_size);

/* The A64FX: one core's view of its L1 data cache and of its core memory group's L2. */
void machine_a64fx(struct machine *);

/*
 * Is the geometry possible? Positive sizes, lines powers of two (16 .. 4096 bytes), whole lines,
 * ways that divide the lines, levels and sizes that grow outwards. False with the cause in message.
 */
bool machine_check(const struct machine *, char *message, size_t message_size);

/* By name (built-in: a64fx, host) or from a description file. False with one line in message. */
bool machine_find(const char *name_or_file, struct machine *, char *message, size_t message_size);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Caches of a machine: the run's, this host's (hwloc), a described or a built-in one.
 *
 * machine_of_profile(), machine_check() and machine_read() are in the core library. The functions
 * that ask hwloc, and the built-in descriptions, are in libreuse-host.la, which only tools link: a
 * preloaded library must not bring hwloc into the target.
 */
#ifndef REUSE_MACHINE_MACHINE_H
#define REUSE_MACHINE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "profile/reader.h"

enum { MACHINE_LEVELS_MAX = 8 };

enum cache_content {
    CACHE_CONTENT_UNKNOWN = 0,
    CACHE_CONTENT_INCLUSIVE, /* holds what the level inside it holds, and more */
    CACHE_CONTENT_VICTIM,    /* holds what the level inside it evicted */
};

/* What a level can deliver, in GB/s (10^9 bytes); 0: not known. */
struct machine_bandwidth {
    double core;  /* to one core */
    double group; /* to all cores that share one such cache; memory: of a NUMA domain */
};

struct machine_cache {
    unsigned level; /* 1 = nearest the core */
    uint64_t bytes;
    uint32_t line_size;    /* bytes */
    uint32_t ways;         /* 0 unknown */
    uint32_t sharing_cpus; /* CPUs that share one such cache; 1 = private */
    enum cache_content content;
    uint32_t sector_ways; /* ways that a sector cache can divide; 0: it has none */
    struct machine_bandwidth bandwidth;
    double latency_ns; /* from a load that hits here to its use; 0: not known */
};

struct machine {
    char name[64];
    size_t levels;
    struct machine_cache caches[MACHINE_LEVELS_MAX]; /* data and unified, inner to outer */
    struct machine_bandwidth memory;
    double memory_latency_ns; /* of the nearest NUMA domain; 0: not known */
    double core_latency_ns;   /* of a line from another core's cache; 0: not known */
    bool latencies_measured;  /* on that host (kept.h), not described */
    uint32_t numa_domains;    /* 0: not known */
    uint32_t domain_cores;
};

/* The machine of the run, from the profile's RECORD_CACHE; false if the profile has none that make
 * sense. Of a merged profile: the machine of its first origin. */
bool machine_of_profile(const struct profile *, struct machine *);

/* This host, through hwloc. False, with one line in message, on failure. */
bool machine_of_host(struct machine *, char *message, size_t message_size);

/*
 * Reads a description (docs/machines.md) from a file, or from a stream that is called `name` in
 * messages. The geometry is checked. False with one line in message that names file, line and
 * cause.
 */
bool machine_read(const char *path, struct machine *, char *message, size_t message_size);
bool machine_read_stream(FILE *, const char *name, struct machine *, char *message,
                         size_t message_size);

/*
 * Is the geometry possible? Positive sizes, lines powers of two (16 .. 4096 bytes), whole lines,
 * ways that divide the lines, sectors that have the ways, levels and sizes that grow outwards.
 * False with the cause in message; *culprit, unless NULL, is the index of the cache that it is
 * about.
 */
bool machine_check(const struct machine *, size_t *culprit, char *message, size_t message_size);

/*
 * By name (host, or built in from machines/NAME.conf: a64fx, skylake-sp ...) or from a description
 * file. False with one line in message.
 */
bool machine_find(const char *name_or_file, struct machine *, char *message, size_t message_size);

/* What is built in, in alphabetic order; NULL after the last. */
struct builtin_machine {
    const char *name, *text;
};
extern const struct builtin_machine builtin_machines[];

/*
 * Threads of a program that share one cache of a level when it runs `threads` of them, one to a
 * core, packed as closely as the machine allows.
 */
double machine_threads_sharing(const struct machine *, size_t level, double threads);

/*
 * Bytes that these threads can fill down to a level: the cache, and, where it is a victim cache,
 * all caches inside it that they use, for it holds nothing that those hold. With one thread: the
 * cache and one of each level inside.
 */
double machine_reach(const struct machine *, size_t level, double threads);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far apart two CPUs are: what a transfer between them has to cross. From hwloc: this host's
 * topology when the profile comes from it, or the one that HWLOC_XMLFILE or HWLOC_SYNTHETIC
 * describe. Or from the description of a machine.
 */
#ifndef REUSE_POSTPROC_CPU_DISTANCE_H
#define REUSE_POSTPROC_CPU_DISTANCE_H

#include <stddef.h>
#include <stdint.h>

enum cpu_distance {
    DISTANCE_SAME_CPU, /* threads that take turns on it: nothing has to move */
    DISTANCE_CORE,     /* other hardware threads of a core */
    DISTANCE_CACHE,    /* cores that share a cache */
    DISTANCE_DOMAIN,   /* of one NUMA domain, but without a common cache */
    DISTANCE_MACHINE,  /* another NUMA domain */
    DISTANCE_COUNT
};

struct cpu_distances;
struct machine;

/* host: where the profile was taken, NULL unknown. NULL with one line in message. */
struct cpu_distances *cpu_distances_create(const char *host, char *message, size_t message_size);
/*
 * Of a described machine, whose cores are numbered from 0, those that share a cache or a domain in
 * a row; numbers beyond its last core start again. The machine must outlive it.
 */
struct cpu_distances *cpu_distances_of_machine(const struct machine *);
void cpu_distances_free(struct cpu_distances *);

/* Which of the caches of a level a CPU uses, by hwloc's numbers; 0 where there is none. */
uint32_t cpu_cache_of(const struct cpu_distances *, unsigned cpu, unsigned level);

/* CPUs by their numbers in the operating system; unknown ones are far. */
enum cpu_distance cpu_distance_of(const struct cpu_distances *, unsigned a, unsigned b);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Which CPUs share a cache: as the user says, as hwloc knows, or by their numbers. */
#ifndef REUSE_POSTPROC_CPU_GROUPS_H
#define REUSE_POSTPROC_CPU_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/analysis.h"

enum { CPU_GROUPS_CPUS = 65536 }; /* as many as a sample's record can name */

/*
 * "all", or sets of CPUs with ':' between them, "0-3,8:4-7"; CPUs that are in none share one more
 * cache. The caller frees out->of_cpu. False: the text makes no sense, or names a CPU twice.
 */
bool cpu_groups_parse(const char *text, struct cache_groups *out);

/*
 * The caches of a level. host: where the profile was taken, whose topology hwloc must know
 * (cpu_distance.h). False if it does not.
 */
bool cpu_groups_of_level(const char *host, unsigned level, struct cache_groups *out);

/* CPUs with neighbouring numbers share: 0 .. sharing-1, and so on. sharing 0: all. */
void cpu_groups_by_number(uint32_t sharing, struct cache_groups *out);

#endif

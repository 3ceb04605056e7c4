/* SPDX-License-Identifier: BSD-3-Clause */
/* The machine's first cache, in whose sets lines of a burst may crowd. Signal-safe; any thread. */
#ifndef REUSE_RUNTIME_FIRST_CACHE_H
#define REUSE_RUNTIME_FIRST_CACHE_H

#include "profile/format.h"
#include "sampling/set_conflicts.h"

void first_cache_describe(const struct record_cache *);

/* As described last; before that what stands for caches that are not known. */
struct conflict_cache first_cache_sets(void);

#endif

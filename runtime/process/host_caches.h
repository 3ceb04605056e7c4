/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The caches of the machine that the target runs on, from sysfs: hwloc would allocate from the
 * target's heap and cost more than the whole start-up. Signal-safe.
 */
#ifndef REUSE_RUNTIME_HOST_CACHES_H
#define REUSE_RUNTIME_HOST_CACHES_H

#include "profile/format.h"

/* Calls visit for every data and unified cache of CPU 0. */
void host_caches_each(void (*visit)(const struct record_cache *));

#endif
